"""Breakdowns of accuracy: by sentence length, arc length, relation and kind of enhancement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from bbparse.treebank.evaluation import Measure, fractions
from bbparse.treebank.graph import CLASSES, collapsed_graph, enhancement
from bbparse.treebank.sentence import Sentence

#: Names of the breakdowns.
BREAKDOWNS = ("length", "distance", "relation", "enhancement")

_ROOT = "root"
# Classes of arcs by their smallest distance; finer than those of CoNLL-X's eval.pl.
_DISTANCES = {1: "1", 2: "2", 3: "3-6", 7: "7-10", 11: "11-20", 21: "21-"}

_RETRIEVAL: dict[str, Measure] = {
    "recall": (("right",), ("gold",)),
    "precision": (("right",), ("predicted",)),
    "f1": (("right", "right"), ("gold", "predicted")),
}
#: Columns of a row: counts, then measures.
_COLUMNS: dict[str, tuple[tuple[str, ...], dict[str, Measure]]] = {
    "length": (
        ("sentences", "words"),
        {
            "uas": (("heads",), ("words",)),
            "las": (("labels",), ("words",)),
            "complete": (("complete",), ("sentences",)),
        },
    ),
    "distance": (("gold", "predicted"), _RETRIEVAL),
    "enhancement": (("gold", "predicted"), _RETRIEVAL),
    "relation": (("gold", "predicted"), {"uas": (("heads",), ("gold",)), **_RETRIEVAL}),
}


def breakdown(
    by: str, gold: Iterable[Sentence], predicted: Iterable[Sentence]
) -> list[dict[str, str | int | float]]:
    """Return a row for each class that occurs: short before long, frequent before rare.

    Gold and predicted arcs or edges are each counted in their own class (McDonald & Nivre 2007,
    §3.3).
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence, other in zip(gold, predicted):
        _count(by, sentence, other, counts)

    def place(key: str) -> tuple[int, str]:
        if by == "relation":
            return -counts[key]["gold"], key
        if by == "enhancement":
            return CLASSES.index(key), ""
        return 0 if key == _ROOT else int(key.partition("-")[0]), ""

    numbers, measures = _COLUMNS[by]
    return [
        {
            by: key,
            **{name: counts[key][name] for name in numbers},
            **fractions(counts[key], measures),
        }
        for key in sorted(counts, key=place)
    ]


def _count(
    by: str, gold: Sentence, predicted: Sentence, counts: defaultdict[str, Counter[str]]
) -> None:
    """Add the counts of one sentence to those of its classes."""
    if by == "enhancement":
        graphs = [{*collapsed_graph(one)} for one in (gold, predicted)]
        for one, graph, side in zip((gold, predicted), graphs, ("gold", "predicted")):
            for edge in graph:
                row = counts[enhancement(edge, one.heads, one.deprels)]
                row[side] += 1
                row["right"] += side == "gold" and edge in graphs[1]
        return
    n = gold.n_words
    right = [a == b for a, b in zip(gold.heads, predicted.heads)]
    labelled = [a and b == c for a, b, c in zip(right, gold.deprels, predicted.deprels)]
    if by == "length":
        first = (n - 1) // 10 * 10
        counts[f"{first + 1}-{first + 10}"] += Counter(
            sentences=1, words=n, heads=sum(right), labels=sum(labelled), complete=all(right)
        )
        return
    gold_classes, predicted_classes = gold.deprels, predicted.deprels
    if by == "distance":
        gold_classes, predicted_classes = (
            [_distance_class(head, m) for m, head in enumerate(sentence.heads, start=1)]
            for sentence in (gold, predicted)
        )
        labelled = right
    for i in range(n):
        counts[gold_classes[i]] += Counter(gold=1, heads=right[i], right=labelled[i])
        counts[predicted_classes[i]]["predicted"] += 1


def _distance_class(head: int, modifier: int) -> str:
    if head == 0:
        return _ROOT
    distance = max(1, abs(head - modifier))
    return _DISTANCES[max(first for first in _DISTANCES if first <= distance)]
