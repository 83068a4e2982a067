"""What the bound of a score of whole trees saves: trees looked at, bounds, and time.

    python bench/whole_trees.py DEV [--model english] [--sentences N] [--most 5000] [--only NAMES]

Each rule of `RULES` scores the trees of every sentence, once without its bound and once with it, in
turns; with a limit of ``--most`` trees and no other. Time is the processor's for the solver alone,
with the scores of the model given. Adds rows to bench/results/whole_trees.json, and writes
whole_trees.md anew.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np
from measure import arguments, known, machine, markdown, read_sample, write_result
from rules import Balanced, Depth, Shallow, Short

from bbparse.factors import TreeFamily, tree_options
from bbparse.model import MODELS
from bbparse.model.file import load_model
from bbparse.network.ragged import batches
from bbparse.problem import Solution
from bbparse.solving.solve import solve


class Strict(Balanced):
    """A coordination whose sides have modifiers of different kinds costs 10."""

    name = "strict"
    cost = 10.0


#: Rules of parsers, and rules that most of the best trees break.
RULES: dict[str, TreeFamily] = {
    "depth at most 9": Depth(), "coordinations are balanced, 1": Balanced(),
    "coordinations are balanced, 10": Strict(), "depth at most 2 + n/8": Shallow(),
    "arcs of length 2 in the mean": Short(),
}  # fmt: skip


def solved(scored: Any, maker: Any, family: TreeFamily, bounded: bool, most: int) -> Solution:
    """Return the best tree by scores and a rule, with the time in its stats."""
    options = tree_options([family], maker.view_of(scored), lambda heads: [])
    if not bounded:
        del options["tree_bound"]
    started = time.process_time()
    found = solve(scored.problem, tree_limit=most, explain=False, **options)
    found.stats["cpu"] = time.process_time() - started
    return found


def row_of(found: list[Solution]) -> dict[str, Any]:
    """Figures of a rule over all sentences."""
    trees = np.array([one.stats["trees_scored"] for one in found])
    return {
        "sentences": len(found), "median": float(median(trees.tolist())),
        "mean": float(trees.mean()),
        "p99": float(np.quantile(trees, 0.99)), "most": int(trees.max()),
        "proved": 100 * float(np.mean([one.status in ("optimal", "infeasible") for one in found])),
        "bounds": float(np.mean([one.stats.get("tree_bounds", 0) for one in found])),
        "searches": float(np.mean([one.stats["lists"] for one in found])),
        "ms": 1000 * float(np.mean([one.stats["cpu"] for one in found])),
    }  # fmt: skip


def main() -> None:
    """Measure, and write what was found."""
    given = arguments(__doc__, "dev", model="english", sentences=int, most=5000, only=str)
    maker = load_model(MODELS.path(given.model)).maker
    sentences = read_sample(given.dev, given.sentences)
    scored = [one for batch in batches(sentences) for one in maker(batch)]
    rows: dict[str, Any] = known("whole_trees", "rows")
    for name, family in RULES.items():
        if given.only and family.name not in given.only.split(","):
            continue
        found: dict[bool, list[Solution]] = {False: [], True: []}
        for one in scored:
            for bounded, answers in found.items():
                answers.append(solved(one, maker, family, bounded, given.most))
        both = [
            (a, b) for a, b in zip(*found.values())
            if a.status == b.status == "optimal"
        ]  # fmt: skip
        different = sum(float(a.scores[0]) != float(b.scores[0]) for a, b in both)
        for bounded, answers in found.items():
            rows[f"{name}, {'with' if bounded else 'without'} bound"] = row_of(answers)
        print(name, len(both), "proved by both,", different, "scores differ", flush=True)
    table = markdown("rule", rows.items(), [
        ("sentences", lambda row: f"{row['sentences']:,}"),
        ("trees, median", lambda row: f"{row['median']:.0f}"),
        ("mean", lambda row: f"{row['mean']:.1f}"), ("99 %", lambda row: f"{row['p99']:.0f}"),
        ("most", lambda row: f"{row['most']}"), ("proved, %", lambda row: f"{row['proved']:.1f}"),
        ("bounds", lambda row: f"{row['bounds']:.1f}"),
        ("searches", lambda row: f"{row['searches']:.1f}"), ("ms", lambda row: f"{row['ms']:.2f}"),
    ])  # fmt: skip
    write_result("whole_trees", {"machine": machine(), "most": given.most, "rows": rows}, table)
    print(table)


if __name__ == "__main__":
    main()
