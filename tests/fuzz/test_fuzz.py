"""Random cases of all kinds and proportions; `bench/exactness.py` runs as many as are wanted."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem, Solution
from bbparse.core.parts import FIELDS
from bbparse.inference.solve import solve
from tests.fuzz.checks import fault
from tests.fuzz.draw import Case, draw
from tests.fuzz.run import Notes
from tests.fuzz.shrink import code, shrink, verdict
from tests.inference.search.helpers import SETTINGS
from tests.oracles.forest import forest, forest_of

#: No other run has this one.
SEED = 400
PROGRAM = {"method": "ilp", "backbone": None}


@pytest.mark.parametrize("first", range(0, 800, 100))
def test_nothing_is_wrong(first: int) -> None:
    """A few of the cases that `bench/exactness.py` runs by the thousand."""
    wrong = [
        f"python bench/exactness.py --only {SEED}:{index}: {said}"
        for index in range(first, first + 100)
        if (said := verdict(draw(SEED, index)))
    ]
    assert not wrong, "\n".join(wrong)


#: Rounded multipliers of proofs; weights below the least number; bounds of agreement that rose; a
#: gap beyond the one asked for; trees that tie; tiny scores without a proof; nodes without trees;
#: a tolerance that only the last of the k best excuses.
WRONG_ONCE = [
    (1, 546, ""), (1, 2706, ""), (11, 8986, ""), (1, 121, "gap"), (1, 356, "gap"), (1, 442, "gap"),
    (12, 7906, ""), (11, 14396, ""), (21, 1006, "proof"), (77, 969, ""), (77, 4358, ""),
    (77, 5804, ""), (303, 15009, ""),
]  # fmt: skip


@pytest.mark.parametrize(("seed", "index", "kind"), WRONG_ONCE)
def test_what_was_wrong_once(seed: int, index: int, kind: str) -> None:
    assert verdict(draw(seed, index, kind)) == ""


def wrong_ones(cases: Iterable[Case], notes: Notes) -> list[str]:
    """What is wrong with each that is not as it must be; ``notes`` counts what was met."""
    found = ((case, verdict(case, notes)) for case in cases)
    return [f"{case.seed}: {said}: {code(case)}" for case, said in found if said]


@pytest.mark.parametrize(
    ("kind", "count", "options", "met"),
    [
        ("batch", 150, {}, ""),
        ("batch", 12, PROGRAM, ""),
        ("ilp", 80, {}, "optimal"),
        ("pricing", 150, {}, "optimal"),
        ("gap", 100, {}, "gap"),
        ("limit", 100, {}, "node_limit"),
        ("proof", 200, {}, "lie: infeasible"),
        ("proof", 15, PROGRAM, "optimal"),
        ("large", 40, {}, "large: search: optimal"),
        ("agree", 400, {}, "agree: optimal"),
    ],
)
def test_more_of_a_kind(kind: str, count: int, options: dict[str, Any], met: str) -> None:
    notes: Notes = Counter()
    cases = (draw(SEED + 1, index, kind) for index in range(count))
    asked = (dataclasses.replace(one, options={**one.options, **options}) for one in cases)
    assert not wrong_ones(asked, notes)
    assert not met or notes[met] > 5


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_all_kinds(name: str) -> None:
    """Limits and gaps among them, which end a weak search early."""
    notes: Notes = Counter()
    limits: list[dict[str, Any]] = [{}, {}, {"node_limit": 4}, {"gap": 0.1}]
    cases = []
    for index in range(240):
        case = draw(SEED + 2, index, "search")
        options = {**case.options, "settings": SETTINGS[name], **limits[index % 4]}
        cases.append(dataclasses.replace(case, options=options))
    assert not wrong_ones(cases, notes)
    assert name != "branching only" or min(notes["node_limit"], notes["gap"]) > 1


def test_a_case_depends_on_its_numbers_alone() -> None:
    for index in range(40):
        one, again = draw(5, index), draw(5, index)
        assert (one.kind, one.k_best, one.options) == (again.kind, again.k_best, again.options)
        if one.problem is not None and again.problem is not None:
            np.testing.assert_array_equal(one.problem.arc_score, again.problem.arc_score)


def rows_of(s: Solution, rows: list[int], **changes: Any) -> Solution:
    """A solution of some of the trees."""
    names = ("heads", "arcs", "scores", "upper_bounds", "proved")
    return dataclasses.replace(s, **{name: getattr(s, name)[rows] for name in names} | changes)


def test_faults_are_seen() -> None:
    """A penalty that no tree of the answer pays excuses nothing."""
    p = Problem(
        3,
        [0, 0, 1, 2, 3, 1],
        [1, 2, 2, 3, 1, 3],
        [1e-9, 0.0, 5e-10, 2e-9, -1e11, 0.0],
        single_root=False,
    )
    trees = forest(p)
    three = solve(p, k_best=3)
    case = Case("search", (0, 0), p, 2)
    s = rows_of(three, [0, 1])
    assert fault(p, s, trees, case) == ""
    for words, answer in {
        "tree 1 of 2": rows_of(three, [1, 2]),
        "tree 2 of 2": rows_of(three, [0, 2]),
        "expected 2 of": rows_of(three, [0]),
        "status optimal": rows_of(three, []),
        "infeasible": rows_of(three, [0, 1], status="infeasible"),
        "is said to score": rows_of(three, [0, 1], scores=s.scores * [1.0 + 1e-12, 1.0]),
        "twice": rows_of(three, [0, 0]),
        "are not those of the arcs": rows_of(three, [0, 1], heads=s.heads[::-1]),
        "without such a limit": rows_of(three, [0, 1], status="node_limit"),
        "not all are proved": rows_of(three, [0, 1], proved=np.array([True, False])),
    }.items():
        none = words.startswith("status")
        known = forest_of(p, np.zeros((0, 3))) if none else trees
        assert words in fault(p, answer, known, case)


def test_a_failing_case_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(case: Case, notes: object) -> str:
        scores = case.problem.factor_score if case.problem is not None else np.zeros(0)
        return f"a factor of {scores.min()}" if (scores < -1.0).any() else ""

    monkeypatch.setattr("tests.fuzz.shrink.run", run)
    case = next(c for c in (draw(4, i) for i in range(100)) if c.problem is not None and verdict(c))
    small = shrink(case)
    assert verdict(small)
    assert small.problem is not None
    assert len(small.problem.factor_score) == 1 and len(small.problem.count_score) == 0
    assert small.k_best == 1 and len(small.problem.arc_head) <= 5


def test_a_case_is_said_as_python() -> None:
    def asked(problem: Problem, **options: Any) -> tuple[Problem, int]:
        return problem, options["k_best"]

    for index in range(60):
        case = draw(6, index)
        if case.problem is None:
            continue
        plain = dataclasses.replace(case, options={})
        names = {"Problem": Problem, "np": np, "solve": asked}
        problem, k = eval(code(plain).partition(": ")[2], names)
        assert k == case.k_best
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(problem, name), getattr(case.problem, name))
