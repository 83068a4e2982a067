"""The families table: the backbone alone, with each factor family, and with all of them.

    python bench/families.py TRAIN DEV [--config english] [--epochs N] [--models DIR] [--only NAMES]

Trains one model for each row (those already in DIR are not trained again), measures it with
bench/measure.py, and writes bench/results/families.json and families.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from bbparse.configuration import Configuration
from bbparse.factors import available

HERE = Path(__file__).resolve().parent
COLUMNS = (
    ("UAS", lambda r: f"{100 * r['uas']:.2f}"),
    ("UAS, no punct", lambda r: f"{100 * r['uas_no_punct']:.2f}"),
    ("words/s", lambda r: f"{r['words_per_second']:,.0f}"),
    ("DP calls", lambda r: f"{r['dp_calls']:.2f}"),
    ("full-size calls", lambda r: f"{r['dp_work']:.2f}"),
    ("closed at root, %", lambda r: f"{100 * r['closed_at_root']:.2f}"),
    ("proved, %", lambda r: f"{100 * r['proved']:.2f}"),
    ("peak memory, MB", lambda r: f"{r['peak_memory_mb']:.0f}"),
    ("training, s", lambda r: f"{r['training_seconds']:.0f}"),
)


def table(first: str, rows: list[tuple[str, dict]], columns: tuple = COLUMNS) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join([first, *(title for title, _ in columns)]) + " |"]
    lines.append("|" + " --- |" + " ---: |" * len(columns))
    for name, row in rows:
        lines.append("| " + " | ".join([name, *(show(row) for _, show in columns)]) + " |")
    return "\n".join(lines) + "\n"


def measured(model: Path, dev: str, *options: str) -> dict:
    """What bench/measure.py prints."""
    command = [sys.executable, str(HERE / "measure.py"), str(model), dev, *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def train(arguments: argparse.Namespace, families: list[str], model: Path) -> float:
    """Train a model by the command line; seconds."""
    command = [
        sys.executable, "-m", "bbparse.cli.main", "train", arguments.train, "--dev", arguments.dev,
        "--config", arguments.config, "--model", str(model), "--factors", ",".join(families),
    ]  # fmt: skip
    if arguments.epochs:
        command += ["--epochs", str(arguments.epochs)]
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def main() -> None:
    """Train and measure every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--config", default="english")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--models", default="build/families")
    parser.add_argument("--only", help="rows, separated by commas")
    arguments = parser.parse_args()
    everything = list(Configuration.load(arguments.config).factors.families)
    rows = {"backbone": []} | {f"+ {name}": [name] for name in available() if name in everything}
    rows["+ all"] = everything
    models = Path(arguments.models)
    models.mkdir(parents=True, exist_ok=True)
    results: list[tuple[str, dict]] = []
    for name, families in rows.items():
        if arguments.only and name.removeprefix("+ ") not in arguments.only.split(","):
            continue
        model = models / f"{name.removeprefix('+ ')}.model"
        times = model.with_suffix(".seconds")
        if not model.exists():
            times.write_text(str(train(arguments, families, model)))
        row = measured(model, arguments.dev)
        del row["by_length"]  # bench/pruning.py keeps it
        row["training_seconds"] = float(times.read_text())
        results.append((name, row))
        print(table("model", results), flush=True)
        out = HERE / "results"
        out.mkdir(exist_ok=True)
        (out / "families.json").write_text(json.dumps(dict(results), indent=1) + "\n")
        (out / "families.md").write_text(table("model", results))


if __name__ == "__main__":
    main()
