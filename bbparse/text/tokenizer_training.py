"""Train a `Tokenizer` on the text of a treebank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings import EncoderStates
from bbparse.neural.labelling import LabelSettings, train_labels
from bbparse.neural.ragged import grouped
from bbparse.neural.sequence import Shared
from bbparse.neural.targets import certain
from bbparse.text.characters import Span, encode_characters, kinds_of, with_pieces
from bbparse.text.raw import readings, treebanks
from bbparse.text.tokenizer import (
    CHARACTER_LABELS,
    IN,
    SENTENCE_LABELS,
    TOKEN,
    WORD,
    CharacterNetwork,
    Tokenizer,
    contexts,
)
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import SurfaceToken

_SETTINGS = LabelSettings(
    layers="rr",
    word=32,
    width=96,
    hidden=32,
    dropout=0.2,
    attribute_dropout=0.1,
    unknown=0.0,
    cutoff=6,
    epochs=40,
    elements=10_000_000,
    batch=3000,
    members=1,
)
#: Characters to learn from in all passes for a model on a base.
FEW_ELEMENTS = 1_200_000
#: A label that has less than this fraction of the occurrences of a context is no candidate there.
_MIN_FRACTION = 0.0003
#: Maximum number of characters to train on: more of a large treebank would add little accuracy.
_MAX_CHARACTERS = 1_200_000
_BLOCK = 8
#: Characters whose states are computed at once, as 32-bit numbers.
_TOGETHER = 1 << 14


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph with its tokens, words and sentence boundaries."""

    text: str
    spans: list[Span]  #: Start and end of each token.
    words: list[tuple[str, ...]]  #: Words of each token.
    ends: list[bool]  #: For each token, whether a sentence ends with it.


def _texts(sentences: Sequence[Sentence]) -> list[Text]:
    """Return the paragraphs of treebanks, in every way that each may be spaced (see `readings`).

    If one has no paragraphs, every `_BLOCK` sentences are one.
    """
    texts: list[Text] = []
    for treebank in treebanks(sentences):
        for groups in readings(treebank):
            if len(groups) * 50 < len(treebank):
                tokenized = [sentence for group in groups for sentence in group]
                groups = [tokenized[i : i + _BLOCK] for i in range(0, len(tokenized), _BLOCK)]
            texts += map(_text, groups)
    return texts


def _text(group: Sequence[Sequence[SurfaceToken]]) -> Text:
    parts: list[str] = []
    spans: list[Span] = []
    words, ends = [], []
    start = 0
    for sentence in group:
        for piece in sentence:
            end = start + len(piece.form)
            spans.append((start, end))
            words.append(piece.words)
            ends.append(False)
            parts.append(piece.form + " " * piece.blank)
            start = end + piece.blank
        ends[-1] = True
    return Text("".join(parts).rstrip(), spans, words, ends)


def train_tokenizer(
    sentences: Sequence[Sentence],
    seed: int = 1,
    elements: int = _SETTINGS.elements,
    embeddings: EncoderStates | None = None,
) -> Tokenizer:
    """Train a tokenizer on sentences in the order of their text, on some characters in all.

    With `embeddings`, its network sees the pieces of the text and their states.
    """
    texts = _texts(sentences)
    random = np.random.default_rng(seed)
    size = 0
    chosen: list[int] = []
    for i in random.permutation(len(texts)).tolist():
        size += len(texts[i].text)
        if chosen and size > _MAX_CHARACTERS:
            break
        chosen.append(i)
    texts = [texts[i] for i in sorted(chosen)]
    multiwords = _multiwords(texts)
    gold = [_labels(text, multiwords) for text in texts]
    values = [encode_characters(text.text) for text in texts]
    vectors = None
    if embeddings is not None:
        found = [
            (states.astype(np.float16), places)
            for group in grouped((text.text for text in texts), len, _TOGETHER)
            for states, places in embeddings.of_characters(group)
        ]
        values = [with_pieces(encoded, places) for encoded, (_, places) in zip(values, found)]

        def states_of(chosen: Sequence[int]) -> list[Shared]:
            return [
                Shared(states.astype(np.float32), places[:, 0])
                for states, places in map(found.__getitem__, chosen)
            ]

        vectors = embeddings.width, states_of
    network = train_labels(
        CharacterNetwork,
        values,
        (CHARACTER_LABELS, SENTENCE_LABELS),
        [certain(labels.reshape(-1)) for labels in gold],
        replace(_SETTINGS, elements=min(elements, _SETTINGS.elements)),
        seed,
        vectors,
    )
    return Tokenizer(network, _allowed(texts, gold), multiwords, embeddings)


def _multiwords(texts: Sequence[Text]) -> dict[str, tuple[str, ...]]:
    """Map the lower-cased tokens that mostly are several words to these words."""
    counts_of: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for text in texts:
        for (a, b), words in zip(text.spans, text.words):
            counts_of[text.text[a:b].lower()][tuple(word.lower() for word in words)] += 1
    multiwords = {}
    for form, counts in counts_of.items():
        words, _ = max(counts.items(), key=lambda item: (item[1], item[0]))
        if len(words) > 1:
            multiwords[form] = words
    return multiwords


def _labels(text: Text, multiwords: dict[str, tuple[str, ...]]) -> NDArray[np.int64]:
    """Return the labels of characters, int64[n, 2]: ends of words and tokens, and of sentences."""
    labels = np.full((len(text.text), 2), (IN, -1), np.int64)
    for (a, b), words, is_end in zip(text.spans, text.words, text.ends):
        labels[b - 1] = TOKEN, is_end
        if len(words) > 1 and "".join(words) == text.text[a:b]:
            for word in words[:-1]:
                a += len(word)
                labels[a - 1, 0] = WORD
    labels[text.spans[-1][1] - 1, 1] = -1  # the text ends there in any case
    return labels


def _allowed(
    texts: Sequence[Text], gold: Sequence[NDArray[np.int64]]
) -> dict[str, tuple[int, ...]]:
    """Return the labels that characters have in each context."""
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for text, labels in zip(texts, gold):
        names, indices = contexts(kinds_of(text.text))
        for (i, label), count in Counter(zip(indices.tolist(), labels[:, 0].tolist())).items():
            counts[names[i]][label] += count
    allowed = {"": (IN, TOKEN), " ": (TOKEN,), "joined": (IN,)}
    for context, label_counts in sorted(counts.items()):
        if context == "joined":
            continue
        total = label_counts.total()
        candidates = [
            label
            for label, count in label_counts.items()
            if count >= _MIN_FRACTION * total and (count > 1 or total < 20)
        ]
        allowed[context] = tuple(sorted(candidates)) or (label_counts.most_common(1)[0][0],)
    return allowed
