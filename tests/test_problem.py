from __future__ import annotations

import dataclasses
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from bbparse.errors import ProblemError
from bbparse.problem import FIELDS, Problem, Solution
from bbparse.problem.tree import arcs_of, broken_constraint
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import problems, random_problem


def two_words(**fields: Any) -> Problem:
    """Every arc of two words: 0→1, 0→2, 1→2, 2→1; changed by `fields`."""
    values: dict[str, Any] = {
        "n_words": 2, "arc_head": [0, 0, 1, 2], "arc_mod": [1, 2, 2, 1], "arc_score": [1, 2, 3, 4]
    }  # fmt: skip
    return Problem(**{**values, **fields})


def three_words(**fields: Any) -> Problem:
    return dataclasses.replace(Problem.from_arc_scores(np.zeros((4, 4))), **fields)


def test_arrays_are_converted_copied_and_read_only() -> None:
    head = np.array([0, 0, 1, 2], dtype=np.uint8)
    p = two_words(arc_head=head, arc_score=np.array([1, 2, 3, 4], dtype=np.float32))
    assert p.arc_head.dtype == np.int32
    assert p.arc_score.dtype == np.float64
    assert p.arc_state.dtype == np.int8
    assert p.factor_ptr.dtype == np.int64
    head[0] = 2
    assert p.arc_head[0] == 0
    for name in FIELDS:
        value = getattr(p, name)
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            assert not value.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        p.arc_score[0] = 5.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.n_words = 3  # type: ignore[misc]


def test_parts_of_other_arrays_may_be_given() -> None:
    columns = np.arange(8).reshape(4, 2) % 2
    assert not columns[:, 0].flags.c_contiguous
    p = two_words(arc_state=columns[:, 0])
    assert p.arc_state.flags.c_contiguous


GSIB = {"gsib_grand": [2], "gsib_head": [1], "gsib_inner": [-1], "gsib_outer": [3]}
FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"n_words": 0}, "n_words is 0, expected 1..32000"),
    ({"n_words": True}, "n_words is True, expected an integer"),
    ({"n_words": 2.0}, "n_words is 2.0, expected an integer"),
    ({"arc_head": [0, 0, 1]}, "arc_mod has 4 elements, expected 3 as in arc_head"),
    ({"arc_head": [[0, 0, 1, 2]]}, r"arc_head has shape (1, 4), expected one dimension"),
    ({"arc_head": [0, [0], 1, 2]}, "arc_head is not an array"),
    ({"arc_head": [0, 0, 1, 2.0]}, "arc_head has dtype float64, expected integers"),
    ({"arc_head": [0, 0, 1, "2"]}, "arc_head has dtype <U"),
    ({"arc_head": [False, False, True, True]}, "arc_head has dtype bool, expected integers"),
    ({"arc_head": [0, 0, 1, None]}, "arc_head has dtype object, expected integers"),
    ({"arc_head": [0, 0, 1, 2**40]}, f"arc_head[3] is {2**40}, expected"),
    ({"arc_head": [0, 0, 1, 2**70]}, "arc_head has dtype object"),
    ({"arc_head": [0, 0, 1, 3]}, "arc_head[3] is 3, expected 0..2"),
    ({"arc_head": [-1, 0, 1, 2]}, "arc_head[0] is -1, expected 0..2"),
    ({"arc_mod": [1, 2, 12, 1]}, "arc_mod[2] is 12, expected 1..2"),
    ({"arc_mod": [0, 2, 2, 1]}, "arc_mod[0] is 0, expected 1..2"),
    ({"arc_mod": [1, 2, 1, 1]}, "arc_mod[2] is 1, the same word as arc_head[2]"),
    ({"arc_head": [0, 0, 1, 0]}, "arc_mod[3] repeats the arc 0 -> 1 of arc_mod[0]"),
    ({"arc_label": [0, 0, 1]}, "arc_label has 3 elements, expected 4"),
    ({"arc_label": [0, -1, 1, 1]}, "arc_label[1] is -1, expected 0.."),
    (
        {"arc_head": [0, 0, 1, 0], "arc_label": [3, 0, 1, 3]},
        "arc_mod[3] repeats the arc 0 -> 1 with label 3 of arc_mod[0]",
    ),
    ({"arc_score": [1, 2, math.nan, 3]}, "arc_score[2] is nan, expected a finite number"),
    ({"arc_score": [1, 2, 3, math.inf]}, "arc_score[3] is inf, expected a finite number"),
    ({"arc_score": [1, 2, 3, -math.inf]}, "arc_score[3] is -inf, expected a finite number (leave"),
    (
        {"arc_score": [1, 2, 3, -1.7e308]},
        "arc_score[3] is -1.7e+308, expected a finite number of magnitude <= 1e+100 (leave",
    ),
    ({"arc_score": [1, 2, 3, 1j]}, "arc_score has dtype complex128, expected real numbers"),
    ({"arc_score": ["1", "2", "3", "4"]}, "arc_score has dtype <U1, expected real numbers"),
    ({"arc_state": [0, 2, 0, 0]}, "arc_state[1] is 2, expected -1..1"),
    ({"arc_state": [0, 300, 0, 0]}, "arc_state[1] is 300, expected -128..127 (int8)"),
    ({"arc_state": [1, 0, 0, 1]}, "arc_state[3] requires a second head of word 1"),
    ({"projective": 1}, "projective is 1, expected True or False"),
    ({"single_root": None}, "single_root is None, expected True or False"),
    ({"quantum": -1.0}, "quantum is -1.0, expected a finite number >= 0"),
    ({"quantum": math.nan}, "quantum is nan"),
    ({"quantum": 2.0}, "arc_score[0] is 1.0, expected a multiple of quantum = 2.0"),
    ({"quantum": [1.0]}, "quantum has shape (1,), expected 0 dimensions"),
    ({"sib_head": [0], "sib_inner": [1], "sib_outer": [2]}, "sib_score has 0 elements, expected 1"),
    (
        {"sib_head": [0], "sib_inner": [2], "sib_outer": [1], "sib_score": [1]},
        "sib_inner[0] is 2, expected -1 or a word strictly between sib_head[0] = 0 and"
        " sib_outer[0] = 1",
    ),
    (
        {"sib_head": [2], "sib_inner": [0], "sib_outer": [1], "sib_score": [1]},
        "sib_inner[0] is 0, expected -1 or",
    ),
    (
        {"sib_head": [0, 0], "sib_inner": [-1, -1], "sib_outer": [2, 2], "sib_score": [1, 2]},
        "sib_score[1] scores the part (0, -1, 2) of sib_score[0] again",
    ),
    (
        {"sib_head": [1], "sib_inner": [-1], "sib_outer": [1], "sib_score": [1]},
        "sib_outer[0] is 1, the same word as sib_head[0]",
    ),
    (
        {"gc_grand": [0], "gc_head": [0], "gc_mod": [1], "gc_score": [1]},
        "gc_head[0] is 0, expected 1..2",
    ),
    (
        {"gc_grand": [1], "gc_head": [2], "gc_mod": [1], "gc_score": [1]},
        "gc_mod[0] is 1, the same word as gc_grand[0]",
    ),
    (
        {"ogc_grand": [0], "ogc_head": [2], "ogc_mod": [1], "ogc_score": [-math.inf]},
        "ogc_score[0] is -inf, expected a finite number (use a factor)",
    ),
    ({"factor_ptr": []}, "factor_ptr is empty"),
    ({"factor_ptr": [1]}, "factor_ptr[0] is 1, expected 0"),
    ({"factor_ptr": [0, 2]}, "factor_score has 0 elements, expected 1: one fewer than factor_ptr"),
    (
        {"factor_ptr": [0, 1], "factor_arcs": [0], "factor_score": [1]},
        "factor_ptr[1] is 1: factor 0 has 1 arcs, expected at least 2",
    ),
    (
        {"factor_ptr": [0, 0], "factor_arcs": [], "factor_score": [1]},
        "factor_ptr[1] is 0: factor 0 has 0 arcs",
    ),
    (
        {"factor_ptr": [0, 2, 1], "factor_arcs": [0, 2], "factor_score": [1, 1]},
        "factor_ptr[2] is 1, expected 4..2 after factor_ptr[1] = 2",
    ),
    (
        {"factor_ptr": [0, 9], "factor_arcs": [0, 2], "factor_score": [1]},
        "factor_ptr[1] is 9, expected 2..2",
    ),
    (
        {"factor_ptr": [0, 2], "factor_arcs": [0, 2, 1], "factor_score": [1]},
        "factor_ptr[1] is 2, expected 3: the number of elements of factor_arcs",
    ),
    (
        {"factor_ptr": [0, 2], "factor_arcs": [0, 4], "factor_score": [1]},
        "factor_arcs[1] is 4, expected 0..3",
    ),
    (
        {"factor_ptr": [0, 2], "factor_arcs": [0, -1], "factor_score": [1]},
        "factor_arcs[1] is -1, expected 0..3",
    ),
    (
        {"factor_ptr": [0, 2, 4], "factor_arcs": [0, 2, 3, 3], "factor_score": [1, 1]},
        "factor_arcs[3] is 3, an arc its factor has already",
    ),
    (
        {"factor_ptr": [0, 2], "factor_arcs": [0, 2], "factor_score": [math.inf]},
        "factor_score[0] is inf, expected a finite number or -inf",
    ),
    ({"count_ptr": []}, "count_ptr is empty, expected one element more than count factors"),
    ({"count_ptr": [1]}, "count_ptr[0] is 1, expected 0"),
    ({"count_ptr": [[0]]}, "count_ptr has shape (1, 1), expected one dimension"),
    (
        {"count_ptr": [0, 0], "count_score": [1]},
        "count_ptr[1] is 0: count factor 0 has 0 arcs, expected at least 1",
    ),
    (
        {"count_ptr": [0, 1, 0], "count_arcs": [0]},
        "count_ptr[2] is 0, expected 2..1 after count_ptr[1] = 1",
    ),
    (
        {"count_ptr": [0, 1], "count_arcs": [0, 1], "count_score": [0, 0]},
        "count_ptr[1] is 1, expected 2: the number of elements of count_arcs",
    ),
    ({"count_ptr": [0, 1], "count_arcs": [4]}, "count_arcs[0] is 4, expected 0..3"),
    ({"count_ptr": [0, 2], "count_arcs": [1, 1]}, "count_arcs[1] is 1, an arc its factor has"),
    ({"count_arcs": [1.5]}, "count_arcs has dtype float64, expected integers"),
    (
        {"count_ptr": [0, 2], "count_arcs": [0, 1], "count_score": [0, 0]},
        "count_score has 2 elements, expected 3 = count_score_ptr[1]",
    ),
    (
        {"count_ptr": [0, 1], "count_arcs": [0], "count_score_ptr": [0], "count_score": [0, 0]},
        "count_score_ptr has 1 elements, expected 2 as in count_ptr",
    ),
    ({"count_score_ptr": [1], "count_score": [0]}, "count_score_ptr[0] is 1, expected 0"),
    (
        {"count_ptr": [0, 1], "count_arcs": [0], "count_score_ptr": [0, 1], "count_score": [0]},
        "count_score_ptr[1] is 1, expected 2: count factor 0 has 1 arcs",
    ),
    ({"count_score": [0]}, "count_score has 1 elements, expected 0 = count_score_ptr[0]"),
    (
        {"count_ptr": [0, 1], "count_arcs": [0], "count_score": [0, math.nan]},
        "count_score[1] is nan, expected a finite number or -inf",
    ),
    (
        {"count_ptr": [0, 1], "count_arcs": [0], "count_score": [-math.inf, 2e100]},
        "count_score[1] is 2e+100, expected a finite number or -inf of magnitude <= 1e+100",
    ),
    (
        {"quantum": 1.0, "count_ptr": [0, 1], "count_arcs": [0], "count_score": [1, 0.5]},
        "count_score[1] is 0.5, expected a multiple of quantum = 1.0",
    ),
]


@pytest.mark.parametrize(("fields", "message"), FAULTS, ids=[m[:50] for _, m in FAULTS])
def test_faults_name_the_array_and_the_index(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        two_words(**fields)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gsib_grand": [-1]}, "gsib_grand[0] is -1, expected 0..3 as gsib_head[0] is 1"),
        ({"gsib_head": [0]}, "gsib_grand[0] is 2, expected -1 as gsib_head[0] is 0"),
        ({"gsib_grand": [1]}, "gsib_grand[0] is 1, the same word as gsib_head[0]"),
        ({"gsib_grand": [3]}, "gsib_grand[0] is 3, the same word as gsib_outer[0]"),
        ({"gsib_inner": [2]}, "gsib_inner[0] is 2, the same word as gsib_grand[0]"),
        ({"gsib_inner": [3]}, "gsib_inner[0] is 3, expected -1 or a word strictly between"),
        ({name: value * 2 for name, value in GSIB.items()}, "the part (2, 1, -1, 3)"),
    ],
)
def test_faults_of_grand_siblings(fields: dict[str, Any], message: str) -> None:
    given_fields = {**GSIB, **fields}
    scores = np.zeros(len(given_fields["gsib_grand"]))
    with pytest.raises(ProblemError) as caught:
        three_words(**given_fields, gsib_score=scores)
    assert message in str(caught.value)


def test_repeats_are_found_among_many() -> None:
    rng = np.random.default_rng(0)
    pairs = [(h, m) for h, m in product(range(41), range(1, 41)) if h != m]
    order = [pairs[i] for i in rng.permutation(len(pairs))]
    head, mod = [h for h, _ in order], [m for _, m in order]
    assert len(Problem(40, head, mod, np.zeros(len(head))).arc_head) == 1600
    place = order.index((3, 7))
    with pytest.raises(ProblemError, match=rf"arc_mod\[1600\] repeats .* of arc_mod\[{place}\]"):
        Problem(40, [*head, 3], [*mod, 7], np.zeros(len(head) + 1))


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
    no_arc = Problem.from_arc_scores([[0, 1, -math.inf], [0, 0, 1], [0, 1, 0]])
    assert len(no_arc.with_factors([([(0, 2), (2, 1)], 5.0)]).factor_score) == 0


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
        (5, "factors[0] is 5, expected (arcs, weight)"),
        ((5, 1.0), "factors[0] is (5, 1.0), expected (arcs, weight)"),
        (([(0, 1), 3], 1.0), "arc 1 of factors[0] is 3, expected (head, mod)"),
        (([(0, 1, 0)], 1.0), "arc 0 of factors[0] is (0, 1, 0), expected (head, mod)"),
        (([(0, 3), (1, 2)], 1.0), "mod of arc 0 of factors[0] is 3, expected 1..2"),
        (([(-1, 1), (1, 2)], 1.0), "head of arc 0 of factors[0] is -1, expected 0..2"),
        (([(1, 1), (1, 2)], 1.0), "arc 0 of factors[0] is (1, 1): word 1 cannot be its own head"),
        (([(0, 1), (0, 1)], 1.0), "factors[0] names an arc twice"),
        (([(0, 1), (1, 2)], math.nan), "weight of factors[0] is nan"),
        (([(0, 1), (1, 2)], math.inf), "weight of factors[0] is inf"),
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
    two = Problem.from_arc_scores([[0, 1, -math.inf], [0, 0, 1], [0, 1, 0]])
    assert not two.without_arcs([(0, 2)]).arc_state.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.with_heads({4: 2}), "mod of arc of heads[4] is 4, expected 1..3"),
        (lambda p: p.with_heads({2: 4}), "head of arc of heads[2] is 4, expected 0..3"),
        (lambda p: p.with_heads({2: 2}), "word 2 cannot be its own head"),
        (lambda p: p.with_heads({2: 0}), "heads[2] is 0: the arc 0 -> 2 is forbidden"),
        (lambda p: p.with_heads({3: 2}), "the head of word 3 is required to be 1"),
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
    two = Problem.from_arc_scores([[0, 1, -math.inf], [0, 0, 1], [0, 1, 0]])
    with pytest.raises(ProblemError, match=r"heads\[2\] is 0: no candidate arc 0 -> 2"):
        two.with_heads({2: 0})
    p = Problem(2, [0, 1, 1, 0], [1, 2, 2, 2], [0, 0, 0, 0], arc_label=[0, 0, 1, 0])
    assert p.with_heads({2: 1}).arc_state.tolist() == [0, 0, 0, -1]
    assert p.without_arcs([(1, 2, 0)]).with_heads({2: 1}).arc_state.tolist() == [0, -1, 1, -1]


@given(problems(counts=True))
def test_scores_and_constraints_agree_with_enumeration(p: Problem) -> None:
    _check_against_enumeration(p)


def test_scores_and_constraints_of_random_problems() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        _check_against_enumeration(random_problem(rng, max_words=5, max_counts=5))


def _check_against_enumeration(p: Problem) -> None:
    expected = {arcs: score for score, arcs in enumerate_trees(p)}
    choices = [np.flatnonzero(p.arc_mod == m).tolist() for m in range(1, p.n_words + 1)]
    if math.prod(map(len, choices)) > 400:
        combinations = iter(expected)
    else:
        combinations = product(*choices)
    for arcs in combinations:
        assert p.is_feasible(arcs) == (arcs in expected)
        if arcs in expected:
            assert p.score(arcs) == expected[arcs]
            if p.arc_label is None:
                assert p.score([-1, *p.arc_head[list(arcs)]]) == expected[arcs]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([0, 0, 0, 0, 0], "tree has 5 elements, expected 4 heads"),
        ([0, 1, 1, 1], r"tree\[1\] is 1: no candidate arc 1 -> 1"),
        ([0, 9, 1, 1], r"tree\[1\] is 9: no candidate arc 9 -> 1"),
        ([0, 1, 99], r"tree\[2\] is 99, expected 0..8"),
        ([0, 1, 8], r"tree\[1\] is arc 1 into word 1, expected an arc into word 2"),
        ([0.0, 1.0, 1.0], "tree has dtype float64"),
    ],
)
def test_score_refuses_what_is_no_choice_of_arcs(tree: list[int], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        three_words().score(tree)


def test_score_needs_labels() -> None:
    p = Problem(1, [0, 0], [1, 1], [1, 2], arc_label=[0, 1])
    assert p.score([1]) == 2.0
    with pytest.raises(ProblemError, match="2 arcs 0 -> 1 differ in their labels"):
        p.score([0, 0])


def test_score_does_not_depend_on_the_order_of_factors() -> None:
    rng = np.random.default_rng(3)
    p = Problem.from_arc_scores(rng.normal(size=(5, 5)) * 1e9)
    tree = [(0, 1), (1, 2), (1, 3), (3, 4)]
    factors = [(tree[: 2 + i % 3], float(w)) for i, w in enumerate(rng.normal(size=40))]
    scores = {
        p.with_factors([factors[i] for i in rng.permutation(40)]).score([-1, 0, 1, 1, 3])
        for _ in range(20)
    }
    assert len(scores) == 1


def test_count_factors_score_numbers_of_arcs() -> None:
    scores = [1, 10, 100, -5, -math.inf]
    p = two_words(count_ptr=[0, 2, 3], count_arcs=[0, 2, 3], count_score=scores)
    assert p.count_score_ptr.tolist() == [0, 3, 5]
    assert p.score([-1, 0, 1]) == 1 + 3 + 100 - 5
    assert p.score([-1, 2, 0]) == -math.inf
    assert p.is_feasible([-1, 0, 1])
    assert not p.is_feasible([-1, 2, 0])
    assert broken_constraint(p, arcs_of(p, [-1, 2, 0])) == "count factor 1 scores -inf for 1 arcs"


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


SOLUTION: dict[str, Any] = {
    "heads": [[-1, 0, 1], [-1, 2, 0]], "arcs": [[0, 2], [3, 1]], "scores": [4.0, 3.0],
    "upper_bounds": [4.0, math.inf], "proved": [True, False], "status": "node_limit",
    "stats": {"nodes": 3},
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"heads": [[-1, 0, 1]]}, "heads has 1 elements, expected 2 as in scores"),
        ({"heads": [[-1, 0], [-1, 0]]}, "arcs has shape (2, 2), expected (2, 1)"),
        ({"heads": [[0, 0, 1], [-1, 2, 0]]}, "heads[0, 0] is 0, expected -1"),
        ({"heads": [[-1, 0, 1], [-1, 3, 0]]}, "heads[1, 1:][0] is 3, expected 0..2"),
        ({"arcs": [[0, 2], [-3, 1]]}, "arcs[1][0] is -3"),
        ({"scores": [3.0, 4.0]}, "scores[1] is 4.0, expected at most scores[0] = 3.0"),
        ({"scores": [3.0, math.nan]}, "scores[1] is nan"),
        ({"upper_bounds": [3.0, math.nan]}, "upper_bounds[1] is nan"),
        ({"proved": [1, 0]}, "proved has dtype int64"),
        ({"status": "done"}, "status is 'done', expected one of optimal, time_limit"),
        ({"stats": {"nodes": "3"}}, "stats['nodes'] is '3', expected a number"),
    ],
)
def test_faults_of_solutions(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        Solution(**{**SOLUTION, **fields})
    assert message in str(caught.value)
