"""Measure how well time limits hold, and the cost of k best trees.

    python bench/limits.py MODEL DEV [--repeat N]

Solves problems of every kind with limits from 1 ms to 5 s, and lists 1 to 10,000 trees of a dense
problem and of one of the model's. Limits that are not reached do not count. Parse once before, so
that everything is compiled. Writes bench/results/limits.json.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measure import arguments, markdown, peak_memory_mb, write_result

import bbparse
from bbparse import Problem, solve
from bbparse.parser.parser import Parser
from bbparse.treebank import Sentence

LIMITS = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0)
MANY = (1, 10, 100, 1000, 10_000)


def hard(rng: np.random.Generator, n: int, projective: bool, factors: int) -> Problem:
    """All arcs of n words, and factors of pairs of them, strong enough to keep a search busy."""
    problem = Problem.from_arc_scores(rng.normal(size=(n + 1, n + 1)), projective=projective)
    pairs = rng.integers(0, len(problem.arc_head), size=(factors, 2))
    arcs = list(zip(problem.arc_head.tolist(), problem.arc_mod.tolist()))
    return problem.with_factors(
        [([arcs[a], arcs[b]], float(rng.normal(0, 2))) for a, b in pairs if a != b]
    )


def problems(parser: Parser) -> dict[str, tuple[Problem, int]]:
    """Problems by what they are, and how many trees are wanted."""
    rng = np.random.default_rng(0)
    dense = Problem.from_arc_scores(rng.normal(size=(17, 17)))
    words = [str(word) for word in rng.choice(["a", "dog", "saw", "the", "in", ",", "."], 2000)]
    return {
        "16 words, dense, 10,000 trees": (dense, 10_000),
        "60 words, dense, 10,000 trees": (
            Problem.from_arc_scores(rng.normal(size=(61, 61))),
            10_000,
        ),
        "12 words, dense, 400 factors": (hard(rng, 12, True, 400), 1),
        "30 words, dense, 3,000 factors": (hard(rng, 30, True, 3000), 1),
        "30 words, dense, 3,000 factors, crossing": (hard(rng, 30, False, 3000), 1),
        "20 words, 500 factors, crossing, 100 trees": (hard(rng, 20, False, 500), 100),
        "2,000 words of a model": (parser.problem(parser.tagged(Sentence.from_words(words))), 1),
    }


def measured(repeat: int, problem: Problem, **options: Any) -> dict[str, Any]:
    """How a problem ends, and the least seconds that it takes, by the clock and of processor."""
    runs = []
    for _ in range(repeat):
        before = np.array([time.perf_counter(), time.process_time()])
        solution = solve(problem, **options)
        runs.append([time.perf_counter(), time.process_time()] - before)
    seconds, processor = np.min(runs, axis=0).tolist()
    return {
        "seconds": seconds,
        "processor": processor,
        "status": solution.status,
        "trees": len(solution.scores),
    }


def overrun(problem: Problem, k: int, repeat: int) -> dict[str, Any]:
    """What is measured under each limit, up to the first that is not reached."""
    found: dict[str, Any] = {}
    for limit in LIMITS:
        row = found[str(limit)] = measured(repeat, problem, k_best=k, time_limit=limit)
        if row["status"] == "optimal" and row["seconds"] < limit:
            break
    return found


def main() -> None:
    """Measure and write the result."""
    given = arguments(__doc__, "model", "dev", repeat=3)
    parser = Parser.load(given.model)
    rows: dict[str, Any] = {}
    for name, (problem, k) in problems(parser).items():
        solve(problem, k_best=k, time_limit=0.001)
        rows[name] = overrun(problem, k, given.repeat)
        print(name, rows[name], flush=True)
    trained = max(
        (parser.problem(s) for s in list(bbparse.read_conllu(given.dev))[:100]),
        key=lambda p: len(p.arc_head),
    )
    dense = problems(parser)["16 words, dense, 10,000 trees"][0]
    best: dict[str, Any] = {}
    for name, problem in (("dense, 16 words", dense), ("of the model", trained)):
        best[name] = {}
        solve(problem)
        for k in MANY:
            row = measured(given.repeat, problem, k_best=k)
            best[name][str(k)] = {"seconds": row["processor"], "status": row["status"]}
        best[name]["memory_mb"] = peak_memory_mb()
        print(name, best[name], flush=True)

    shown = {
        name: {limit: "{seconds:.2f} ({processor:.2f})".format(**at) for limit, at in row.items()}
        for name, row in rows.items()
    }
    text = markdown(
        "seconds (of processor time) with a limit of",
        shown.items(),
        [(f"{limit:g} s", lambda row, limit=limit: row.get(str(limit), "")) for limit in LIMITS],
    )
    text += "\n" + markdown(
        "processor seconds for the k best, k =",
        best.items(),
        [(f"{k:,}", lambda row, k=k: f"{row[str(k)]['seconds']:.4f}") for k in MANY],
    )
    write_result("limits", {"rows": rows, "k_best": best}, text)


if __name__ == "__main__":
    main()
