"""Targets of several sequences and kinds keep the labels and shares of each element."""

from __future__ import annotations

import numpy as np

from bbparse.neural.targets import certain, interleaved, joined, owners
from bbparse.treebank.likely_tags import Likely


def rows(targets: Likely) -> list[list[tuple[int, float]]]:
    """Labels and shares of each element."""
    found: list[list[tuple[int, float]]] = [[] for _ in targets.begin[1:]]
    pairs = zip(targets.numbers.tolist(), targets.probabilities.tolist())
    for element, pair in zip(owners(targets).tolist(), pairs, strict=True):
        found[element].append(pair)
    return found


def doubtful(*elements: list[tuple[int, float]]) -> Likely:
    """Targets with these labels and shares."""
    ends = np.cumsum([0, *map(len, elements)])
    pairs = [pair for element in elements for pair in element]
    numbers = np.array([number for number, _ in pairs], np.int32)
    return Likely(ends, numbers, np.array([share for _, share in pairs], np.float32))


def test_a_label_that_is_not_known_is_no_target() -> None:
    assert rows(certain(np.array([3, -1, 0]))) == [[(3, 1.0)], [], [(0, 1.0)]]


def test_sequences_follow_each_other() -> None:
    one, two = doubtful([(1, 0.5), (4, 0.5)], []), doubtful([(2, 1.0)])
    assert rows(joined([one, two, one])) == [*rows(one), *rows(two), *rows(one)]


def test_kinds_of_an_element_follow_each_other() -> None:
    one, two = doubtful([(1, 0.5), (4, 0.5)], []), certain(np.array([7, 8]))
    assert rows(interleaved([one, two])) == [[(1, 0.5), (4, 0.5)], [(7, 1.0)], [], [(8, 1.0)]]
