"""How hard problems become as their factors and the weights of these grow.

    python bench/growth.py [--seed 1]

25 words with five heads each and random factors of two arcs: search nodes, calls of the dynamic
program and time. Run it from the checkout; it writes results/growth.json and results/growth.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bbparse.problem import Problem  # noqa: E402
from bbparse.solving.solve import solve  # noqa: E402
from bench.measure import write_result  # noqa: E402


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


def growth_table(rows: list[dict[str, Any]]) -> str:
    """Nodes, DP calls and seconds by number of factors and their weights, in Markdown."""
    weights = sorted({row["weight"] for row in rows})
    head = ["factors", *(f"{weight:g} × the arcs" for weight in weights)]
    lines = [" | ".join(head), " | ".join(["---:"] * len(head))]
    for factors in sorted({row["factors"] for row in rows}):
        cells = [f"{factors:,}"]
        for weight in weights:
            row = next(r for r in rows if (r["factors"], r["weight"]) == (factors, weight))
            cell = f"{row['nodes']:,.0f} / {row['dp_calls']:,.0f} / {1e3 * row['seconds']:,.1f} ms"
            short = row["proved"] < 5
            cells.append(cell + (f" ({row['proved']} of 5 proved)" if short else ""))
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    """Solve all problems and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    result = growth(parser.parse_args().seed)
    table = "Search nodes / calls of the dynamic program / time, medians of five problems.\n\n"
    write_result("growth", result, table + growth_table(result["rows"]) + "\n")


if __name__ == "__main__":
    main()
