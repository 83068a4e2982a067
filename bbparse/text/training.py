"""Train a `Tokenizer` on the text of a treebank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import own_templates
from bbparse.errors import TreebankError
from bbparse.tagging.layer import Layer
from bbparse.tagging.learning import LayerSettings, Lesson, train_layer
from bbparse.text.characters import (
    CHARACTER_COLUMNS,
    REACH,
    TOKEN_COLUMNS,
    Span,
    encode_characters,
    encode_tokens,
)  # fmt: skip
from bbparse.text.raw import readings
from bbparse.text.tokenizer import (
    CHARACTER_LABELS,
    IN,
    TOKEN,
    TOKEN_LABELS,
    WORD,
    Tokenizer,
    contexts,
    has_letter,
)
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import Piece

#: Number of common words by which the language of a text is recognised.
COMMON = 300


#: Settings of both labellers.
SETTINGS = LayerSettings(epochs=4, chained=False)
#: A label that has less than this fraction of the occurrences of a context is no candidate there.
MIN_FRACTION = 0.0003
#: Maximum number of characters to train on: more of a large treebank would add little accuracy.
MAX_CHARACTERS = 1_200_000


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph with its tokens, words and sentence boundaries."""

    text: str
    spans: list[Span]  #: Start and end of each token.
    words: list[tuple[str, ...]]  #: Words of each token.
    ends: list[bool]  #: For each token, whether a sentence ends with it.


def texts_of(sentences: Sequence[Sentence], block: int = 8) -> list[Text]:
    """Return the paragraphs of a treebank.

    A treebank that does not mark spaces is read twice: with a space between any two tokens, and
    with the usual spaces. If it has no paragraphs, every ``block`` sentences are one.
    """
    texts: list[Text] = []
    for groups in readings(sentences):
        if len(groups) * 50 < len(sentences):
            tokenized = [sentence for group in groups for sentence in group]
            groups = [tokenized[i : i + block] for i in range(0, len(tokenized), block)]
        texts += map(_text, groups)
    return texts


def _text(group: Sequence[Sequence[Piece]]) -> Text:
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


def train_tokenizer(sentences: Sequence[Sentence], seed: int = 1) -> Tokenizer:
    """Train a tokenizer on sentences in the order of their text.

    Parameters
    ----------
    sentences : sequence of Sentence
        Sentences of a treebank.
    seed : int
        Seed of the order of the training examples.

    Raises
    ------
    TreebankError
        If there are no sentences.
    """
    if not sentences:
        raise TreebankError("a tokenizer cannot be trained: there are no sentences")
    texts = texts_of(sentences)
    random = np.random.default_rng(seed)
    size = 0
    chosen: list[int] = []
    for i in random.permutation(len(texts)).tolist():
        size += len(texts[i].text)
        if chosen and size > MAX_CHARACTERS:
            break
        chosen.append(i)
    texts = [texts[i] for i in sorted(chosen)]
    multiwords = _multiwords(texts)
    gold = [_labels(text, multiwords) for text in texts]
    characters = _characters(texts, gold, seed)
    examples = [
        Lesson(
            encode_tokens(text.text, text.spans),
            [(0, 1)] * (len(text.spans) - 1) + [(1,)],
            np.array(text.ends, np.int32),
        )
        for text in texts
    ]
    ends = train_layer(
        "sentences", TOKEN_LABELS, {"": (0, 1)}, own_templates("tokenizer")["sentences"], examples,
        SETTINGS, seed, (TOKEN_COLUMNS, REACH),
    )  # fmt: skip
    return Tokenizer(characters, ends, multiwords, _language(texts))


def _language(texts: Sequence[Text]) -> dict[str, Any]:
    """Return the most common words of a treebank, and their fraction of its words."""
    counts = Counter(
        word.lower() for text in texts for words in text.words for word in words if has_letter(word)
    )
    common = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    common = common[:COMMON]
    fraction = sum(counts[word] for word in common) / max(1, counts.total())
    return {"common": common, "share": round(fraction, 4)}


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


def _labels(text: Text, multiwords: dict[str, tuple[str, ...]]) -> NDArray[np.int32]:
    labels = np.zeros(len(text.text), np.int32)
    for (a, b), words in zip(text.spans, text.words):
        labels[b - 1] = TOKEN
        if len(words) > 1 and "".join(words) == text.text[a:b]:
            for word in words[:-1]:
                a += len(word)
                labels[a - 1] = WORD
    return labels


def _characters(
    texts: Sequence[Text], gold: Sequence[NDArray[np.int32]], seed: int
) -> Layer:
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    contexts_of_texts = (contexts(text.text) for text in texts)
    keys = [[names[i] for i in indices.tolist()] for names, indices in contexts_of_texts]
    for names_of_text, labels in zip(keys, gold):
        for (key, label), count in Counter(zip(names_of_text, labels.tolist())).items():
            counts[key][label] += count
    lists = {"": (IN, TOKEN), " ": (TOKEN,), "joined": (IN,)}
    for key, label_counts in sorted(counts.items()):
        if key == "joined":
            continue
        total = label_counts.total()
        candidates = [
            label
            for label, count in label_counts.items()
            if count >= MIN_FRACTION * total and (count > 1 or total < 20)
        ]
        lists[key] = tuple(sorted(candidates)) or (label_counts.most_common(1)[0][0],)
    examples = [
        Lesson(encode_characters(text.text), [lists[key] for key in names_of_text], labels)
        for text, names_of_text, labels in zip(texts, keys, gold)
    ]
    return train_layer(
        "characters", CHARACTER_LABELS, lists, own_templates("tokenizer")["characters"], examples,
        SETTINGS, seed, (CHARACTER_COLUMNS, REACH),
    )
