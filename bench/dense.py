"""Plain first- and second-order decoding of dense score matrices, against torch-struct and SuPar.

    python bench/dense.py [--words 25] [--batch 32] [--repeat 15]

No pruning, no factors: every arc between all words, and in the second order a score for every pair
of adjacent siblings (McDonald & Pereira 2006). All find the best tree with one root of each
sentence of a batch, on one thread; scores are random and the trees are compared. The others compute
the best trees of a batch at once and get them by automatic differentiation, in single precision;
ours go sentence by sentence, in double. Packages: torch, torch-struct, supar; what is not installed
is left out and said so. Writes bench/results/dense.json, .md and .svg.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from measure import RESULTS, arguments, machine, markdown, race, write_result
from numpy.typing import NDArray

from bbparse import Problem, solve_batch
from bbparse.oracle.projective.dense import eisner
from bbparse.tuning.plots import PALETTE, label, new_figure, save_figure

Call = Callable[[], NDArray[np.int64]]


class Second:
    """Where in dense arrays the scores of a problem of n words lie; the same for all sentences."""

    def __init__(self, n: int) -> None:
        self.n = n
        pairs = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
        self.head, self.mod = np.array(pairs, np.int32).T.copy()
        triples = [
            (h, i, m) for h, m in pairs for i in range(min(h, m) + 1, max(h, m)) if h != 0
        ]
        self.sib = np.array(triples, np.int32).T.copy()

    def problem(self, arc: NDArray[np.float64], sib: NDArray[np.float64]) -> Problem:
        """arc[head, mod], sib[head, inner, outer]."""
        h, i, m = self.sib
        return Problem(
            self.n, self.head, self.mod, arc[self.head, self.mod],
            sib_head=h, sib_inner=i, sib_outer=m, sib_score=sib[h, i, m],
        )  # fmt: skip


def ours(arc: NDArray[np.float64], sib: NDArray[np.float64]) -> dict[str, tuple[int, Call]]:
    """Name → (order, call that gives heads[sentence, word])."""
    second = Second(arc.shape[1] - 1)

    def first_order() -> NDArray[np.int64]:
        return np.stack([eisner(scores, True)[0] for scores in arc])

    def solved(problems: list[Problem]) -> NDArray[np.int64]:
        return np.stack([solution.heads[0] for solution in solve_batch(problems)])

    return {
        "bbparse, dense Eisner": (1, first_order),
        "bbparse, solve": (1, lambda: solved([Problem.from_arc_scores(s) for s in arc])),
        "bbparse, solve, siblings": (
            2, lambda: solved([second.problem(a, s) for a, s in zip(arc, sib)])
        ),
    }  # fmt: skip


def torch_struct(arc: NDArray[np.float64]) -> dict[str, tuple[int, Call]]:
    """torch-struct's projective trees."""
    import torch
    from torch_struct import DependencyCRF

    n = arc.shape[1] - 1
    scores = torch.tensor(arc[:, 1:, 1:], dtype=torch.float32)
    scores[:, range(n), range(n)] = torch.tensor(arc[:, 0, 1:], dtype=torch.float32)
    # it changes its own copy in place, which torch allows only of what is no leaf
    scores.requires_grad_(True)

    def call() -> NDArray[np.int64]:
        best = DependencyCRF(scores, multiroot=False).argmax.detach()
        sentence, head, mod = torch.where(best > 0.5)
        heads = np.full((len(arc), n + 1), -1)
        heads[sentence, mod + 1] = np.where(head == mod, 0, head + 1)
        return heads

    return {"torch-struct": (1, call)}


def supar(arc: NDArray[np.float64], sib: NDArray[np.float64]) -> dict[str, tuple[int, Call]]:
    """SuPar's first- and second-order tree CRFs."""
    import torch
    from supar import Dependency2oCRF, DependencyCRF

    s_arc = torch.tensor(arc.transpose(0, 2, 1).copy(), dtype=torch.float32)
    # SuPar's axes are sentence, outer modifier, head, inner sibling
    s_sib = torch.tensor(sib.transpose(0, 3, 1, 2).copy(), dtype=torch.float32)

    def heads_of(tree: Any) -> NDArray[np.int64]:
        heads = tree.argmax.numpy().copy()
        heads[:, 0] = -1
        return heads

    return {
        "SuPar": (1, lambda: heads_of(DependencyCRF(s_arc, multiroot=False))),
        "SuPar, siblings": (2, lambda: heads_of(Dependency2oCRF((s_arc, s_sib), multiroot=False))),
    }


def main() -> None:
    """Time all and compare the trees."""
    given = arguments(__doc__, words=25, batch=32, repeat=15)
    rng = np.random.default_rng(1)
    size = given.words + 1
    arc = rng.normal(size=(given.batch, size, size))
    sib = rng.normal(size=(given.batch, size, size, size))
    calls = ours(arc, sib)
    missing = []
    for name, others in (
        ("torch-struct", lambda: torch_struct(arc)), ("supar", lambda: supar(arc, sib))
    ):  # fmt: skip
        try:
            import torch

            torch.set_num_threads(1)
            calls.update(others())
        except ImportError as error:
            missing.append(name)
            print(f"{name} is left out: {error}", flush=True)
    reference = {order: call() for order, call in reversed(list(calls.values())[:3])}
    rows = []
    times = race({name: call for name, (_, call) in calls.items()}, given.repeat)
    for name, (order, call) in calls.items():
        same = float((call() == reference[order]).all(axis=1).mean())
        rows.append((
            name, {"order": order, "ms": 1000 * times[name] / given.batch, "same_trees": same},
        ))  # fmt: skip
    table = markdown(
        "decoder", rows,
        [
            ("order", lambda r: str(r["order"])),
            ("ms a sentence", lambda r: f"{r['ms']:.3f}"),
            ("same trees, %", lambda r: f"{100 * r['same_trees']:.0f}"),
        ],
    )  # fmt: skip
    result = {
        "machine": machine("torch", "torch-struct", "supar"), "not_installed": missing,
        "words": given.words, "batch": given.batch, "rows": dict(rows),
    }  # fmt: skip
    write_result("dense", result, table)
    figure, (ax,) = new_figure(1, width=7.0, height=0.9 + 0.36 * len(rows))
    names = [name for name, _ in rows][::-1]
    colours = [PALETTE[row["order"] - 1] for _, row in rows][::-1]
    bars = ax.barh(names, [row["ms"] for _, row in rows][::-1], color=colours, height=0.7)
    ax.bar_label(bars, fmt="%.3f", padding=4, fontsize=9)
    ax.grid(axis="y", visible=False)
    ax.margins(x=0.12)
    title = f"Best tree of {given.words} words: first order (blue), second (orange)"
    label(ax, title, "milliseconds a sentence", "")
    save_figure(figure, RESULTS / "dense.svg")
    print(table)


if __name__ == "__main__":
    main()
