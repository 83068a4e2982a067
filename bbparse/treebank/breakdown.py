"""Breakdowns of accuracy: by sentence length, by arc length, by relation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from bbparse.treebank.evaluation import Measure, checked_labels, shares
from bbparse.treebank.sentence import Sentence

#: Names of the breakdowns.
BREAKDOWNS = ("length", "distance", "relation")

_ROOT = "root"
# Classes of arcs by their smallest distance; finer than those of CoNLL-X's eval.pl.
_DISTANCES = {1: "1", 2: "2", 3: "3-6", 7: "7-10", 11: "11-20", 21: "21-"}

_RETRIEVAL: dict[str, Measure] = {
    "recall": (("right",), ("gold",)), "precision": (("right",), ("predicted",)),
    "f1": (("right", "right"), ("gold", "predicted")),
}
#: Columns of a row: counts, then measures.
_COLUMNS: dict[str, tuple[tuple[str, ...], dict[str, Measure]]] = {
    "length": (
        ("sentences", "words"),
        {
            "uas": (("heads",), ("words",)), "las": (("labels",), ("words",)),
            "complete": (("complete",), ("sentences",)),
        },
    ),
    "distance": (("gold", "predicted"), _RETRIEVAL),
    "relation": (("gold", "predicted"), {"uas": (("heads",), ("gold",)), **_RETRIEVAL}),
}


class Breakdown:
    """Accuracy by class of sentence or arc: add sentences, then read the rows.

    Parameters
    ----------
    by : {"length", "distance", "relation"}
        * length: sentences of 1-10, 11-20, … words;
        * distance: arcs from the root, and arcs between words that are 1, 2, 3-6, 7-10, 11-20, or
          more words apart. Gold and predicted arcs are each counted in their own class: recall is
          the fraction of gold arcs of the class that were predicted, precision the fraction of
          predicted arcs of the class that are gold (McDonald & Nivre 2007, §3.3);
        * relation: words by label, with subtypes kept apart. Recall and precision require the right
          head and label; uas is the fraction of words with the gold label whose head is right.

    Raises
    ------
    ValueError
        If ``by`` is none of these.

    Example
    -------
    >>> from bbparse.treebank import Breakdown, Sentence
    >>> gold = Sentence.from_words(["Birds", "sing"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> by = Breakdown("relation")
    >>> by.add(gold, [2, 0], ["obj", "root"])
    >>> [(row["relation"], row["recall"], row["uas"]) for row in by.rows()]
    [('nsubj', 0.0, 1.0), ('root', 1.0, 1.0), ('obj', 0.0, 0.0)]
    """

    def __init__(self, by: str) -> None:
        if by not in BREAKDOWNS:
            raise ValueError(f"by is {by!r}, expected one of {', '.join(BREAKDOWNS)}")
        self.by = by
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(
        self, gold: Sentence, heads: Sequence[int], deprels: Sequence[str] | None = None
    ) -> None:
        """Count one sentence; parameters and errors are those of `Tally.add`."""
        labels = checked_labels(gold, heads, deprels)
        n, counts = gold.n_words, self._counts
        right = [a == b for a, b in zip(gold.heads, heads)]
        labelled = [same and a == b for same, a, b in zip(right, gold.deprels, labels)]
        if self.by == "length":
            first = (n - 1) // 10 * 10
            counts[f"{first + 1}-{first + 10}"] += Counter(
                sentences=1, words=n, heads=sum(right), labels=sum(labelled), complete=all(right)
            )
            return
        gold_classes, predicted_classes = gold.deprels, labels
        if self.by == "distance":
            gold_classes, predicted_classes = (
                [_distance_class(head, m) for m, head in enumerate(column, start=1)]
                for column in (gold.heads, heads)
            )
            labelled = right
        for i in range(n):
            counts[gold_classes[i]] += Counter(gold=1, heads=right[i], right=labelled[i])
            if predicted_classes[i]:
                counts[predicted_classes[i]]["predicted"] += 1

    def rows(self) -> list[dict[str, str | int | float]]:
        """Return one row for each class that occurs: short before long, frequent before rare.

        Returns
        -------
        list of dict
            The class under the name of the breakdown, such as ``"11-20"``, and

            * length: sentences, words, uas, las, complete;
            * distance: gold, predicted (numbers of arcs), recall, precision, f1;
            * relation: gold, predicted (numbers of words), uas, recall, precision, f1.

            Measures are fractions from 0 to 1, and 0 where nothing is counted.
        """
        numbers, measures = _COLUMNS[self.by]
        return [
            {
                self.by: key, **{name: self._counts[key][name] for name in numbers},
                **shares(self._counts[key], measures),
            }
            for key in sorted(self._counts, key=self._sort_key)
        ]

    def _sort_key(self, key: str) -> tuple[int, str]:
        if self.by == "relation":
            return -self._counts[key]["gold"], key
        return 0 if key == _ROOT else int(key.partition("-")[0]), ""


def _distance_class(head: int, modifier: int) -> str:
    if head == 0:
        return _ROOT
    distance = max(1, abs(head - modifier))
    return _DISTANCES[max(first for first in _DISTANCES if first <= distance)]
