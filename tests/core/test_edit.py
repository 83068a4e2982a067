"""Problems with further factors, and with required and forbidden arcs."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.runtime.errors import ProblemError
from tests.core.helpers import three_words, two_words


def test_with_factors_drops_shrinks_and_forbids() -> None:
    p = two_words(quantum=1.0)
    q = p.with_factors(
        [([(0, 1), (1, 2)], 1.5), ([(1, 2)], 2.0), ([(2, 1)], -math.inf), ([(0, 2), (2, 1)], 3)]
    )
    assert q.factor_ptr.tolist() == [0, 2, 4]
    assert q.factor_arcs.tolist() == [0, 2, 1, 3]
    assert q.factor_score.tolist() == [1.5, 3.0]
    assert q.arc_score.tolist() == [1.0, 2.0, 5.0, 4.0]
    assert q.arc_state.tolist() == [0, 0, 0, -1]
    assert (p.quantum, q.quantum) == (1.0, 0.0)
    assert p.with_factors([([(0, 1), (1, 2)], 7)]).quantum == 1.0
    assert len(p.factor_score) == 0
    more = q.with_factors([([(1, 2), (0, 1)], -math.inf)])
    assert more.factor_ptr.tolist() == [0, 2, 4, 6]
    dataclasses.replace(more)
    no_arc = Problem.from_arc_scores([[0, 0, 0], [1, 0, 1], [-math.inf, 1, 0]])
    assert len(no_arc.with_factors([([(0, 2), (2, 1)], 5.0)]).factor_score) == 0


def test_a_factor_of_one_arc_loses_no_digits_beside_a_large_score() -> None:
    p = Problem(2, [0, 1], [1, 2], [1e16, -1e16]).with_factors([([(0, 1)], 0.5)])
    assert p.score([0, 1]) == 0.5


def test_with_factors_of_labelled_arcs() -> None:
    p = Problem(
        2, [0, 0, 1, 1, 2], [1, 1, 2, 2, 1], [0, 0, 0, 0, 0], arc_label=[0, 1, 0, 1, 0],
        single_root=False,
    )  # fmt: skip
    q = p.with_factors([([(0, 1), (1, 2, 1)], 2.0), ([(0, 1), (0, 1, 0)], 3.0), ([(1, 2)], 1.0)])
    assert q.factor_ptr.tolist() == [0, 2, 4]
    assert q.factor_arcs.tolist() == [0, 3, 1, 3]
    assert q.arc_score.tolist() == [3.0, 0.0, 1.0, 1.0, 0.0]
    assert len(p.with_factors([([(0, 1), (1, 2, 7)], 2.0)]).factor_score) == 0


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (([], 1.0), r"factors[0] names no arc"),
        ((5, 1.0), "factors[0] is (5, 1.0), expected (arcs, weight)"),
        (([(0, 1), 3], 1.0), "arc 1 of factors[0] is 3, expected (head, mod)"),
        (([(0, 3), (1, 2)], 1.0), "mod of arc 0 of factors[0] is 3, expected 1..2"),
        (([(1, 1), (1, 2)], 1.0), "arc 0 of factors[0] is (1, 1): word 1 cannot be its own head"),
        (([(0, 1), (0, 1)], 1.0), "factors[0] names an arc twice"),
        (([(0, 1), (1, 2)], math.nan), "weight of factors[0] is nan"),
        (([(0, 1), (1, 2)], "x"), "weight of factors[0] has dtype <U1"),
        (([(0, 2)], -math.inf), "factors[0] forbids the arc 0 -> 2, which is required"),
    ],
)
def test_with_factors_refuses(factor: Any, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        two_words(arc_state=[0, 1, 0, 0]).with_factors([factor])
    assert message in str(caught.value)


def test_with_heads_and_without_arcs() -> None:
    p = three_words()
    q = p.with_heads({3: 1}).without_arcs([(0, 2), [2, 1]])
    assert q.arc_head[q.arc_state == 1].tolist() == [1]
    forbidden = [(int(q.arc_head[a]), int(q.arc_mod[a])) for a in np.flatnonzero(q.arc_state == -1)]
    assert forbidden == [(2, 1), (0, 2), (0, 3), (2, 3)]
    assert q.with_heads({3: 1}).arc_state.tolist() == q.arc_state.tolist()
    two = Problem.from_arc_scores([[0, 0, 0], [1, 0, 1], [-math.inf, 1, 0]])
    assert not two.without_arcs([(0, 2)]).arc_state.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.with_heads({4: 2}), "mod of arc of heads[4] is 4, expected 1..3"),
        (lambda p: p.with_heads({2: 4}), "head of arc of heads[2] is 4, expected 0..3"),
        (lambda p: p.with_heads({2: 2}), "word 2 cannot be its own head"),
        (lambda p: p.with_heads({2: 0}), "heads[2] is 0: the arc 0 -> 2 is forbidden"),
        (lambda p: p.with_heads({3: 2}), "the head of word 3 is required to be 1"),
        (lambda p: p.with_heads({1: 2}).with_heads({1: 3}), "word 1 is required to be 2"),
        (lambda p: p.without_arcs([(1, 3)]), "arcs[0] forbids the arc 1 -> 3, which is required"),
        (lambda p: p.without_arcs([(1, 3, 0)]), "arcs[0] is (1, 3, 0), expected (head, mod)"),
        (lambda p: p.without_arcs([(1, 0)]), "mod of arcs[0] is 0, expected 1..3"),
    ],
)
def test_contradictions_are_refused(change: Any, message: str) -> None:
    p = three_words().without_arcs([(0, 2)])
    p = dataclasses.replace(
        p, arc_state=np.where((p.arc_head == 1) & (p.arc_mod == 3), 1, p.arc_state)
    )
    with pytest.raises(ProblemError) as caught:
        change(p)
    assert message in str(caught.value)


def test_with_heads_needs_a_candidate_and_leaves_labels_open() -> None:
    two = Problem.from_arc_scores([[0, 0, 0], [1, 0, 1], [-math.inf, 1, 0]])
    with pytest.raises(ProblemError, match=r"heads\[2\] is 0: no candidate arc 0 -> 2"):
        two.with_heads({2: 0})
    p = Problem(2, [0, 1, 1, 0], [1, 2, 2, 2], [0, 0, 0, 0], arc_label=[0, 0, 1, 0])
    assert p.with_heads({2: 1}).arc_state.tolist() == [0, 0, 0, -1]
    assert p.without_arcs([(1, 2, 0)]).with_heads({2: 1}).arc_state.tolist() == [0, -1, 1, -1]


def test_heads_are_named_by_their_modifiers() -> None:
    with pytest.raises(ProblemError, match=r"heads is \[1, 2\], expected \{modifier: head\}"):
        three_words().with_heads([1, 2])  # type: ignore[arg-type]
