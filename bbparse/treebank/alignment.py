"""Scores of trees over other words and sentences than the gold ones, on the same text.

Words are aligned by the characters that they are made of, and within multiword tokens by the
longest common sequence of forms, as the official scorer of the CoNLL 2018 shared task does (Zeman
et al. 2018, §3); every measure is an F1 over the words of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from bbparse.errors import TreebankError
from bbparse.treebank.evaluation import CONTENT, function_words, universal_features
from bbparse.treebank.sentence import Sentence, pieces

Span = tuple[int, int]


class Share(NamedTuple):
    """What is right of what there is."""

    right: int
    gold: int
    predicted: int

    @property
    def f1(self) -> float:
        """Two times what is right by the sum of both sides; 0 of nothing."""
        return 2 * self.right / max(1, self.gold + self.predicted)


class _Word(NamedTuple):
    start: int
    end: int
    several: bool
    form: str


class _Side:
    """All words of a treebank, over the characters of its text without blanks."""

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        self.words: list[_Word] = []
        self.tokens: list[Span] = []
        self.sentences: list[Span] = []
        self.heads: list[int] = []  # number of the head among all words, -1 for the root
        self.upos: list[str] = []
        self.xpos: list[str] = []
        self.feats: list[str] = []
        self.lemmas: list[str] = []
        self.labels: list[str] = []
        self.functional: list[Hashable] = []
        self.places: list[Sentence] = []
        parts: list[str] = []
        start = 0
        for sentence in sentences:
            begin, first = start, len(self.words)
            for piece in pieces(sentence):
                text = "".join(piece.form.split())
                parts.append(text)
                end = start + len(text)
                self.tokens.append((start, end))
                several = len(piece.words) > 1
                for form in piece.words:
                    self.words.append(_Word(start, end, several, form.lower()))
                start = end
            self.sentences.append((begin, start))
            self.places.append(sentence)
            self._add(sentence, first)
        self.text = "".join(parts)

    def _add(self, sentence: Sentence, first: int) -> None:
        feats = [universal_features(value) for value in sentence.feats]
        labels = [label.partition(":")[0] for label in sentence.deprels]
        self.heads += [first + head - 1 if head else -1 for head in sentence.heads]
        self.upos += sentence.upos
        self.xpos += sentence.xpos
        self.lemmas += sentence.lemmas
        self.feats += feats
        self.labels += labels
        functional = function_words(sentence.heads, labels, sentence.upos, feats)
        for i in range(sentence.n_words):
            own = functional.get(i + 1, [])
            self.functional.append(tuple((first + j, *rest) for j, *rest in own))


def evaluate_text(
    gold: Iterable[Sentence], predicted: Iterable[Sentence]
) -> dict[str, Share]:
    """Compare two treebanks of the same text, with a head for every word, by name of the measure.

    `TreebankError` if they are not of the same characters; names the sentence.
    """
    one, other = _Side(gold), _Side(predicted)
    _check_same_text(one, other)
    pairs = _aligned(one.words, other.words)
    to_gold = {b: a for a, b in pairs}
    to_gold[-1] = -1

    def shares(
        right: Callable[[int, int], bool], counted: Callable[[str], bool] = lambda label: True
    ) -> Share:
        return Share(
            sum(counted(one.labels[a]) and right(a, b) for a, b in pairs),
            sum(map(counted, one.labels)),
            sum(map(counted, other.labels)),
        )

    def heads(a: int, b: int) -> bool:
        return one.heads[a] == to_gold.get(other.heads[b], -2)

    def arcs(a: int, b: int) -> bool:
        return heads(a, b) and one.labels[a] == other.labels[b]

    def lemmas(a: int, b: int) -> bool:
        return one.lemmas[a] in ("_", other.lemmas[b])

    def functional(a: int, b: int) -> bool:
        own = tuple((to_gold.get(j, -2), *rest) for j, *rest in other.functional[b])  # type: ignore[attr-defined]
        return own == one.functional[a]

    def content(label: str) -> bool:
        return label in CONTENT

    def same(column: str) -> Callable[[int, int], bool]:
        left, right = getattr(one, column), getattr(other, column)
        return lambda a, b: left[a] == right[b]

    upos, xpos, feats = same("upos"), same("xpos"), same("feats")
    return {
        "tokens": _spans(one.tokens, other.tokens),
        "sentences": _spans(one.sentences, other.sentences),
        "words": Share(len(pairs), len(one.words), len(other.words)),
        "upos": shares(upos),
        "xpos": shares(xpos),
        "ufeats": shares(feats),
        "all_tags": shares(lambda a, b: upos(a, b) and xpos(a, b) and feats(a, b)),
        "lemmas": shares(lemmas),
        "uas": shares(heads),
        "las": shares(arcs),
        "clas": shares(arcs, content),
        "mlas": shares(
            lambda a, b: arcs(a, b) and upos(a, b) and feats(a, b) and functional(a, b), content
        ),
        "blex": shares(lambda a, b: arcs(a, b) and lemmas(a, b), content),
    }


def _check_same_text(gold: _Side, predicted: _Side) -> None:
    if gold.text == predicted.text:
        return
    place = next(
        (i for i, (a, b) in enumerate(zip(gold.text, predicted.text)) if a != b),
        min(len(gold.text), len(predicted.text)),
    )
    found = [
        next(
            (s.place() for s, (_, end) in zip(side.places, side.sentences) if end > place),
            "its end",
        )
        for side in (predicted, gold)
    ]
    raise TreebankError(
        f"{found[0]}: found {predicted.text[place : place + 20]!r},"
        f" expected {gold.text[place : place + 20]!r} as in {found[1]}: the texts differ"
    )


def _spans(gold: Sequence[Span], predicted: Sequence[Span]) -> Share:
    return Share(len(set(gold) & set(predicted)), len(gold), len(predicted))


def _aligned(gold: Sequence[_Word], predicted: Sequence[_Word]) -> list[tuple[int, int]]:
    """Pairs of words that stand for each other."""
    pairs = []
    a = b = 0
    while a < len(gold) and b < len(predicted):
        one, other = gold[a], predicted[b]
        if one.several or other.several:
            first, second = a, b
            if one.several and not other.several and other.start < one.start:
                second = b = b + 1
            elif other.several and not one.several and one.start < other.start:
                first = a = a + 1
            a, b = _region(gold, predicted, a, b, one.end if one.several else other.end)
            pairs += [
                (first + i, second + j)
                for i, j in _common([w.form for w in gold[first:a]],
                                    [w.form for w in predicted[second:b]])
            ]  # fmt: skip
        elif (one.start, one.end) == (other.start, other.end):
            pairs.append((a, b))
            a, b = a + 1, b + 1
        elif one.start <= other.start:
            a += 1
        else:
            b += 1
    return pairs


def _region(
    gold: Sequence[_Word], predicted: Sequence[_Word], a: int, b: int, end: int
) -> tuple[int, int]:
    """Where the multiword tokens that overlap end on both sides."""

    def within(words: Sequence[_Word], i: int) -> bool:
        return i < len(words) and (
            words[i].start < end if words[i].several else words[i].end <= end
        )

    while within(gold, a) or within(predicted, b):
        ahead = b >= len(predicted) or (a < len(gold) and gold[a].start <= predicted[b].start)
        word = gold[a] if ahead else predicted[b]
        if word.several:
            end = max(end, word.end)
        a, b = a + ahead, b + (not ahead)
    return a, b


def _common(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Places of a longest common subsequence."""
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            best[i][j] = (
                1 + best[i + 1][j + 1]
                if left[i] == right[j]
                else max(best[i + 1][j], best[i][j + 1])
            )
    out = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            out.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return out
