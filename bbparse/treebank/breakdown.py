"""Where the errors are: accuracy by length of sentence, by length of arc, by relation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from bbparse.treebank.sentence import Sentence

__all__ = ["BREAKDOWNS", "Breakdown"]

#: What accuracy can be broken down by.
BREAKDOWNS = ("length", "distance", "relation")

_ROOT = "root"
# First distance of each class after the arcs from the root (as CoNLL-X's eval.pl, and finer).
_DISTANCES = (1, 2, 3, 7, 11, 21)
_TEN = 10


class Breakdown:
    """Accuracy by class of sentence or arc; add sentences, then look at the rows.

    Parameters
    ----------
    by : {"length", "distance", "relation"}
        * length: sentences of 1-10, 11-20, … words;
        * distance: arcs from the root, and arcs between words that lie 1, 2, 3-6, 7-10, 11-20, or
          more words apart. The class of an arc is its own: recall is the share of gold arcs of the
          class that were predicted, precision the share of predicted arcs of it that are gold
          (McDonald & Nivre 2007, §3.3);
        * relation: words by label, subtypes apart. Recall and precision want head and label right;
          uas is the share of words of the gold label whose head is right.

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
        self._counts: defaultdict[str | int, Counter[str]] = defaultdict(Counter)

    def add(
        self, gold: Sentence, heads: Sequence[int], deprels: Sequence[str] | None = None
    ) -> None:
        """Count one sentence; parameters and errors as for `Tally.add`."""
        n = gold.n_words
        if len(heads) != n:
            raise ValueError(f"heads: expected {n} values, found {len(heads)}")
        labels = [""] * n if deprels is None else deprels
        if len(labels) != n:
            raise ValueError(f"deprels: expected {n} values, found {len(labels)}")
        if self.by == "length":
            self._add_length(gold, heads, labels)
        elif self.by == "distance":
            self._add_distance(gold, heads)
        else:
            self._add_relation(gold, heads, labels)

    def _add_length(self, gold: Sentence, heads: Sequence[int], labels: Sequence[str]) -> None:
        right = [a == b for a, b in zip(gold.heads, heads)]
        counts = self._counts[(gold.n_words - 1) // _TEN]
        counts["sentences"] += 1
        counts["words"] += gold.n_words
        counts["heads"] += sum(right)
        counts["labels"] += sum(
            same and a == b for same, a, b in zip(right, gold.deprels, labels)
        )
        counts["complete"] += all(right)

    def _add_distance(self, gold: Sentence, heads: Sequence[int]) -> None:
        for i, (gold_head, head) in enumerate(zip(gold.heads, heads), start=1):
            self._counts[_distance_class(gold_head, i)]["gold"] += 1
            own = self._counts[_distance_class(head, i)]
            own["predicted"] += 1
            own["right"] += gold_head == head

    def _add_relation(self, gold: Sentence, heads: Sequence[int], labels: Sequence[str]) -> None:
        for gold_head, head, gold_label, label in zip(gold.heads, heads, gold.deprels, labels):
            counts = self._counts[gold_label]
            counts["gold"] += 1
            counts["heads"] += gold_head == head
            counts["right"] += gold_head == head and gold_label == label
            if label:
                self._counts[label]["predicted"] += 1

    def rows(self) -> list[dict[str, str | int | float]]:
        """One row for each class that occurs: short before long, frequent before rare.

        Returns
        -------
        list of dict
            The class under the name of the breakdown, such as ``"11-20"``, and

            * length: sentences, words, uas, las, complete;
            * distance: gold, predicted (numbers of arcs), recall, precision, f1;
            * relation: gold, predicted (numbers of words), uas, recall, precision, f1.

            Shares are from 0 to 1; a share of nothing is 0.
        """
        if self.by == "length":
            return [self._length_row(int(key)) for key in sorted(map(int, self._counts))]
        if self.by == "distance":
            places = {_title(i): i for i in range(len(_DISTANCES))}
            keys = sorted(self._counts, key=lambda key: places.get(str(key), -1))
        else:
            keys = sorted(self._counts, key=lambda key: (-self._counts[key]["gold"], str(key)))
        return [self._arc_row(str(key)) for key in keys]

    def _length_row(self, key: int) -> dict[str, str | int | float]:
        counts = self._counts[key]
        return {
            self.by: f"{_TEN * key + 1}-{_TEN * (key + 1)}",
            "sentences": counts["sentences"],
            "words": counts["words"],
            "uas": _share(counts["heads"], counts["words"]),
            "las": _share(counts["labels"], counts["words"]),
            "complete": _share(counts["complete"], counts["sentences"]),
        }

    def _arc_row(self, key: str) -> dict[str, str | int | float]:
        counts = self._counts[key]
        row: dict[str, str | int | float] = {
            self.by: key,
            "gold": counts["gold"],
            "predicted": counts["predicted"],
        }
        if self.by == "relation":
            row["uas"] = _share(counts["heads"], counts["gold"])
        row["recall"] = _share(counts["right"], counts["gold"])
        row["precision"] = _share(counts["right"], counts["predicted"])
        row["f1"] = _share(2 * counts["right"], counts["gold"] + counts["predicted"])
        return row


def _distance_class(head: int, modifier: int) -> str:
    if head == 0:
        return _ROOT
    distance = abs(head - modifier)
    return _title(max((i for i, first in enumerate(_DISTANCES) if first <= distance), default=0))


def _title(i: int) -> str:
    first = _DISTANCES[i]
    if i == len(_DISTANCES) - 1:
        return f"{first}-"
    last = _DISTANCES[i + 1] - 1
    return str(first) if first == last else f"{first}-{last}"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
