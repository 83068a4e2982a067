"""The dynamic programs against the same recurrences in C.

    python bench/kernels.py [--lengths 10,20,…] [--repeat N]

bench/kernels.c is compiled with ``cc -O3 -march=native``. The chart recurrences run over charts of
random problems with ten candidate heads a word and all parts they hold; Eisner's algorithm over
dense score matrices. Both get the same arrays and must give the same numbers. Writes
bench/results/kernels.json, .md and .svg.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import HERE, RESULTS, arguments, machine, markdown, race, write_result
from random_problems import random_heads

from bbparse.oracle.projective import dense
from bbparse.oracle.projective.passes import group_scores, inside_pass, outside_pass
from bbparse.oracle.projective.recurrences import RECURRENCES
from bbparse.oracle.trees import ProjectiveTrees
from bbparse.problem import Problem
from bbparse.tuning.plots import MARKERS, PALETTE, label, new_figure, plain_numbers, save_figure

TARGET = 1.3
HEADS = 10


def compile_c(folder: str) -> ctypes.CDLL:
    """The C kernels as a library."""
    library = Path(folder) / "kernels.so"
    compiler = os.environ.get("CC", "cc")
    command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*command, str(HERE / "kernels.c"), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.inside_pass.restype = ctypes.c_double
    return loaded


def c_call(function: Any, *arguments: Any) -> Callable[[], object]:
    """A call with arrays as pointers and numbers as int32, made ready once."""
    ready = [
        ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_int32(a)
        for a in arguments
    ]
    # the arrays must live as long as the call
    return lambda kept=arguments: function(*ready)


def chart_calls(library: ctypes.CDLL, name: str, n: int) -> tuple[dict[str, Any], int]:
    """Both passes of one recurrence by both, checked to agree; and the number of hyperedges."""
    rng = np.random.default_rng([1, n])
    arcs = random_heads(rng, n, HEADS)
    problem = Problem(n, arcs[:, 0], arcs[:, 1], rng.normal(size=len(arcs)))
    oracle = ProjectiveTrees(problem, name)
    chart, order = oracle.chart, oracle.order
    n_edges, n_items = chart.left.shape[0], int(chart.size[0])
    chart = chart._replace(weight=np.random.default_rng(n).normal(size=n_edges))
    gscore = np.empty(chart.group_mod.shape[0])
    group_scores(chart.group_ptr, problem.arc_score[order], gscore)
    shared = (
        n_items, chart.item_ptr, chart.item_group, chart.left, chart.right, chart.weight, gscore,
    )  # fmt: skip
    ours = [np.empty(n_items) for _ in range(2)]
    theirs = [np.empty(n_items) for _ in range(2)]
    calls: dict[str, Callable[[], object]] = {
        "inside": lambda: inside_pass(chart, gscore, ours[0]),
        "inside in C": c_call(library.inside_pass, *shared, theirs[0]),
        "outside": lambda: outside_pass(chart, gscore, *ours),
        "outside in C": c_call(library.outside_pass, *shared, *theirs),
    }
    for call in calls.values():
        call()
    for a, b in zip(ours, theirs):
        if not np.array_equal(a, b):
            raise SystemExit(f"{name}, {n} words: C and numba disagree")
    return calls, n_edges


def dense_calls(library: ctypes.CDLL, n: int) -> dict[str, Any]:
    """Eisner's span tables by both, checked to agree."""
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1))
    ours = [np.full((n + 1, n + 1), -np.inf) for _ in range(4)]
    theirs = [np.full((n + 1, n + 1), -np.inf) for _ in range(4)]
    calls: dict[str, Callable[[], object]] = {
        "inside": lambda: dense._inside(scores, 1, *ours),
        "inside in C": c_call(library.dense_inside, n, scores, *theirs),
    }
    for call in calls.values():
        call()
    for a, b in zip(ours, theirs):
        if not np.array_equal(a, b):
            raise SystemExit(f"dense, {n} words: C and numba disagree")
    return calls


def main() -> None:
    """Time every kernel at every length."""
    given = arguments(__doc__, lengths="10,20,40,80,120,160,240", repeat=31)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        library = compile_c(folder)
        for n in map(int, given.lengths.split(",")):
            for name in ["dense", *RECURRENCES]:
                edges = 0
                if name == "dense":
                    calls = dense_calls(library, n)
                else:
                    calls, edges = chart_calls(library, name, n)
                # so many calls in a turn that the clock and the call itself do not matter
                times = race(calls, 1)
                loops = max(1, int(2e-3 / max(times.values())))

                def looped(call: Callable[[], object], loops: int = loops) -> Callable[[], object]:
                    return lambda: [call() for _ in range(loops)]

                times = race({key: looped(call) for key, call in calls.items()}, given.repeat, min)
                for kernel in ("inside", "outside"):
                    if kernel in times:
                        rows.append({
                            "kernel": f"{name} {kernel}", "words": n, "hyperedges": edges,
                            "microseconds": 1e6 * times[kernel] / loops,
                            "microseconds_c": 1e6 * times[f"{kernel} in C"] / loops,
                            "ratio": times[kernel] / times[f"{kernel} in C"],
                        })  # fmt: skip
                        print(rows[-1], flush=True)
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    worst = {k: max(row["ratio"] for row in rows if row["kernel"] == k) for k in kernels}
    table = markdown(
        "kernel, words",
        [(f"{row['kernel']}, {row['words']}", row) for row in rows],
        [
            ("hyperedges", lambda r: f"{r['hyperedges']:,}" if r["hyperedges"] else ""),
            ("numba, µs", lambda r: f"{r['microseconds']:.1f}"),
            ("C, µs", lambda r: f"{r['microseconds_c']:.1f}"),
            ("ratio", lambda r: f"{r['ratio']:.2f}"),
        ],
    )
    write_result("kernels", {"machine": machine(), "worst_ratio": worst, "rows": rows}, table)
    figure, (ax,) = new_figure(1, width=6.4, height=4.4)
    families = ["dense", *RECURRENCES]
    for kernel in kernels:
        here = [row for row in rows if row["kernel"] == kernel]
        i = families.index(kernel.split()[0])
        ax.plot(
            [row["words"] for row in here], [row["ratio"] for row in here], label=kernel,
            color=PALETTE[i], marker=MARKERS[i], linewidth=1.5, markersize=4,
            linestyle="--" if "outside" in kernel else "-",
        )  # fmt: skip
    ax.axhline(TARGET, color="#333333", linewidth=1)
    ax.annotate(
        f"target {TARGET}", (1.0, TARGET), xycoords=("axes fraction", "data"), xytext=(-2, 3),
        textcoords="offset points", ha="right", fontsize=9,
    )  # fmt: skip
    ax.set_ylim(bottom=0.0)
    ax.set_xscale("log")
    plain_numbers(ax.xaxis)
    label(ax, "Time of a kernel, numba over C", "words", "ratio")
    figure.legend(loc="outside right center", frameon=False, fontsize=9)
    save_figure(figure, RESULTS / "kernels.svg")
    print(table)


if __name__ == "__main__":
    main()
