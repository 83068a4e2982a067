"""The record of a search is of that search, and true at every moment."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bbparse.explain.trace import trace_search
from bbparse.problem import Problem
from bbparse.solving.solve import solve
from tests import strategies
from tests.oracles.enumerate import enumerate_trees
from tests.search.helpers import SETTINGS
from tests.solutions import spread


def random_problem(rng: np.random.Generator) -> Problem:
    return strategies.random_problem(rng, projective=True, labelled=False, max_counts=2)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_trace_ends_where_the_search_does(name: str) -> None:
    rng = np.random.default_rng(11)
    branched = 0
    for _ in range(60):
        p = random_problem(rng)
        expected = solve(p, settings=SETTINGS[name], explain=False)
        trace = trace_search(p, settings=SETTINGS[name])
        assert trace.status == expected.status
        if not len(expected):
            continue
        rounding = 1e-12 * (1.0 + spread(p))
        assert trace.lower == pytest.approx(expected.scores[0], abs=rounding)
        assert trace.upper == pytest.approx(expected.upper_bounds[0], abs=rounding)
        if expected.stats["edges"] == 0:  # solved over a matrix, without a search
            continue
        assert trace.dp_calls == expected.stats["dp_calls"]
        assert len(trace.nodes) == expected.stats["nodes"]
        branched += len(trace.nodes) > 1
    assert branched or name not in ("branching only", "levels")


@pytest.mark.parametrize("name", SETTINGS)
def test_every_bound_of_the_trace_holds(name: str) -> None:
    rng = np.random.default_rng(12)
    for _ in range(60):
        p = random_problem(rng)
        trace = trace_search(p, settings=SETTINGS[name])
        trees = enumerate_trees(p)
        if not trees:
            assert trace.status == "infeasible" and trace.lower == -math.inf
            continue
        best = trees[0][0]
        rounding = 1e-11 * (1.0 + spread(p))
        for before, point in zip([None, *trace.curve], trace.curve):
            assert point.lower <= best + rounding and point.upper >= best - rounding
            if before is not None:
                assert point.calls > before.calls
                assert point.upper <= before.upper and point.lower >= before.lower
        assert trace.lower == pytest.approx(best, abs=rounding)
        assert trace.upper == pytest.approx(best, abs=rounding)
        arcs = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
        for arc in trace.gone:
            with_it = [s for s, tree in trees if arc in {arcs[a] for a in tree}]
            assert max(with_it, default=-math.inf) <= best + rounding
            if trace.gone[arc] == 0:
                assert not with_it, "what goes before the search is in no tree at all"
        assert set(trace.gone) | trace.left == set(arcs)
        assert not set(trace.gone) & trace.left


def hard_problem(n: int = 12) -> Problem:
    """Twelve words and pair factors as strong as the arcs, so that one node is not enough."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(n + 1, n + 1))
    problem = Problem.from_arc_scores(scores)
    pairs = [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m]
    factors = []
    for _ in range(600):
        first, second = (pairs[i] for i in rng.choice(len(pairs), 2, replace=False))
        if first[1] != second[1]:
            factors.append(([first, second], float(rng.normal(scale=3.0))))
    return problem.with_factors(factors)


def test_a_search_tree() -> None:
    problem = hard_problem()
    trace = trace_search(problem)
    expected = solve(problem)
    assert len(trace.nodes) == expected.stats["nodes"] > 3
    assert trace.upper == trace.lower == pytest.approx(expected.scores[0])
    by_number = {node.number: node for node in trace.nodes}
    assert list(by_number) == list(range(1, len(trace.nodes) + 1))
    for node in trace.nodes:
        assert node.steps, "every node is bounded at least once"
        for first, second in zip(node.steps, node.steps[1:]):
            assert second.calls >= first.calls and second.bound <= first.bound
            assert (len(second.arcs), second.edges) <= (len(first.arcs), first.edges)
        if node.number == 1:
            assert node.parent == 0 and node.arc is None
            continue
        parent = by_number[node.parent]
        assert node.depth == parent.depth + 1
        assert node.arc == parent.branched
        assert not parent.closed
    children = [node for node in trace.nodes if node.parent]
    assert sum(node.present for node in children) == len(children) / 2
    assert any(node.closed for node in trace.nodes)


def test_a_search_that_was_cut_short() -> None:
    problem = hard_problem()
    expected = solve(problem, node_limit=2)
    trace = trace_search(problem, node_limit=2)
    assert expected.status == trace.status == "node_limit"
    assert trace.lower == pytest.approx(expected.scores[0])
    assert trace.upper == pytest.approx(expected.upper_bounds[0])
    assert trace.upper > trace.lower
    assert trace.curve[-1].upper == trace.upper and trace.curve[-1].lower == trace.lower


def test_crossing_arcs_are_traced() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        problem = Problem.from_arc_scores(rng.normal(size=(4, 4)), projective=False)
        trace = trace_search(problem.with_factors([([(0, 1), (1, 2)], 1.5)]))
        assert trace.status == "optimal"
        assert trace.lower == pytest.approx(trace.upper)
        assert trace.nodes[-1].closed
