"""Training of a `Cutter` from the text of a treebank."""

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
from bbparse.text.cutter import (
    CHARACTER_LABELS,
    IN,
    TOKEN,
    TOKEN_LABELS,
    WORD,
    Cutter,
    has_letter,
    places,
)
from bbparse.text.raw import readings
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import Piece

#: Words that tell what language a text is in.
COMMON = 300


#: Of both layers.
SETTINGS = LayerSettings(epochs=4, chained=False)
#: Between characters of two kinds that are cut, or not, in less than this share of their
#: occurrences, they never are, or always.
RARE = 0.0003
#: Most characters to learn from: all of a large treebank would teach little more.
LONGEST = 1_200_000


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph and what it consists of."""

    text: str
    spans: list[Span]  #: Its tokens.
    words: list[tuple[str, ...]]  #: Of each token.
    ends: list[bool]  #: Whether a sentence ends with the token.


def texts_of(sentences: Sequence[Sentence], block: int = 8) -> list[Text]:
    """The paragraphs of a treebank.

    A treebank that does not say where blanks are is read twice: with a blank between any two
    tokens, and with blanks where they are usual. Where there are no paragraphs, every ``block``
    sentences are one.
    """
    out: list[Text] = []
    for groups in readings(sentences):
        if len(groups) * 50 < len(sentences):
            every = [one for group in groups for one in group]
            groups = [every[i : i + block] for i in range(0, len(every), block)]
        out += map(_text, groups)
    return out


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


def train_cutter(sentences: Sequence[Sentence], seed: int = 1) -> Cutter:
    """Train a cutter on sentences in the order of their text; `TreebankError` if there are none.

    The seed is that of the order in which they are learned from.
    """
    if not sentences:
        raise TreebankError("a cutter cannot be trained: there are no sentences")
    texts = texts_of(sentences)
    random = np.random.default_rng(seed)
    size = 0
    chosen: list[int] = []
    for i in random.permutation(len(texts)).tolist():
        size += len(texts[i].text)
        if chosen and size > LONGEST:
            break
        chosen.append(i)
    texts = [texts[i] for i in sorted(chosen)]
    multiwords = _multiwords(texts)
    gold = [_labels(text, multiwords) for text in texts]
    characters = _characters(texts, gold, seed)
    lessons = [
        Lesson(
            encode_tokens(text.text, text.spans),
            [(0, 1)] * (len(text.spans) - 1) + [(1,)],
            np.array(text.ends, np.int32),
        )
        for text in texts
    ]
    ends = train_layer(
        "sentences", TOKEN_LABELS, {"": (0, 1)}, own_templates("cutter")["sentences"], lessons,
        SETTINGS, seed, TOKEN_COLUMNS, REACH,
    )  # fmt: skip
    return Cutter(characters, ends, multiwords, _language(texts))


def _language(texts: Sequence[Text]) -> dict[str, Any]:
    """The commonest words of a treebank, and their share of its words: what its language is."""
    counts = Counter(
        word.lower() for text in texts for words in text.words for word in words if has_letter(word)
    )
    common = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    common = common[:COMMON]
    share = sum(counts[word] for word in common) / max(1, counts.total())
    return {"common": common, "share": round(share, 4)}


def _multiwords(texts: Sequence[Text]) -> dict[str, tuple[str, ...]]:
    """Tokens in lower case that mostly are several words: those words."""
    seen: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for text in texts:
        for (a, b), words in zip(text.spans, text.words):
            seen[text.text[a:b].lower()][tuple(word.lower() for word in words)] += 1
    out = {}
    for form, counts in seen.items():
        words, _ = max(counts.items(), key=lambda item: (item[1], item[0]))
        if len(words) > 1:
            out[form] = words
    return out


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
    found_places = (places(text.text) for text in texts)
    keys = [[names[place] for place in which.tolist()] for names, which in found_places]
    for some, labels in zip(keys, gold):
        for (key, label), count in Counter(zip(some, labels.tolist())).items():
            counts[key][label] += count
    lists = {"": (IN, TOKEN), " ": (TOKEN,), "joined": (IN,)}
    for key, found in sorted(counts.items()):
        if key == "joined":
            continue
        least = RARE * found.total()
        kept = [label for label, count in found.items() if count >= least and (
            count > 1 or found.total() < 20)]
        lists[key] = tuple(sorted(kept)) or (max(found, key=lambda label: found[label]),)
    lessons = [
        Lesson(encode_characters(text.text), [lists[key] for key in some], labels)
        for text, some, labels in zip(texts, keys, gold)
    ]
    return train_layer(
        "characters", CHARACTER_LABELS, lists, own_templates("cutter")["characters"], lessons,
        SETTINGS, seed, CHARACTER_COLUMNS, REACH,
    )
