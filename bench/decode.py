"""Time bbparse and general solvers on the problems of a trained model.

    python bench/decode.py MODEL DEV [--k 10] [--sentences 100] [--time-limit 60]
        [--solvers default,highs,toulbar2,ad3]

Each solver finds the best trees of the same random dev sentences, in a process of its own, on one
thread. Packages: highspy, pytoulbar2, ad3; those that are not installed are left out and named.
bench/rivals encodes the problems for each. Times are the solvers' own; encoding (in Python) is
measured separately. AD3 solves a relaxation: "proved" then means an integral relaxation. Writes
bench/results/decode.json and .md.
"""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import time
from collections import deque
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from measure import arguments, markdown, read_sample, write_result

from bbparse.apps.cli.options import prune_number
from bbparse.core import Problem
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import WorkerError
from bbparse.runtime.pool import as_they_end

# name → (title, module and function, package)
SOLVERS = {
    "default": ("bbparse", "rivals.ours:solve", ""),
    "highs": ("HiGHS, flows", "rivals.ours:solve_ilp_by_highs", "highspy"),
    "toulbar2": ("toulbar2", "rivals.toulbar:solve", "pytoulbar2"),
    "ad3": ("AD3, approximate", "rivals.ad3_graph:solve", "ad3"),
}
EQUAL = 1e-6


def answer_of(solver: str, time_limit: float, task: tuple[float, Problem]) -> dict[str, Any]:
    """What a solver says of a problem; a process that takes longer than patience ends itself."""
    patience, problem = task
    faulthandler.dump_traceback_later(patience, exit=True)
    module, _, function = solver.partition(":")
    answer = getattr(importlib.import_module(module), function)(problem, time_limit)
    good = answer.arcs is not None and problem.is_feasible(answer.arcs)
    return {
        "seconds": answer.seconds,
        "building": answer.building,
        "proved": answer.proved,
        "score": problem.score(answer.arcs) if good else None,
    }


def run(name: str, problems: list[Problem], time_limit: float) -> list[dict[str, Any]]:
    """The rows of a solver, in a process of its own.

    Not every solver looks at the clock: where a process takes much longer than the limit, another
    one goes on with the next problem.
    """
    rows: list[dict[str, Any]] = []
    patience = 2.0 * time_limit + 30.0
    work = partial(answer_of, SOLVERS[name][1], time_limit)
    # the first one compiles
    tasks = [(10.0 * patience, min(problems, key=lambda problem: len(problem.arc_head)))]
    tasks += [(patience, problem) for problem in problems]
    with closing(as_they_end(work, deque(tasks), 1)) as ended:
        started = time.perf_counter()
        for number, (task, future) in enumerate(ended):
            died = isinstance(future.exception(), WorkerError)
            if died and time.perf_counter() - started < task[0]:
                raise SystemExit(f"the process of {name} died at problem {number}")
            ended_row = {
                "seconds": time_limit,
                "building": 0.0,
                "proved": False,
                "score": None,
                "ended": True,
            }
            rows.append(ended_row if died else future.result())
            started = time.perf_counter()
    return rows[1:]


def summary(
    rows: list[dict[str, Any]], ours: list[dict[str, Any]], spreads: list[float]
) -> dict[str, Any]:
    """Times, proofs, and how the scores compare with ours."""
    gaps = [
        None if row["score"] is None else (row["score"] - our["score"]) / spread
        for row, our, spread in zip(rows, ours, spreads)
    ]
    seconds = [row["seconds"] for row in rows]
    return {
        "median_ms": 1000 * median(seconds),
        "mean_ms": 1000 * fmean(seconds),
        "slowest_ms": 1000 * max(seconds),
        "median_ms_with_building": 1000 * median(r["seconds"] + r["building"] for r in rows),
        "median_ratio": median(s / our["seconds"] for s, our in zip(seconds, ours)),
        "proved": fmean(row["proved"] for row in rows),
        "ended": sum(row.get("ended", False) for row in rows),
        "same_score": fmean(gap is not None and abs(gap) <= EQUAL for gap in gaps),
        "better_than_ours": sum(gap is not None and gap > EQUAL for gap in gaps),
        "proved_and_worse": sum(
            row["proved"] and (gap is None or gap < -EQUAL) for row, gap in zip(rows, gaps)
        ),
        "rows": rows,
    }


COLUMNS = """
    median, ms {median_ms:.2f} | mean, ms {mean_ms:.2f} | slowest, ms {slowest_ms:.0f}
    | median with building, ms {median_ms_with_building:.1f}
    | ratio to bbparse, median {median_ratio:,.1f} | proved, % {proved:.0p}
    | same score, % {same_score:.0p} | better than bbparse {better_than_ours}"""


def main() -> None:
    """Export, run all solvers, compare."""
    given = arguments(
        __doc__,
        "model",
        "dev",
        k="10",
        sentences=100,
        least=2,
        time_limit=60.0,
        solvers=",".join(SOLVERS),
    )
    names = dict.fromkeys(["default", *given.solvers.split(",")])
    for name in names:
        if name not in SOLVERS:
            raise SystemExit(f"no solver {name!r}; there are {', '.join(SOLVERS)}")
    parser = Parser.load(given.model)
    long_enough = [s for s in read_sample(given.dev, 10**9) if s.n_words >= given.least]
    rng = np.random.default_rng(1)
    picked = rng.permutation(len(long_enough))[: given.sentences]
    sentences = [long_enough[i] for i in picked]
    problems = [parser.problem(sentence, prune_number(given.k)) for sentence in sentences]
    spreads = [float(np.abs(p.arc_score).max(initial=0.0)) or 1.0 for p in problems]
    found: dict[str, dict[str, Any]] = {}
    missing = []
    for name in names:
        package = SOLVERS[name][2]
        if package and importlib.util.find_spec(package) is None:
            missing.append(package)
            print(f"{package} is not installed: {name} is left out", flush=True)
            continue
        rows = run(name, problems, given.time_limit)
        ours = found["default"]["rows"] if found else rows
        found[name] = summary(rows, ours, spreads)
        print(name, {k: v for k, v in found[name].items() if k != "rows"}, flush=True)
    table = markdown("solver", [(SOLVERS[n][0], row) for n, row in found.items()], COLUMNS)
    lengths = [sentence.n_words for sentence in sentences]
    result = {
        "model": Path(given.model).name,
        "k": given.k,
        "margin": parser.model.config.pruner.margin,
        "heads_a_word": sum(len(p.arc_head) for p in problems) / sum(lengths),
        "sentences": len(sentences),
        "time_limit": given.time_limit,
        "not_installed": missing,
        "words": lengths,
        "factors": [len(p.factor_score) for p in problems],
        "solvers": found,
    }
    write_result("decode", result, table, ["highspy", "pytoulbar2", "ad3"])


if __name__ == "__main__":
    main()
