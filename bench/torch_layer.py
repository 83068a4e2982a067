"""Time best trees and sums in PyTorch, with gradients: bbparse, torch-struct, SuPar.

    python bench/torch_layer.py [--words 25] [--batch 32] [--repeat 9]

Each call takes random scores of a batch (one root, no padding) and finds best trees, or the log of
the sum over all trees with its gradient. Processor time on one thread, in turns; the others work in
single precision, bbparse in double. Values are compared. Packages: torch, torch-struct, supar;
those that are not installed are left out. Writes bench/results/torch_layer.json and .md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from measure import arguments, markdown, race, write_result

from bbparse.torch import TreeLayer

Call = Callable[[], Any]


def slope(total: Any, scores: Any) -> tuple[float, Any]:
    """A sum over trees, and its gradient."""
    return float(total.detach().sum()), torch.autograd.grad(total.sum(), scores)


def calls_of(arcs: Any, second: Any) -> dict[tuple[str, str], Call]:
    """(Question, who answers) → a call; arcs[b, d, h] and siblings second[b, d, h, s]."""
    batch, size, _ = arcs.shape
    leaf, sib = arcs.clone().requires_grad_(), second.clone().requires_grad_()
    rows = [
        (i, h, s, d)
        for i in range(batch)
        for d in range(1, size)
        for h in range(1, size)
        for s in range(min(h, d) + 1, max(h, d))
    ]
    index = torch.tensor(rows)
    i, h, s, d = index.T
    first, crossing = TreeLayer(), TreeLayer(projective=False)
    found: dict[tuple[str, str], Call] = {
        ("best trees", "bbparse"): lambda: first(arcs).k_best(1)[1].sum().item(),
        ("projective sum", "bbparse"): lambda: slope(first(leaf).log_partition(), leaf)[0],
        ("crossing sum", "bbparse"): lambda: slope(crossing(leaf).log_partition(), leaf)[0],
        ("sum with siblings", "bbparse"): lambda: slope(
            first(leaf, siblings=(index, sib[i, d, h, s])).log_partition(), (leaf, sib)
        )[0],
    }
    try:
        from torch_struct import DependencyCRF as Struct
        from torch_struct import NonProjectiveDependencyCRF

        def diagonal() -> Any:
            """Its root is the diagonal, its rows are heads."""
            words = leaf[:, 1:, 1:].mT
            return words.diagonal_scatter(leaf[:, 1:, 0], dim1=1, dim2=2)

        def best() -> float:
            scores = diagonal()
            return float((Struct(scores, multiroot=False).argmax * scores).sum().detach())

        found["best trees", "torch-struct"] = best
        found["projective sum", "torch-struct"] = lambda: slope(
            Struct(diagonal(), multiroot=False).partition, leaf
        )[0]
        found["crossing sum", "torch-struct"] = lambda: slope(
            NonProjectiveDependencyCRF(diagonal(), multiroot=False).partition, leaf
        )[0]
    except ImportError as error:
        print(f"torch-struct is left out: {error}")
    try:
        from supar import Dependency2oCRF, DependencyCRF, MatrixTree

        found["best trees", "SuPar"] = lambda: DependencyCRF(leaf, multiroot=False).max.sum().item()
        for name, kind in (("projective sum", DependencyCRF), ("crossing sum", MatrixTree)):
            found[name, "SuPar"] = lambda kind=kind: slope(
                kind(leaf, multiroot=False).log_partition, leaf
            )[0]
        found["sum with siblings", "SuPar"] = lambda: slope(
            Dependency2oCRF((leaf, sib), multiroot=False).log_partition, (leaf, sib)
        )[0]
    except ImportError as error:
        print(f"SuPar is left out: {error}")
    return found


def main() -> None:
    """Time all and compare the values."""
    given = arguments(__doc__, words=25, batch=32, repeat=9)
    torch.set_num_threads(1)
    torch.distributions.Distribution.set_default_validate_args(False)
    rng, size = np.random.default_rng(1), given.words + 1
    arcs = torch.tensor(rng.normal(size=(given.batch, size, size)), dtype=torch.float32)
    second = torch.tensor(rng.normal(size=(given.batch, size, size, size)), dtype=torch.float32)
    calls = calls_of(arcs, second)
    values = {key: call() for key, call in calls.items()}
    times = race(
        {" ".join(key): call for key, call in calls.items()}, given.repeat, clock=time.process_time
    )
    rows = []
    for (question, who), value in values.items():
        ours = values[question, "bbparse"]
        seconds = times[f"{question} {who}"]
        rows.append(
            (
                f"{question}, {who}",
                {
                    "ms": 1000.0 * seconds / given.batch,
                    "ratio": seconds / times[f"{question} bbparse"],
                    "same_value": (same := abs(value - ours) < 1e-4 * abs(ours)),
                    "same": "yes" if same else "no",
                },
            )
        )
    rows.sort(key=lambda row: row[0].partition(",")[0])
    table = markdown(
        "question, package",
        rows,
        """
        ms a sentence {ms:.3f} | times ours {ratio:.1f} | same value {same}""",
    )
    facts = {"words": given.words, "batch": given.batch, "rows": dict(rows)}
    write_result("torch_layer", facts, table, ["torch", "torch-struct", "supar"])


if __name__ == "__main__":
    main()
