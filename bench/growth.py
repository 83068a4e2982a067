"""How hard problems become as their factors and the weights of these grow.

    python bench/growth.py [--seed 1]

25 words with five heads each and random factors of two arcs: search nodes, calls of the dynamic
program and time. Run it from the checkout; it writes results/growth.json and results/growth.md.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measure import arguments, markdown, write_result
from random_problems import with_pairs

from bbparse.solving.solve import solve


def growth(seed: int) -> dict[str, Any]:
    """25 words, five heads each: nodes, calls and time as factors and their weights grow."""
    rows = []
    for factors in (10, 100, 1000, 10000):
        for weight in (0.1, 0.3, 1.0, 3.0, 10.0):
            rng = np.random.default_rng(seed)
            times, nodes, calls, gaps = [], [], [], []
            for _ in range(5):
                problem = with_pairs(rng, 25, factors, weight)
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


def growth_table(rows: list[dict[str, Any]]) -> str:
    """Nodes, DP calls and seconds by number of factors and their weights, in Markdown."""
    found = {(row["factors"], row["weight"]): row for row in rows}

    def cell(factors: int, weight: float) -> str:
        row = found[factors, weight]
        said = f"{row['nodes']:,.0f} / {row['dp_calls']:,.0f} / {1e3 * row['seconds']:,.1f} ms"
        return said + (f" ({row['proved']} of 5 proved)" if row["proved"] < 5 else "")

    counts, weights = (sorted(set(some)) for some in zip(*found))
    return markdown("factors", ((f"{count:,}", count) for count in counts), [
        (f"{w:g} × the arcs", lambda count, w=w: cell(count, w)) for w in weights
    ])  # fmt: skip


def main() -> None:
    """Solve all problems and write the result."""
    result = growth(arguments(__doc__, seed=1).seed)
    table = "Search nodes / calls of the dynamic program / time, medians of five problems.\n\n"
    write_result("growth", result, table + growth_table(result["rows"]))


if __name__ == "__main__":
    main()
