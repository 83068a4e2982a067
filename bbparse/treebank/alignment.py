"""Scores of trees whose words and sentences differ from the gold ones, over the same text.

Words are aligned by the characters that they cover. Within multiword tokens they are aligned by the
longest common subsequence of forms, as the official scorer of the CoNLL 2018 shared task does
(Zeman et al. 2018, §3). Every measure is an F1 over the words of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from bbparse.runtime.errors import TreebankError, counted
from bbparse.treebank.evaluation import MEASURES, WordColumns, contrast
from bbparse.treebank.graph import WordEdge, collapsed_graph, matches
from bbparse.treebank.sentence import Sentence, surface_tokens

Span = tuple[int, int]

#: Measures of aligned words → those of `MEASURES`: LAS is that of the official scorer.
_MEASURES = {
    **{x: x for x in ("upos", "xpos", "ufeats", "all_tags", "lemmas", "uas")},
    "las": "las_universal",
    **{x: x for x in ("clas", "mlas", "blex")},
}


class MatchCounts(NamedTuple):
    """Counts of correct, gold and predicted items of one measure."""

    right: int
    gold: int
    predicted: int

    @property
    def f1(self) -> float:
        """Compute F1, from 0 to 1: twice the correct items by all gold and predicted items."""
        return 2 * self.right / max(1, self.gold + self.predicted)


class _Word(NamedTuple):
    start: int
    end: int
    in_multiword: bool  #: True if the word is part of a multiword token.
    form: str


class _Side:
    """Words, tokens and sentences of one treebank, over its text without white space."""

    def __init__(self, sentences: Iterable[Sentence], left_out: str) -> None:
        self.words: list[_Word] = []
        self.token_spans: list[Span] = []
        self.sentence_spans: list[Span] = []
        self.sources = list(sentences)
        self.edges: list[WordEdge] = []
        heads: list[int] = []  # numbers of words in the whole text
        parts: list[str] = []
        start = 0
        for sentence in self.sources:
            begin, first = start, len(self.words)
            for piece in surface_tokens(sentence):
                text = "".join(piece.form.split())
                parts.append(text)
                end = start + len(text)
                self.token_spans.append((start, end))
                in_multiword = len(piece.words) > 1
                for form in piece.words:
                    self.words.append(_Word(start, end, in_multiword, form.lower()))
                start = end
            self.sentence_spans.append((begin, start))
            heads += [head and first + head for head in sentence.heads]
            self.edges += [
                WordEdge(head and first + head, label, first + m)
                for head, label, m in collapsed_graph(sentence, left_out)
            ]
        self.text = "".join(parts)
        columns: dict[str, Any] = {
            name: [value for sentence in self.sources for value in getattr(sentence, name)]
            for name in ("forms", "lemmas", "upos", "xpos", "feats", "deprels")
        }
        whole = Sentence([], [], heads=heads, **columns)
        self.columns = WordColumns.of(heads, whole.deprels, whole)

    def chosen(self, places: Iterable[int], number: Callable[[int], int]) -> WordColumns:
        """Return the columns of words (from 0), whose numbers (from 1) become others."""
        columns: list[Any] = [[column[i] for i in places] for column in self.columns]
        columns[0] = [number(head) for head in columns[0]]
        columns[-1] = [[(number(m), *values) for m, *values in row] for row in columns[-1]]
        return WordColumns(*columns)


def evaluate_text(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], *, left_out: str = ""
) -> dict[str, MatchCounts]:
    """Compare two treebanks of one text, whose words and sentences may differ, by measure.

    ``left_out`` is that of `bbparse.treebank.evaluate`.
    """
    gold_side, predicted_side = _Side(gold, left_out), _Side(predicted, left_out)
    _check_same_text(gold_side, predicted_side)
    pairs = _aligned(gold_side.words, predicted_side.words)
    gold_places, places = [a for a, _ in pairs], [b for _, b in pairs]
    to_gold = {0: 0} | {b + 1: a + 1 for a, b in pairs}
    words = predicted_side.chosen(places, lambda number: to_gold.get(number, -1))
    agreed = gold_side.chosen(gold_places, int).agreement(words)
    totals = len(gold_side.words), len(predicted_side.words)
    content = gold_side.columns.n_content, predicted_side.columns.n_content
    graphs: dict[str, MatchCounts] = {}
    if gold_side.edges and predicted_side.edges:
        edges = [
            WordEdge(to_gold[head], label, to_gold[m])
            for head, label, m in predicted_side.edges
            if head in to_gold and m in to_gold
        ]
        n_edges = len(gold_side.edges), len(predicted_side.edges)
        for name, right in zip(("elas", "eulas"), matches(gold_side.edges, edges)):
            graphs[name] = MatchCounts(right, *n_edges)
    return {
        "tokens": _spans(gold_side.token_spans, predicted_side.token_spans),
        "sentences": _spans(gold_side.sentence_spans, predicted_side.sentence_spans),
        "words": MatchCounts(len(pairs), *totals),
        **{
            name: MatchCounts(sum(agreed[right]), *(totals if of == ("words",) else content))
            for name, measure in _MEASURES.items()
            for (right, *_), of in [MEASURES[measure]]
        },
        **graphs,
    }


def _check_same_text(gold: _Side, predicted: _Side) -> None:
    if gold.text == predicted.text:
        return
    differing = (i for i, (a, b) in enumerate(zip(gold.text, predicted.text)) if a != b)
    position = next(differing, min(len(gold.text), len(predicted.text)))
    origins = [
        next(
            (s.place() for s, (_, end) in zip(side.sources, side.sentence_spans) if end > position),
            "its end",
        )
        for side in (predicted, gold)
    ]
    if position in (len(gold.text), len(predicted.text)):
        sizes = [len(side.sources) for side in (predicted, gold)]
        names = [side.sources[0].source for side in (predicted, gold)]
        i = int(position != len(gold.text))
        raise TreebankError(
            f"{origins[i]}: no counterpart in {names[1 - i]}, which ends before: found"
            f" {counted(sizes[0], 'sentence')}, expected {sizes[1]}"
        )
    found, expected = (side.text[position : position + 20] for side in (predicted, gold))
    raise TreebankError(
        f"{origins[0]}: found {contrast(found, expected)} as in {origins[1]}: the texts differ"
    )


def _spans(gold: Sequence[Span], predicted: Sequence[Span]) -> MatchCounts:
    return MatchCounts(len(set(gold) & set(predicted)), len(gold), len(predicted))


def _aligned(gold: Sequence[_Word], predicted: Sequence[_Word]) -> list[tuple[int, int]]:
    """Return the pairs (gold index, predicted index) of words that are aligned."""
    pairs = []
    a = b = 0
    while a < len(gold) and b < len(predicted):
        left, right = gold[a], predicted[b]
        if left.in_multiword or right.in_multiword:
            first, second = a, b
            if left.in_multiword and not right.in_multiword and right.start < left.start:
                second = b = b + 1
            elif right.in_multiword and not left.in_multiword and left.start < right.start:
                first = a = a + 1
            a, b = _region(gold, predicted, a, b, left.end if left.in_multiword else right.end)
            pairs += [
                (first + i, second + j)
                for i, j in _common(
                    [w.form for w in gold[first:a]], [w.form for w in predicted[second:b]]
                )
            ]
        elif (left.start, left.end) == (right.start, right.end):
            pairs.append((a, b))
            a, b = a + 1, b + 1
        elif left.start <= right.start:
            a += 1
        else:
            b += 1
    return pairs


def _region(
    gold: Sequence[_Word], predicted: Sequence[_Word], a: int, b: int, end: int
) -> tuple[int, int]:
    """Return the indices at which the overlapping multiword tokens end on both sides."""

    def within(words: Sequence[_Word], i: int) -> bool:
        return i < len(words) and (
            words[i].start < end if words[i].in_multiword else words[i].end <= end
        )

    while within(gold, a) or within(predicted, b):
        ahead = b >= len(predicted) or (a < len(gold) and gold[a].start <= predicted[b].start)
        word = gold[a] if ahead else predicted[b]
        if word.in_multiword:
            end = max(end, word.end)
        a, b = a + ahead, b + (not ahead)
    return a, b


def _common(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Return the index pairs of a longest common subsequence."""
    # Longest common subsequence of both rests: length, first pair, continuation.
    best: list[Any] = [(0, None, None)] * (len(right) + 1)
    for i in reversed(range(len(left))):
        below, best = best, [*best]
        for j in reversed(range(len(right))):
            if left[i] == right[j]:
                best[j] = (below[j + 1][0] + 1, (i, j), below[j + 1])
            else:
                best[j] = max(below[j], best[j + 1], key=itemgetter(0))
    pairs, (_, pair, rest) = [], best[0]
    while pair:
        pairs.append(pair)
        _, pair, rest = rest
    return pairs
