"""The best valid trees of random problems, against all trees with all labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bbparse.core.order import sort_arcs
from bbparse.inference.solve import solve
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.conditions import KINDS, ArcCondition
from bbparse.parser.validity.constraints import Candidates
from bbparse.parser.validity.lazily import solve_valid
from bbparse.parser.validity.rules import Rule, Rules
from bbparse.runtime.errors import ProblemError
from bbparse.treebank import Sentence
from tests.oracles.enumerate import TreeScorer, enumerate_trees, trees
from tests.oracles.rules import broken
from tests.strategies import random_problem

NAMES = ("nsubj", "nsubj:pass", "obj", "punct")
TAGS = ("NOUN", "VERB", "PUNCT")


def random_condition(rng: np.random.Generator) -> ArcCondition:
    signs = rng.choice(["=", "=", "!="], 3)
    parts = [f"label{signs[0]}{rng.choice([*NAMES, 'nsubj|punct', 'obj|nsubj:pass'])}"]
    if rng.random() < 0.3:
        parts.append(f"side={rng.choice(['left', 'right'])}")
    for role, sign in (("head", signs[1]), ("mod", signs[2])):
        if rng.random() < 0.3:
            tags = [*TAGS, "ROOT"] if role == "head" else TAGS
            parts.append(f"{role}.upos{sign}{rng.choice(tags)}")
    return ArcCondition.parse(" ".join(parts[int(rng.random() < 0.15) :]))


def random_rules(rng: np.random.Generator) -> Rules:
    rules = []
    for number in range(int(rng.integers(1, 5))):
        kind = str(rng.choice(KINDS))
        arc = random_condition(rng)
        other = arc if rng.random() < 0.3 else random_condition(rng)
        if kind == "crossing" and rng.random() < 0.4:
            other = ArcCondition(())
        unless = random_condition(rng) if rng.random() < 0.2 else None
        rules.append(Rule(f"r{number}", (arc,), kind, (other,) if kind else (), unless))
    return Rules(rules)


def check_one(seed: int) -> str:
    rng = np.random.default_rng(seed)
    base = random_problem(
        rng,
        max_words=5 if rng.random() < 0.2 else 4,
        labelled=False,
        scale=str(rng.choice(["halves", "ties", "normal"])),
        max_factors=6,
        max_counts=2 if rng.random() < 0.3 else 0,
    )
    base = sort_arcs(base)[0]
    n = base.n_words
    sentence = Sentence.from_words(["w"] * n, upos=[str(rng.choice(TAGS)) for _ in range(n)])
    rules = random_rules(rng)
    names = NAMES if n < 5 else NAMES[1:3]  # there are 4 ** 5 ways to label a tree
    table = rng.integers(-4, 1, (n + 1, n + 1, len(names))).astype(np.float64)
    table[rng.random(table.shape) < 0.05] = -np.inf
    table[..., 0] = np.maximum(table[..., 0], -3)
    k = int(rng.choice([1, 1, 3, 8]))
    got = solve_valid(
        Candidates(base, names, RuledSentence(rules, sentence)),
        lambda h, m: table[h, m],
        lambda p, k: solve(p, k_best=k, explain=False),
        k_best=k,
    )
    score = TreeScorer(base)
    best = {}
    for arcs in trees(base):
        own = score(arcs)
        if own == -np.inf:
            continue
        heads = base.arc_head[list(arcs)].tolist()
        rows = [table[h, m] - table[h, m].max() for m, h in enumerate(heads, start=1)]
        for numbers in product(range(len(names)), repeat=n):
            total = own + sum(row[i] for row, i in zip(rows, numbers))
            if total == -np.inf:
                continue
            faults = len(broken(rules, sentence, heads, [names[i] for i in numbers]))
            key = tuple(heads)
            if key not in best or (-faults, total) > best[key]:
                best[key] = (-faults, total)
    wanted = sorted(best.values(), reverse=True)
    if not wanted:
        assert got.solution.status == "infeasible" and not len(got.solution)
        return "none"
    assert got.solution.status == "optimal"
    valid = [total for minus, total in wanted if minus == 0][:k]
    for heads, labels, faults in zip(got.solution.heads, got.labels, got.faults):
        found = broken(rules, sentence, heads[1:].tolist(), labels)
        assert len(found) == len(faults)
    if valid:
        np.testing.assert_allclose(got.solution.scores, valid, atol=1e-9)
        assert not any(got.faults)
        for arcs, labels, total in zip(got.solution.arcs, got.labels, got.solution.scores):
            rows = [table[base.arc_head[a], m] for m, a in enumerate(arcs.tolist(), start=1)]
            lost = sum(row[names.index(i)] - row.max() for row, i in zip(rows, labels))
            assert abs(score(tuple(arcs.tolist())) + lost - total) < 1e-9
        return f"valid {got.solution.stats['rounds'] > 1} k={k}"
    minus, total = wanted[0]
    assert len(got.faults[0]) == -minus
    np.testing.assert_allclose(got.solution.scores, [total], atol=1e-9)
    return "conflict"


def check_at_once(seed: int) -> bool:
    """All rules at once, as factors of a problem with labels."""
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng, max_words=4, labelled=bool(rng.random() < 0.8), max_factors=4, max_counts=1
    )
    n = problem.n_words
    sentence = Sentence.from_words(["w"] * n, upos=[str(rng.choice(TAGS)) for _ in range(n)])
    rules = random_rules(rng)
    names = NAMES if problem.arc_label is not None else ()
    try:
        ruled = rules.onto(problem, sentence, names)
    except ProblemError as error:
        assert "crossing" in str(error) and not problem.projective
        return False

    def keeps(arcs: tuple[int, ...]) -> bool:
        heads = problem.arc_head[list(arcs)].tolist()
        labels = [""] * n
        if problem.arc_label is not None:
            labels = [NAMES[i] for i in problem.arc_label[list(arcs)]]
        return not broken(rules, sentence, heads, labels)

    wanted = [(score, arcs) for score, arcs in enumerate_trees(problem) if keeps(arcs)]
    assert sorted(arcs for _, arcs in wanted) == sorted(arcs for _, arcs in enumerate_trees(ruled))
    found = solve(ruled, explain=False)
    np.testing.assert_allclose(found.scores, [score for score, _ in wanted[:1]], rtol=1e-12)
    return True


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_all_rules_at_once(first: int) -> None:
    assert sum(check_at_once(seed) for seed in range(first, first + 50)) > 25


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_against_enumeration(first: int) -> None:
    for seed in range(first, first + 25):
        check_one(seed)


@pytest.mark.parametrize("seed", range(40))
def test_trees_that_break_rules_are_suspects(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rules = sum((random_rules(rng) for _ in range(rng.choice((1, 40)))), Rules(()))
    trees, expected = [], set()
    for i in range(30):
        n = int(rng.integers(1, 7))
        sentence = Sentence.from_words(["w"] * n, upos=rng.choice(TAGS, n).tolist())
        heads = [int(rng.choice([h for h in range(n + 1) if h != m])) for m in range(1, n + 1)]
        trees.append((sentence, heads, rng.choice(NAMES, n).tolist()))
        if RuledSentence(rules, sentence).faults(*trees[-1][1:], True):
            expected.add(i)
    suspects = rules.suspects(trees)
    is_exact = all(not rule.unless and rule.kind != "inside" for rule in rules.rules)
    assert len(suspects) == len({*suspects}) and expected <= {*suspects}
    assert not is_exact or expected == {*suspects}
