"""How often `solve` disagrees with answers found otherwise, and how hard problems become.

    python bench/exactness.py small  [--problems 200000] [--seed 1]   # against enumeration, n <= 7
    python bench/exactness.py large  [--problems 2000]                # against HiGHS, n = 8..40
    python bench/exactness.py growth                                  # factors and their weights

Run it from the checkout: the generator of random problems and the enumeration are those of the
tests. Each mode writes bench/results/exactness-MODE.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bbparse.problem import FIELDS, Problem, Solution  # noqa: E402
from bbparse.solve import solve  # noqa: E402
from tests.oracles.enumerate import enumerate_trees  # noqa: E402
from tests.oracles.ilp import Undecided, best_trees  # noqa: E402
from tests.strategies import random_problem  # noqa: E402

# Trees to enumerate grow as 8^n (projective) and faster (all); most problems are small.
_SIZES = (1, 2, 3, 4, 5, 6, 7)
_SHARES = (0.05, 0.15, 0.25, 0.25, 0.2, 0.08, 0.02)


def spread(problem: Problem) -> float:
    """The sum of all magnitudes, of which rounding errors are a tiny share."""
    arrays = [getattr(problem, name) for name in FIELDS if name.endswith("_score")]
    return float(sum(np.abs(a[np.isfinite(a)]).sum() for a in arrays))


def differs(problem: Problem, answer: Solution, expected: list[tuple], k: int) -> str:
    """What is wrong with the k best trees, or the empty string.

    Trees of one score may come in any order, and which of those tied with the k-th are given is
    open; apart from that the sets must be the same.
    """
    wanted = expected[:k]
    if len(answer) != len(wanted):
        return f"{len(answer)} trees, expected {len(wanted)}"
    slack = 1e-11 * spread(problem)
    scores = {tuple(arcs): score for score, arcs in expected}
    seen = set()
    for arcs, score, (best, _) in zip(answer.arcs.tolist(), answer.scores, wanted):
        if abs(score - best) > slack:
            return f"score {score}, expected {best}"
        if abs(scores.get(tuple(arcs), np.inf) - score) > slack:
            return f"tree {arcs} does not score {score}"
        seen.add(tuple(arcs))
    if len(seen) < len(wanted):
        return "a tree is there twice"
    last = wanted[-1][0] if wanted else 0.0
    missing = [arcs for score, arcs in wanted if score > last + slack and tuple(arcs) not in seen]
    return f"tree {missing[0]} is missing" if missing else ""


def small(count: int, seed: int) -> dict[str, Any]:
    """Random problems of every kind against enumeration."""
    rng = np.random.default_rng(seed)
    kinds: Counter[str] = Counter()
    wrong: list[str] = []
    nodes = calls = 0
    hardest = (0, 0)
    for number in range(count):
        n = int(rng.choice(_SIZES, p=_SHARES))
        counts = int(rng.choice([0, 4]))
        problem = random_problem(rng, min_words=min(n, 5), max_words=n, max_counts=counts)
        k = int(rng.integers(1, 21))
        expected = [(float(s), tuple(a)) for s, a in enumerate_trees(problem)]
        answer = solve(problem, k_best=k)
        fault = differs(problem, answer, expected, k)
        if fault:
            wrong.append(f"problem {number} of seed {seed}: {fault}: {problem!r}")
        nodes += int(answer.stats.get("nodes", 0))
        calls += int(answer.stats.get("dp_calls", 0))
        hardest = max(hardest, (int(answer.stats.get("nodes", 0)), number))
        kinds["projective" if problem.projective else "non-projective"] += 1
        kinds["single root" if problem.single_root else "several roots"] += 1
        kinds["labelled" if problem.arc_label is not None else "unlabelled"] += 1
        kinds["with count factors"] += len(problem.count_ptr) > 1
        kinds["infeasible"] += not expected
    return {
        "problems": count, "seed": seed, "disagreements": wrong, "kinds": dict(kinds),
        "nodes": nodes / count, "dp_calls": calls / count, "most_nodes": hardest[0],
        "hardest": hardest[1],
    }  # fmt: skip


def random_large(rng: np.random.Generator, n: int) -> Problem:
    """A problem of n words: up to six heads a word, siblings, factors of mixed sign."""
    pairs = set()
    for m in range(1, n + 1):
        near = [h for h in range(max(0, m - 8), min(n, m + 8) + 1) if h != m]
        picks = rng.choice(near, size=min(len(near), int(rng.integers(2, 7))), replace=False)
        pairs.update((int(h), m) for h in picks)
        pairs.add((m - 1, m))  # so that there is a tree
    arcs = np.array(sorted(pairs), np.int32)
    factors = int(rng.integers(0, 6 * n))
    sets = [
        rng.choice(len(arcs), size=int(rng.integers(2, 4)), replace=False) for _ in range(factors)
    ]
    weights = rng.normal(size=factors) * rng.choice([0.1, 0.5, 1.0])
    sib = [
        (h, s, m)
        for h, m in arcs.tolist()
        for s in [-1, *(x for g, x in arcs.tolist() if g == h and min(h, m) < x < max(h, m))]
    ]
    sib_array = np.array(sib, np.int32)
    return Problem(
        n, arcs[:, 0], arcs[:, 1], rng.normal(size=len(arcs)),
        sib_head=sib_array[:, 0], sib_inner=sib_array[:, 1], sib_outer=sib_array[:, 2],
        sib_score=0.5 * rng.normal(size=len(sib)),
        factor_ptr=np.cumsum([0, *(len(s) for s in sets)]),
        factor_arcs=np.concatenate(sets) if sets else np.zeros(0, np.int32),
        factor_score=weights, single_root=bool(rng.integers(2)),
    )  # fmt: skip


def large(count: int, seed: int) -> dict[str, Any]:
    """Random problems of 8 to 40 words against an integer program."""
    rng = np.random.default_rng(seed)
    wrong: list[str] = []
    undecided = 0
    ours = theirs = 0.0
    nodes = []
    for number in range(count):
        problem = random_large(rng, int(rng.integers(8, 41)))
        started = time.perf_counter()
        answer = solve(problem, time_limit=60.0)
        ours += time.perf_counter() - started
        nodes.append(int(answer.stats.get("nodes", 0)))
        started = time.perf_counter()
        try:
            expected = best_trees(problem, 1, 60.0)
        except Undecided:
            undecided += 1
            continue
        finally:
            theirs += time.perf_counter() - started
        score = float(expected[0][0])
        if answer.status != "optimal" or abs(answer.scores[0] - score) > 1e-9 * spread(problem):
            wrong.append(f"problem {number} of seed {seed}: {answer!r}, HiGHS has {score}")
    return {
        "problems": count, "seed": seed, "disagreements": wrong, "undecided_by_highs": undecided,
        "seconds": ours, "seconds_highs": theirs, "median_nodes": float(np.median(nodes)),
        "most_nodes": max(nodes),
    }  # fmt: skip


def growth(seed: int) -> dict[str, Any]:
    """25 words, five heads each: nodes, calls and time as factors and their weights grow."""
    rows = []
    for factors in (10, 100, 1000, 10000):
        for weight in (0.1, 0.3, 1.0, 3.0, 10.0):
            rng = np.random.default_rng(seed)
            times, nodes, calls, gaps = [], [], [], []
            for _ in range(5):
                n = 25
                pairs = {(m - 1, m) for m in range(1, n + 1)}
                for m in range(1, n + 1):
                    others = [h for h in range(n + 1) if h != m]
                    pairs.update((int(h), m) for h in rng.choice(others, size=4, replace=False))
                arcs = np.array(sorted(pairs), np.int32)
                sets = [rng.choice(len(arcs), size=2, replace=False) for _ in range(factors)]
                problem = Problem(
                    n, arcs[:, 0], arcs[:, 1], rng.normal(size=len(arcs)),
                    factor_ptr=2 * np.arange(factors + 1), factor_arcs=np.concatenate(sets),
                    factor_score=weight * rng.normal(size=factors),
                )  # fmt: skip
                started = time.perf_counter()
                answer = solve(problem, time_limit=10.0)
                times.append(time.perf_counter() - started)
                nodes.append(int(answer.stats["nodes"]))
                calls.append(int(answer.stats["dp_calls"]))
                gaps.append(float(answer.upper_bounds[0] - answer.scores[0]))
            rows.append({
                "factors": factors, "weight": weight, "seconds": float(np.median(times)),
                "nodes": float(np.median(nodes)), "dp_calls": float(np.median(calls)),
                "proved": sum(gap <= 1e-9 for gap in gaps), "gap": float(np.median(gaps)),
            })  # fmt: skip
            print(rows[-1], flush=True)
    return {"words": 25, "problems_each": 5, "time_limit": 10.0, "rows": rows}


def main() -> None:
    """Run one mode and write its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("small", "large", "growth"))
    parser.add_argument("--problems", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    started = time.perf_counter()
    if given.mode == "small":
        result = small(given.problems or 200_000, given.seed)
    elif given.mode == "large":
        result = large(given.problems or 2_000, given.seed)
    else:
        result = growth(given.seed)
    result["wall_seconds"] = time.perf_counter() - started
    text = json.dumps(result, indent=1)
    out = HERE / "results"
    out.mkdir(exist_ok=True)
    (out / f"exactness-{given.mode}.json").write_text(text + "\n")
    print(text)
    raise SystemExit(bool(result.get("disagreements")))


if __name__ == "__main__":
    main()
