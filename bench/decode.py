"""Our solver against general ones, on the problems of a trained model.

    python bench/decode.py MODEL DEV [--k 10] [--margin none] [--sentences 100] [--time-limit 60]
        [--solvers default,published,highs,cpsat,cpsat-derivations,toulbar2,ad3] [--output decode]

The problems of a random choice of dev sentences are written to files, and each solver finds the
best tree of each, one after another in a process of its own, on one thread. Packages: ortools,
highspy, pytoulbar2, ad3; what is not installed is left out and said so. How each is given the
problems stands in bench/rivals. Times are the solvers' own; putting the problems into their terms
(in Python) is counted apart. AD3 solves a relaxation: "proved" is then "the relaxation was whole".
With ``--margin none`` a word has its k best heads, as far as some tree has them, and not only those
within the model's margin. Writes bench/results/decode.json, .md and .svg.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from measure import (
    HERE,
    RESULTS,
    arguments,
    machine,
    margin_of,
    markdown,
    prune_of,
    read_sample,
    write_result,
)

from bbparse.parsing.parser import Parser
from bbparse.problem import Problem
from bbparse.tuning.plots import (
    MARKERS,
    PALETTE,
    label,
    legend_below,
    new_figure,
    plain_numbers,
    save_figure,
)

# name → (title, module and function, package)
SOLVERS = {
    "default": ("bbparse", "rivals.ours:solve", ""),
    "published": ("bbparse, as published", "rivals.ours:solve_as_published", ""),
    "highs": ("HiGHS, derivations", "rivals.highs:solve", "highspy"),
    "cpsat": ("CP-SAT", "rivals.cpsat:solve", "ortools"),
    "cpsat-derivations": ("CP-SAT, derivations", "rivals.cpsat:solve_derivations", "ortools"),
    "toulbar2": ("toulbar2", "rivals.toulbar:solve", "pytoulbar2"),
    "ad3": ("AD3, approximate", "rivals.ad3_graph:solve", "ad3"),
}
EQUAL = 1e-6
READY = "ready"
END = "end"


def work(name: str, folder: Path, time_limit: float, first: int) -> None:
    """Solve the problems of a folder in this process; a line of JSON for each."""
    module, _, function = SOLVERS[name][1].partition(":")
    solve = getattr(importlib.import_module(module), function)
    problems = [Problem.load(path) for path in sorted(folder.glob("*.npz"))]
    # loads the compiled code
    solve(min(problems, key=lambda problem: len(problem.arc_head)), time_limit)
    print(READY, flush=True)
    for problem in problems[first:]:
        answer = solve(problem, time_limit)
        good = answer.arcs is not None and problem.is_feasible(answer.arcs)
        row = {
            "seconds": answer.seconds, "building": answer.building, "proved": answer.proved,
            "score": problem.score(answer.arcs) if good else None,
        }  # fmt: skip
        print(json.dumps(row), flush=True)


def run(name: str, folder: Path, time_limit: float, count: int) -> list[dict[str, Any]]:
    """The rows of a solver, in a process of its own.

    Not every solver looks at the clock: a process that is silent for much longer than the limit is
    ended, and another one goes on with the next problem.
    """
    rows: list[dict[str, Any]] = []
    patience = 2.0 * time_limit + 30.0
    while len(rows) < count:
        command = [sys.executable, str(HERE / "decode.py"), "--work", name, str(folder)]
        command += [str(time_limit), str(len(rows))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            lines: queue.Queue[str] = queue.Queue()
            threading.Thread(target=_listen, args=(worker.stdout, lines), daemon=True).start()
            ready = False
            try:
                while len(rows) < count:
                    line = lines.get(timeout=patience if ready else 10.0 * patience)
                    ready = ready or line.startswith(READY)
                    if line.startswith("{"):  # solvers may print, too
                        rows.append(json.loads(line))
                    if line == END and len(rows) < count:
                        raise SystemExit(f"{name} failed at problem {len(rows)}")
            except queue.Empty:
                worker.kill()
                rows.append({"seconds": time_limit, "building": 0.0, "proved": False,
                             "score": None, "ended": True})  # fmt: skip
    return rows


def _listen(stream: Any, lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(END)


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
    | times ours, median {median_ratio:,.1f} | proved, % {proved:.0p}
    | same score, % {same_score:.0p} | better than ours {better_than_ours}"""


def draw(found: dict[str, dict[str, Any]], lengths: list[int], output: str) -> None:
    """Time of each sentence by its length."""
    figure, (ax,) = new_figure(1, width=6.6, height=4.6)
    for i, (name, result) in enumerate(found.items()):
        ax.plot(
            lengths, [1000 * row["seconds"] for row in result["rows"]], linestyle="none",
            marker=MARKERS[i], markersize=3.5, color=PALETTE[i], label=SOLVERS[name][0],
        )  # fmt: skip
    ax.set_yscale("log")
    ax.set_xlim(left=0.0)
    plain_numbers(ax.yaxis)
    label(ax, "Time for the best tree", "words in the sentence", "milliseconds")
    legend_below(figure, ax)
    save_figure(figure, RESULTS / f"{output}.svg")


def main() -> None:
    """Export, run all solvers, compare."""
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
        return
    given = arguments(
        __doc__, "model", "dev", k="10", margin=str, sentences=100, least=2, time_limit=60.0,
        solvers=",".join(SOLVERS), output="decode",
    )  # fmt: skip
    names = given.solvers.split(",")
    for name in names:
        if name not in SOLVERS:
            raise SystemExit(f"no solver {name!r}; there are {', '.join(SOLVERS)}")
    if names[0] != "default":
        names = ["default", *(name for name in names if name != "default")]
    parser = Parser.load(given.model)
    long_enough = [s for s in read_sample(given.dev, 10**9) if s.n_words >= given.least]
    rng = np.random.default_rng(1)
    picked = rng.permutation(len(long_enough))[: given.sentences]
    sentences = [long_enough[i] for i in picked]
    margin = None if given.margin is None else margin_of(given.margin)
    problems = [parser.problem(sentence, prune_of(given.k), margin) for sentence in sentences]
    spreads = [float(np.abs(p.arc_score).max(initial=0.0)) or 1.0 for p in problems]
    found: dict[str, dict[str, Any]] = {}
    missing = []
    with tempfile.TemporaryDirectory() as folder:
        for i, problem in enumerate(problems):
            problem.save(Path(folder) / f"{i:05}.npz")
        for name in names:
            package = SOLVERS[name][2]
            if package and importlib.util.find_spec(package) is None:
                missing.append(package)
                print(f"{package} is not installed: {name} is left out", flush=True)
                continue
            rows = run(name, Path(folder), given.time_limit, len(problems))
            ours = found["default"]["rows"] if found else rows
            found[name] = summary(rows, ours, spreads)
            print(name, {k: v for k, v in found[name].items() if k != "rows"}, flush=True)
    table = markdown("solver", [(SOLVERS[n][0], row) for n, row in found.items()], COLUMNS)
    lengths = [sentence.n_words for sentence in sentences]
    result = {
        "machine": machine("highspy", "ortools", "pytoulbar2", "ad3"),
        "model": Path(given.model).name, "k": given.k,
        "margin": given.margin or parser.config.pruner.margin,
        "heads_a_word": sum(len(p.arc_head) for p in problems) / sum(lengths),
        "sentences": len(sentences),
        "time_limit": given.time_limit, "not_installed": missing, "words": lengths,
        "factors": [len(p.factor_score) for p in problems], "solvers": found,
    }  # fmt: skip
    write_result(given.output, result, table)
    draw(found, lengths, given.output)
    print(table)


if __name__ == "__main__":
    main()
