"""Marks of arcs: steps of probabilities, marks in a tree, and configurations with a guide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError
from bbparse.scoring.marks import odds_step, steps_of, sure_marks
from tests.scoring.test_network import CASES, log_probabilities, random_case

THRESHOLDS = [0.001, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999]


@given(CASES)
def test_steps_are_those_of_the_arcs_probabilities(case: tuple[int, int]) -> None:
    guide, values, head, mod = random_case(*case)
    chances = np.exp(log_probabilities(guide, values, head, mod)).sum(axis=1)
    steps = steps_of(guide.marks(values, head, mod)[head, mod])
    for step, probability in zip(steps, chances):
        # at an edge between steps either is right
        near = {int(np.searchsorted(THRESHOLDS, probability * (1 + e), "right"))
                for e in (-1e-4, 0.0, 1e-4)}  # fmt: skip
        assert step in near


def test_steps_of_odds() -> None:
    found = [odds_step(p) for p in [0.0, *THRESHOLDS, 1.0]]
    assert found == [*range(12), 11]


def test_a_word_with_one_candidate_is_certain_of_it() -> None:
    guide, values, _, _ = random_case(3, 4)
    mod = np.arange(1, 5, dtype=np.int32)
    marks = guide.marks(values, mod - 1, mod)
    assert (marks[mod - 1, mod] >> 10 == 12).all()


@given(CASES)
def test_marks_of_a_tree_follow_from_those_among_other_candidates(case: tuple[int, int]) -> None:
    guide, values, head, mod = random_case(*case)
    rng = np.random.default_rng(case[0])
    tree = np.array(
        [rng.choice(np.flatnonzero(mod == m)) for m in range(1, case[1] + 1)], np.int64
    )
    alone = guide.marks(values, head[tree], mod[tree])
    sure = sure_marks(guide.marks(values, head, mod))
    np.testing.assert_array_equal(sure[head[tree], mod[tree]], alone[head[tree], mod[tree]])


PLAIN: dict[str, Any] = {
    "templates": {"bits": 8, "arc": ["h.upos m.upos"]},
    "pruner": {"templates": {"bits": 8, "arc": ["h.upos m.upos"]}},
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"templates": {"arc": ["h.upos @label"]}}, "templates has @label, which needs a guide"),
        (
            {"labels": {"templates": {"sibling": ["h.upos @slabel"]}}},
            "labels.templates has @slabel, which needs a guide",
        ),
        (
            {"guide": {"epochs": 1}, "pruner": {"templates": {"arc": ["h.upos @odds"]}}},
            "pruner.templates has @odds, but pruning comes before",
        ),
        (
            {"guide": {"epochs": 1}, "labels": {"templates": {"arc": ["h.upos @odds"]}}},
            "has @odds, which say nothing",
        ),
        ({"guide": {"rate": 0.0}}, "guide.rate is 0.0"),
        ({"guide": {"folds": 0}}, "guide.folds is 0"),
        ({"guide": {"least": 12}}, "guide.least is 12, expected 0 to 11"),
        ({"guide": {"passes": 3}}, "unknown key 'passes' in .guide."),
    ],
)
def test_configurations_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Configuration.from_table({**PLAIN, **changes})
