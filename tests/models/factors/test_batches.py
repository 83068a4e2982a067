"""Batches of factors that other code has made."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from bbparse.factors import FactorBatch, FactorFamily, FactorView, TemplateFamily, check_family
from bbparse.models.factors.batch import FactorCounter
from bbparse.models.factors.table import FactorTable
from bbparse.runtime.errors import FactorError
from bbparse.treebank import Sentence
from tests.models.factors.helpers import alive_factors, all_arcs, view_of

SENTENCE = Sentence.from_words(["a", "b", "c"], heads=[2, 0, 2])
VIEW = view_of(SENTENCE, all_arcs(3))
TABLE = FactorTable(np.array([1, 2, 3], np.uint64))


class Own(FactorFamily):
    """A family that makes its arrays itself."""

    name, summary = "own", "its own arrays"

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def propose(self, view: FactorView) -> Any:
        return self.batch

    propose_counts = propose


def batch() -> FactorBatch:
    return FactorBatch.from_lists([[0, 3], [1, 4]], [[[1]], [[2]]])


def test_a_feature_counts_once_in_a_tree() -> None:
    counter = FactorCounter()
    for trees in (1, 2):
        counter.add([FactorBatch.from_lists([[0, 3], [1, 4]], [[[1]], [[1, 2]]])])
        assert counter.table(trees).keys.tolist() == [1, 2]
        assert len(counter.table(trees + 1)) == 0


def refuse(family: FactorFamily, text: str) -> None:
    """See that whatever asks the family has one line of why it cannot be."""
    match = f"factor family 'own', sentence #1: .*{text}"
    with pytest.raises(FactorError, match=match) as error:
        alive_factors([family], VIEW, TABLE)
    assert "\n" not in str(error.value)
    if isinstance(family, Own):
        for ask in (lambda: family.propose_all(VIEW), lambda: check_family(family, SENTENCE)):
            with pytest.raises(FactorError, match=match):
                ask()


def test_arrays_as_they_must_be() -> None:
    assert alive_factors([Own(batch())], VIEW, TABLE).arcs.tolist() in ([], [0, 3, 1, 4])
    assert Own(batch()).propose_all(VIEW).ptr.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"arcs": np.array([0, 3, 1, 99], np.int32)}, "arcs are 0 to 99, expected 0 to 8"),
        ({"arcs": np.array([0, 3, -1, 4], np.int32)}, "arcs are -1 to 4"),
        ({"arcs": np.array([0, 3, 1, 4])}, r"arcs is .*, expected a contiguous array int32\[\]"),
        ({"arcs": [0, 3, 1, 4]}, r"arcs is \[0, 3, 1, 4\], expected"),
        ({"arcs": np.array([0, 0, 1, 4], np.int32)}, "a set has an arc twice"),
        ({"arcs": np.zeros((4, 2), np.int32)[:, 0]}, "expected a contiguous array"),
        ({"ptr": np.array([0, 2, 1 << 40])}, "ptr does not rise from 0 to 4"),
        ({"ptr": np.array([0, 5, 4])}, "ptr does not rise"),
        ({"ptr": np.array([0, 4])}, "ptr has 2 elements, expected 3"),
        ({"ptr": np.array([0, 0, 4])}, "set 0 has 0 arcs and 1 cells"),
        ({"cell_ptr": np.array([0, 1, 7])}, "cell_ptr does not rise from 0 to 2"),
        ({"cell_ptr": np.array([0, 0, 2])}, "set 0 has 2 arcs and 0 cells"),
        ({"feat_ptr": np.array([0, 1, 9])}, "feat_ptr does not rise from 0 to 2"),
        ({"feat_ptr": np.zeros(0, np.int64)}, "cell_ptr does not rise|feat_ptr has 0"),
        ({"feat_keys": np.array([1, 2], np.int64)}, "feat_keys is .*, expected"),
    ],
)
def test_arrays_that_kernels_would_follow_anywhere(changes: dict[str, Any], text: str) -> None:
    refuse(Own(dataclasses.replace(batch(), **changes)), text)


def test_a_batch_may_be_empty() -> None:
    none = Own(FactorBatch.from_lists([], []))
    assert not len(alive_factors([none], VIEW, TABLE).score) and not len(none.propose_all(VIEW))


def test_what_is_no_batch() -> None:
    refuse(Own(None), "gave None, expected a FactorBatch")


@pytest.mark.parametrize(
    ("first", "text"),
    [
        ([0, 1 << 40], "indices of arcs, 0 to 8"),
        ([-1], "expected indices of arcs"),
        ([0.5], "expected indices of arcs"),
        ([[0]], "expected indices of arcs"),
    ],
)
def test_first_arcs_of_a_template_family(first: Any, text: str) -> None:
    class Pairs(TemplateFamily):
        name, summary = "own", "siblings, of some arcs"
        arcs = ("h m", "h c")
        common = "h.upos"
        templates = ("m.lemma",)

        def first_arcs(self, view: FactorView) -> Any:
            return first

    refuse(Pairs(), text)
