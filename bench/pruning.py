"""QL13 Table 3 on your own data: k = 3, 5, 10, 20, none candidate heads a word.

    python bench/pruning.py MODEL DEV [--k 3,5,10,20,none]

Writes bench/results/pruning.json and pruning.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from families import COLUMNS, HERE, measured, table


def main() -> None:
    """Measure every k."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("dev")
    parser.add_argument("--k", default="3,5,10,20,none")
    arguments = parser.parse_args()
    results: list[tuple[str, dict]] = []
    for k in arguments.k.split(","):
        options = ["--prune", k, "--repeat", "1" if k == "none" else "3"]
        results.append((k, measured(Path(arguments.model), arguments.dev, *options)))
        print(table("k", results, COLUMNS[:-1]), flush=True)
        (HERE / "results" / "pruning.json").write_text(json.dumps(dict(results)) + "\n")
        (HERE / "results" / "pruning.md").write_text(table("k", results, COLUMNS[:-1]))


if __name__ == "__main__":
    main()
