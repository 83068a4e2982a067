"""Sentences without a valid tree: the best tree of those with the fewest faults."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bbparse import Problem, solve
from bbparse.adapters import SentenceScores, decode
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.conditions import ArcCondition
from bbparse.parser.validity.constraints import Candidates
from bbparse.parser.validity.lazily import solve_valid
from bbparse.parser.validity.rules import Rule, Rules
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import ScoredTree

ALL, RIGHT = (ArcCondition.parse(text) for text in ("", "side=right"))
#: Every arc is a fault.
NO_ARCS = Rules([Rule("no-arcs", (ALL,))])


def _decoded(arcs: np.ndarray, rules: Rules) -> ScoredTree:
    n = len(arcs) - 1
    scores = SentenceScores(arcs, np.zeros((n + 1, n + 1, 1)), ["dep"])
    (tree,) = decode(scores, Sentence.from_words(["w"] * n, upos=["X"] * n), valid=rules)
    return tree


def test_each_rule_counts_also_where_two_forbid_the_same() -> None:
    arcs = np.full((4, 4), -np.inf)
    arcs[1, 3] = arcs[2, 1] = arcs[3, 0] = 0.0  # two faults of `below`
    arcs[1, 2] = arcs[2, 0] = arcs[3, 2] = 10.0  # and one of `right-below`, at the same place
    rules = Rules(
        [Rule("below", (ALL,), "below", (ALL,)), Rule("right-below", (RIGHT,), "below", (RIGHT,))]
    )
    tree = _decoded(arcs, rules)
    assert (tree.heads, len(tree.broken)) == ((3, 1, 0), 2)


def test_small_scores_are_told_apart_and_large_ones_counted() -> None:
    arcs = np.random.default_rng(5).normal(size=(5, 5))
    expected = _decoded(arcs, NO_ARCS)
    for scale in (1e-30, 1e-12, 1e12):
        tree = _decoded(arcs * scale, NO_ARCS)
        assert (tree.heads, tree.proved) == (expected.heads, True)
    roots = Rules([Rule("no-root", (ArcCondition.parse("head.upos=ROOT"),))])
    both = SentenceScores(np.full((2, 2), -1e33), np.array([[[0.0, 0]] * 2] * 2), ["root", "dep"])
    rules = roots + Rules([Rule("no-root-label", (ArcCondition.parse("label=root"),))])
    (tree,) = decode(both, Sentence.from_words(["w"], upos=["X"]), valid=rules)
    assert len(tree.broken) == 1


def test_a_limit_leaves_no_proof_for_trees_that_break_rules() -> None:
    arcs = np.array([[0.0, 0, 0], [1, 0, 5], [2, 0, 0]])
    problem = Problem.from_arc_scores(arcs, single_root=False)
    sentence = Sentence.from_words(["w"] * 2, upos=["X"] * 2)
    rules = Rules([Rule("left", (ArcCondition.parse("side=left"),))])
    found = solve_valid(
        Candidates(problem, ["dep"], RuledSentence(rules, sentence)),
        lambda _, mods: np.zeros((len(mods), 1)),
        lambda p, k: replace(solve(p, k_best=k), status="work_limit"),
        k_best=3,
    )
    assert [bool(faults) for faults in found.faults] == [True, False, False]
    assert found.solution.proved.tolist() == [False, False, False]
    assert found.solution.upper_bounds.tolist() == [7.0, 3.0, 1.0]
