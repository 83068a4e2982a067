"""Scores of whole trees, against the list of all trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bbparse import Problem, ProblemError, Solution, solve
from bbparse.runtime.arrays import Float64s, Ints
from tests.fuzz.checks import fault
from tests.fuzz.draw import Case, draw_limit, draw_problem, draw_settings
from tests.oracles.forest import Forest, TooMany, forest

#: No other run has this one.
SEED = 36


def drawn_values(rng: np.random.Generator, trees: Forest) -> Float64s:
    """A value for each tree: of any size, tied, forbidden, depending on its shape or not."""
    count = len(trees.arcs)
    spread = float(np.ptp(trees.high)) if count else 0.0
    kind = str(rng.choice(["normal", "whole", "constant", "against", "few"]))
    scale = float(rng.choice([1.0, max(spread, 1e-12), 10.0 ** float(rng.uniform(-12, 12))]))
    values = {
        "normal": rng.normal(size=count),
        "whole": rng.integers(-3, 2, count).astype(np.float64),
        "constant": np.full(count, float(rng.integers(-2, 3))),
        "against": -trees.high / max(scale, 1e-300) + rng.integers(-1, 2, count),
        "few": np.where(rng.random(count) < 0.1, 1.0, 0.0),
    }[kind]
    values = np.clip(values * scale, -1e100, 1e100)
    if rng.random() < 0.3:
        penalty = float(rng.choice([-np.inf, -np.inf, -1e6, -1e12, -1e38]))
        values[rng.random(count) < rng.choice([0.1, 0.5, 0.95, 1.0])] = penalty
    return values


def with_term(trees: Forest, values: Float64s) -> Forest:
    """The trees with one more term; those for which it is -inf are left out (Dekker 1971)."""
    kept = values > -np.inf
    high, low, size, x = (a[kept] for a in (trees.high, trees.low, trees.size, values))
    total = high + x
    part = total - high
    low = low + ((high - (total - part)) + (x - part))
    both = total + low
    return Forest(trees.arcs[kept], both, low - (both - total), size + np.abs(x))


def verdict(seed: int, index: int) -> str:
    """What is wrong with one random case; or the empty string."""
    rng = np.random.default_rng((seed, index))
    p = draw_problem(rng, small=True)
    try:
        trees = forest(p)
    except TooMany:
        return ""
    values = drawn_values(rng, trees)
    table = {}
    for arcs, value in zip(trees.arcs, values.tolist()):
        labels = () if p.arc_label is None else tuple(p.arc_label[arcs].tolist())
        table[(*p.arc_head[arcs].tolist(),), labels] = value
    finite = values[np.isfinite(values)]
    most = float(finite.max(initial=-1e100)) if len(finite) else 0.0
    most = min(1e100, most + float(rng.choice([0.0, 0.0, 1e-9, 1.0, abs(most)])))
    k = int(rng.choice([1, 1, 1, 2, 3, 5, 10, 20]))
    options: dict[str, Any] = {}
    kind = rng.random()
    if kind < 0.15:
        options |= draw_limit(rng)
        options["method"] = "price-and-cut" if options["method"] == "price-and-cut" else "auto"
    elif kind < 0.25:
        options["gap"] = float(rng.choice([1e-9, 1e-3, 0.1, 1.0]))
    elif kind < 0.4:
        options["tree_limit"] = int(rng.choice([1, 2, 5, 20]))
    elif kind < 0.5:
        options["settings"] = draw_settings(rng)
    elif kind < 0.53:
        options["method"] = str(rng.choice(["ilp", "price-and-cut"]))
    if options.get("method", "auto") != "auto" and p.n_words > 3:  # each tree takes them long
        options["tree_limit"] = int(rng.choice([1, 2, 8]))
    elif len(trees.arcs) > 400:  # longer lists of problems out of proportion take long, too
        options.setdefault("tree_limit", 100)
    seen: set[Any] = set()

    def look(heads: Ints, labels: Ints | None) -> float:
        tree = (*heads[1:].tolist(),), () if labels is None else (*labels.tolist(),)
        if tree in seen:
            raise ValueError("a tree is scored twice")
        seen.add(tree)
        return float(table[tree])

    asked = Case("whole trees", (seed, index), p, k, options)
    answer = solve(p, k_best=k, explain=False, tree_score=look, at_most=most, **options)
    if answer.stats["trees_scored"] != len(seen):
        return f"{answer.stats['trees_scored']} trees are said to be scored, not {len(seen)}"
    return fault(p, answer, with_term(trees, values), asked)


def test_all_of_a_tie_are_not_looked_at() -> None:
    """The bound of equal scores is their own, whatever rounding could hide."""
    for scale in (1.0, 0.25, 1e9, 7.0):
        p = Problem.from_arc_scores(np.full((7, 7), scale))
        for value in (0.0, -3.0, 5.0):
            s = solve(p, tree_score=lambda heads, labels: value, at_most=value)  # noqa: B023
            assert s.status == "optimal" and s.stats["trees_scored"] == 1
            assert s.scores[0] == 6.0 * scale + value


def test_no_tree_is_allowed() -> None:
    p = Problem.from_arc_scores(np.zeros((4, 4)))
    s = solve(p, tree_score=lambda heads, labels: -np.inf)
    assert s.status == "infeasible" and not len(s)
    assert s.conflict == ("tree_score is -inf for all 7 trees",)
    none = solve(Problem(2, [0, 0], [1, 2], [0.0, 0.0]), tree_score=lambda heads, labels: 0.0)
    assert none.status == "infeasible" and none.stats["trees_scored"] == 0
    assert "tree_score" not in none.conflict[0]
    cut = solve(p, tree_score=lambda heads, labels: -np.inf, tree_limit=3)
    assert cut.status == "tree_limit" and cut.stats["trees_scored"] == 3


def test_a_limit_on_work_is_one_for_all_lists() -> None:
    rng = np.random.default_rng(3)
    p = Problem.from_arc_scores(rng.normal(size=(11, 11)))
    pairs = [rng.choice(np.arange(1, 11), 3, replace=False).tolist() for _ in range(120)]
    p = p.with_factors([([(g, h), (h, m)], 3.0 * rng.normal()) for g, h, m in pairs])

    def searched(**limits: Any) -> Solution:
        return solve(p, tree_score=lambda heads, labels: -2.0 * float(heads.max()), **limits)

    whole = searched(tree_limit=200)
    work = whole.work
    assert whole.stats["lists"] > 2
    cut = searched(tree_limit=200, work_limit=0.5 * work)
    assert cut.work < 0.6 * work


def _raises(heads: Ints, labels: Ints | None) -> float:
    raise ValueError("no\nsuch tree")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tree_score": lambda h, _: math.nan}, "heads 0 1 1 is nan, expected a number from"),
        ({"tree_score": lambda h, _: math.inf}, "is inf, expected a number from -1e.100 to 0, or"),
        ({"tree_score": lambda h, _: 2, "at_most": 1}, "is 2.0, expected a number from .* to 1, "),
        ({"tree_score": lambda h, _: "1"}, "is '1', expected a number"),
        ({"tree_score": lambda h: 0.0}, "heads 0 1 1: TypeError"),
        ({"tree_score": _raises}, "heads 0 1 1: ValueError: no such tree"),
        ({"tree_score": 3}, "tree_score is 3, expected a function"),
        ({"tree_score": _raises, "at_most": math.inf}, "at_most is inf, expected"),
        ({"tree_score": _raises, "tree_limit": 0}, "tree_limit is 0, expected at least 1"),
        ({"tree_score": _raises, "proof": True}, "a proof or an observer is not supported"),
        ({"at_most": 1.0}, "at_most and tree_limit are only valid with"),
    ],
)
def test_what_is_no_score(options: dict[str, Any], words: str) -> None:
    p = Problem.from_arc_scores(np.eye(4))
    with pytest.raises(ProblemError, match=words) as caught:
        solve(p, **options)
    assert "\n" not in str(caught.value)


FIRST = [0, 100, *(pytest.param(i, marks=pytest.mark.fuzz) for i in range(300, 10_300, 100))]


@pytest.mark.parametrize("first", FIRST)
def test_random_functions_of_trees(first: int) -> None:
    """They are compared with the list of all trees."""
    numbers = range(first, first + 100)
    wrong = [f"{i}: {said}" for i in numbers if (said := verdict(SEED, i))]
    assert not wrong, "\n".join(wrong)
