"""Which multiplier update needs the fewest dynamic programs.

    python bench/multipliers.py [--model MODEL --dev DEV] [--every 10] [--limit 100]

Problems: random ones with siblings and factors of mixed sign (`random_problems.random_large`), hard
ones with factors as heavy as arcs, and, with a model, those of a treebank, with the factors'
scores as they are and multiplied, which makes bounds looser. All updates solve the same problems
with the same settings otherwise. Writes bench/results/multipliers.json and .md.

DP calls count an inside-outside pass as three; full-size calls count each by the share of the
hyperedges that elimination left. Times are process time, of the search only.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from pathlib import Path

import numpy as np
from measure import arguments, markdown, write_result
from random_problems import random_large, with_pairs

from bbparse.parsing.parser import Parser
from bbparse.problem import Problem, Solution
from bbparse.search.settings import DEFAULT, METHODS, SearchSettings
from bbparse.solving.solve import solve
from bbparse.treebank import read_conllu

UPDATES: dict[str, SearchSettings] = {name: DEFAULT.with_(method=name) for name in METHODS}
# The paper stops early by its own rule; as published it has more calls and no elimination.
UPDATES["paper, no elimination"] = DEFAULT.with_(method="paper", eliminate_every=0)
COLUMNS = (
    ("DP calls", lambda r: f"{r['dp_calls']:.1f}"),
    ("full-size calls", lambda r: f"{r['full_size_calls']:.2f}"),
    ("nodes", lambda r: f"{r['nodes']:.1f}"),
    ("closed at root", lambda r: f"{r['closed_at_root']:.1%}"),
    ("within 3 nodes", lambda r: f"{r['within_three_nodes']:.1%}"),
    ("proved", lambda r: f"{r['proved']:.1%}"),
    ("ms", lambda r: f"{r['ms']:.2f}"),
)


def with_factors_times(problem: Problem, times: float) -> Problem:
    """The problem with its factors' scores multiplied."""
    return dataclasses.replace(problem, factor_score=times * problem.factor_score)


def problem_sets(model: str | None, dev: str | None, every: int) -> dict[str, list[Problem]]:
    """Problems by name of the set."""
    rng = np.random.default_rng(1)
    sets = {
        "random, 8 to 25 words": [random_large(rng, int(rng.integers(8, 26))) for _ in range(60)],
        "hard, 25 words, 250 pairs": [with_pairs(rng, 25, 250) for _ in range(20)],
    }
    if model is None or dev is None:
        return sets
    parser = Parser.load(model)
    sentences = list(read_conllu(dev))[::every]
    problems = [parser.problem(sentence) for sentence in sentences]
    name = f"{Path(dev).stem}, every {every}th"
    sets[name] = problems
    for times in (3.0, 10.0):
        sets[f"{name}, factors x {times:g}"] = [with_factors_times(p, times) for p in problems]
    return sets


def run(
    problems: list[Problem], settings: SearchSettings, limit: int, backbone: str | None
) -> dict:
    """Solve all and count."""
    solutions: list[Solution] = []
    seconds = 0.0
    for problem in problems:
        started = time.process_time()
        found = solve(
            problem, settings=settings, node_limit=limit, backbone=backbone, explain=False
        )
        seconds += time.process_time() - started
        solutions.append(found)

    def mean(name: str) -> float:
        return statistics.fmean(s.stats.get(name, 0) for s in solutions)

    return {
        "problems": len(problems),
        "dp_calls": mean("dp_calls"),
        "full_size_calls": mean("dp_work"),
        "nodes": mean("nodes"),
        "closed_at_root": mean("closed_at_root"),
        "within_three_nodes": statistics.fmean(
            s.stats.get("nodes", 0) <= 3 and bool(s.proved.all()) for s in solutions
        ),
        "proved": statistics.fmean(bool(s.proved.all()) for s in solutions),
        "ms": 1e3 * seconds / len(problems),
    }


def table(results: dict[str, dict[str, dict]]) -> str:
    """The results as Markdown."""
    return "\n".join(
        f"{name} ({next(iter(by_update.values()))['problems']} problems)\n\n"
        + markdown("update", by_update.items(), COLUMNS)
        for name, by_update in results.items()
    )


def main() -> None:
    """Read the arguments, solve, write."""
    given = arguments(__doc__, model=str, dev=str, every=10, limit=100)
    results: dict[str, dict[str, dict]] = {}
    for name, problems in problem_sets(given.model, given.dev, given.every).items():
        backbone = None if name.startswith(("random", "hard")) else "grandsib"
        results[name] = {}
        for settings in UPDATES.values():  # loads the compiled code
            solve(problems[0], settings=settings, backbone=backbone)
        for update, settings in UPDATES.items():
            results[name][update] = run(problems, settings, given.limit, backbone)
            print(name, update, results[name][update], flush=True)
    write_result("multipliers", {"node_limit": given.limit, "sets": results}, table(results))


if __name__ == "__main__":
    main()
