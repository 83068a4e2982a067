"""What a search tells of itself, and what arcs lose."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bbparse.apps.explain import explain, page
from bbparse.apps.explain.explanation import arc_gaps, broken_rules
from bbparse.apps.explain.terms import PARTS
from bbparse.apps.explain.trace import trace_search
from bbparse.core import Problem
from bbparse.inference.solve import solve
from bbparse.runtime.deadline import Deadline
from tests import strategies, toy
from tests.inference.search.helpers import SETTINGS
from tests.oracles.enumerate import enumerate_trees
from tests.solutions import spread


def random_problem(rng: np.random.Generator) -> Problem:
    return strategies.random_problem(rng, projective=True, labelled=False, max_counts=2)


@pytest.mark.parametrize("name", ["elimination always", "branching only", "few subgradients"])
def test_every_bound_of_the_trace_holds(name: str) -> None:
    rng = np.random.default_rng(12)
    for _ in range(60):
        p = random_problem(rng)
        trace, trees = trace_search(p, settings=SETTINGS[name]), enumerate_trees(p)
        found = solve(p, settings=SETTINGS[name], explain=False)
        assert trace.status == found.status
        if found.stats.get("edges"):  # not solved over a matrix, without a search
            work = trace.dp_calls, trace.nodes
            assert work == (found.stats["dp_calls"], found.stats["nodes"])
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


def hard_problem(n: int = 12) -> Problem:
    """Twelve words and pair factors as strong as the arcs, so that one node is not enough."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(n + 1, n + 1))
    problem = Problem.from_arc_scores(scores.T)
    pairs = [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m]
    factors = []
    for _ in range(600):
        first, second = (pairs[i] for i in rng.choice(len(pairs), 2, replace=False))
        if first[1] != second[1]:
            factors.append(([first, second], float(rng.normal(scale=3.0))))
    return problem.with_factors(factors)


def test_a_search_of_several_nodes() -> None:
    problem = hard_problem()
    trace, expected = trace_search(problem), solve(problem)
    assert trace.nodes == expected.stats["nodes"] > 3
    assert trace.upper == trace.lower == pytest.approx(expected.scores[0])
    assert trace.curve[-1].calls == trace.dp_calls and len(trace.curve) > 12


def test_a_search_that_was_cut_short() -> None:
    problem = hard_problem()
    expected = solve(problem, node_limit=2)
    trace = trace_search(problem, node_limit=2)
    assert expected.status == trace.status == "node_limit"
    assert trace.lower == pytest.approx(expected.scores[0])
    assert trace.upper == pytest.approx(expected.upper_bounds[0])
    assert trace.upper > trace.lower
    assert trace.curve[-1].upper == trace.upper
    assert trace.curve[-1].lower == pytest.approx(trace.lower)


def check_against_all_trees(p: Problem) -> set[bool]:
    """Compare all gaps of the best tree with the definition; whether arcs were forced."""
    solution = solve(p, explain=False)
    if not len(solution):
        return set()
    trees = enumerate_trees(p)
    rounding = 1e-11 * (1.0 + spread(p))
    gaps = arc_gaps(p, solution.arcs[0], float(solution.scores[0]))
    assert [gap.mod for gap in gaps] == list(range(1, p.n_words + 1))
    for gap, arc in zip(gaps, solution.arcs[0].tolist()):
        assert gap.head == p.arc_head[arc] and gap.exact
        pair = (p.arc_head[arc], p.arc_mod[arc])
        copies = {a for a in range(len(p.arc_head)) if (p.arc_head[a], p.arc_mod[a]) == pair}
        without = [score for score, tree in trees if not copies & set(tree)]
        if not without:
            assert gap.gap == math.inf and gap.forced
            continue
        assert gap.gap == pytest.approx(trees[0][0] - without[0], abs=rounding)
        assert gap.gap >= -rounding
        assert gap.heads[gap.mod - 1] != gap.head
        if p.arc_label is None:
            assert p.score([-1, *gap.heads]) == pytest.approx(without[0], abs=rounding)
    return {gap.forced for gap in gaps}


@pytest.mark.parametrize("factors", [0, 12])
def test_against_all_trees(factors: int) -> None:
    rng = np.random.default_rng(21)
    forced: set[bool] = set()
    for _ in range(80):
        p = strategies.random_problem(rng, max_factors=factors, max_counts=2 if factors else 0)
        forced |= check_against_all_trees(p)
    assert forced == {True, False}


def test_what_there_is_no_time_for_is_not_known() -> None:
    """Features of arcs take as long as searches where a sentence is long."""
    parser, sentence = toy.parser(), toy.dev_sentences()[0]
    late = explain(parser, sentence, deadline=Deadline.after(0.0))
    whole = explain(parser, sentence)
    assert not any(gap.exact for gap in late.gaps if not gap.forced)
    assert [t.features for t in late.terms[0] if t.kind in PARTS] != []
    assert not any(t.features for t in late.terms[0] if t.kind in PARTS)
    assert any(t.features for t in whole.terms[0] if t.kind in PARTS)
    assert math.fsum(t.value for t in late.terms[0]) == pytest.approx(late.best.score)
    assert page(late) and late.trees == whole.trees


def test_broken_rules() -> None:
    parser, seen = toy.parser(), 0
    for sentence in toy.dev_sentences():
        (best,) = parser.parse(sentence, valid="none")
        faults, valid = broken_rules(parser, sentence, best)
        (expected,) = parser.parse(sentence)
        if not faults:
            assert valid is None and expected == best
            continue
        assert valid == expected and valid.score <= best.score + 1e-9
        if not seen:
            text = page(explain(parser, sentence))
            assert "Not a valid tree" in text and faults[0].partition(":")[0] in text
            assert "Not a valid tree" not in page(explain(parser, sentence, valid="none"))
            assert broken_rules(parser, sentence, best, "none") == ([], None)
        seen += 1
    assert seen
