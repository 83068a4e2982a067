"""Problems from score matrices, and what problems and solutions say of themselves."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from bbparse.errors import ProblemError
from bbparse.problem import FIELDS, Problem, Solution
from tests.problem.helpers import three_words


def test_from_arc_scores_orders_arcs_by_modifier_and_drops_minus_inf() -> None:
    scores = np.arange(9.0).reshape(3, 3)
    scores[:, 0] = math.nan
    scores[1, 1] = math.inf
    scores[2, 1] = -math.inf
    p = Problem.from_arc_scores(scores, projective=False, single_root=False)
    assert p.arc_head.tolist() == [0, 0, 1]
    assert p.arc_mod.tolist() == [1, 2, 2]
    assert p.arc_score.tolist() == [1.0, 2.0, 5.0]
    assert (p.projective, p.single_root) == (False, False)
    checked = dataclasses.replace(p)
    assert all(
        getattr(p, f).dtype == getattr(checked, f).dtype for f in FIELDS if "_" in f and
        isinstance(getattr(p, f), np.ndarray)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((3, 4)), r"scores has shape \(3, 4\), expected \(n \+ 1, n \+ 1\)"),
        (np.zeros((1, 1)), r"scores has shape \(1, 1\)"),
        (np.zeros(4), r"scores has shape \(4,\), expected 2 dimensions"),
        ([[0, 1], [0, math.nan]], None),
        ([[0, math.nan], [0, 0]], r"scores\[0, 1\] is nan, expected a number of magnitude"),
        ([[0, math.inf], [0, 0]], r"scores\[0, 1\] is inf, expected a number of magnitude"),
        ([["a", "b"], ["c", "d"]], "scores has dtype <U1, expected real numbers"),
    ],
)
def test_from_arc_scores_refuses(scores: Any, message: str | None) -> None:
    if message is None:
        assert len(Problem.from_arc_scores(scores).arc_head) == 1
    else:
        with pytest.raises(ProblemError, match=message):
            Problem.from_arc_scores(scores)


def test_a_batch_is_its_matrices() -> None:
    rng = np.random.default_rng(1)
    padded = rng.normal(size=(3, 6, 6))
    padded[0, 4:] = np.nan
    lengths = np.array([3, 5, 1])
    cut = [matrix[: n + 1, : n + 1] for matrix, n in zip(padded, lengths)]
    for batch in (Problem.from_batch(padded, lengths), Problem.from_batch(cut, single_root=False)):
        for problem, matrix in zip(batch, cut, strict=True):
            one = Problem.from_arc_scores(matrix)
            assert problem.arc_score.tolist() == one.arc_score.tolist()
    assert not batch[0].single_root and Problem.from_batch([]) == []
    for scores, given, message in (
        (padded, [3, 5], "2 lengths, expected 3"),
        (padded, [3, 6, 1], "sentence 1 of the batch: lengths is 6, expected 1..5"),
        (padded, None, "sentence 0 of the batch: scores"),
        ([np.zeros(3)], [2], "sentence 0 of the batch: scores"),
    ):
        with pytest.raises(ProblemError, match=message):
            Problem.from_batch(scores, given)


def test_repr() -> None:
    p = three_words().with_heads({3: 1}).with_factors([([(0, 1), (1, 3)], -math.inf)])
    assert repr(p) == (
        "Problem(n_words=3, arcs=9 (1 required, 2 forbidden), factors=1 (1 hard), projective,"
        " single-root)"
    )
    p = three_words().with_or([(1, 2), (1, 3)], 1.0).with_at_most([(2, 1), (3, 1)])
    assert repr(p) == (
        "Problem(n_words=3, arcs=9, counts=2 (1 hard), projective, single-root)"
    )
    solution = Solution([[-1, 0, 1, 1]], [[0, 3, 7]], [1.5], [2], [False], "time_limit")
    assert repr(solution) == "Solution(1 trees, 0 proved, best 1.5 <= 2, time_limit)"
    none = Solution(np.zeros((0, 4), int), np.zeros((0, 3), int), [], [], [], "infeasible")
    assert repr(none) == "Solution(no tree, infeasible)"
    assert len(none) == 0
