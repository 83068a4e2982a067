"""Accuracy of a model on treebanks by what is given, and the memory of parsing them.

    python bench/accuracy.py NAME=DEV… [--model english]

For each treebank the model parses its words with their tags, its words alone, and its text, with
the rules of valid trees, as ``bbparse parse`` does; measures are F1 as the official scorer of
CoNLL 2018 has it, so that LAS is of labels without subtypes. For words with their tags there are
also LAS of full labels and complete trees. Memory is the most that ``bbparse parse DEV`` has.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import machine, markdown, write_result

from bbparse.cli.results import results
from bbparse.model import DEFAULT_MODEL, MODELS
from bbparse.model.file import load_model
from bbparse.treebank import evaluate, read_conllu

#: What is given → the key of `bbparse.cli.results.results`.
GIVEN = {"gold tags": "its words and tags", "gold words": "its words", "text": "its text"}
MEASURES = ("sentences", "words", "upos", "ufeats", "uas", "las", "mlas")


def parsed(model: Path, dev: str) -> dict[str, float]:
    """Scores of the file that ``bbparse parse`` writes, and its memory in MB."""
    with tempfile.TemporaryDirectory() as folder:
        output = f"{folder}/parsed.conllu"
        command = [sys.executable, "-m", "bbparse", "parse", dev, "--model", str(model)]
        subprocess.run([*command, "--output", output], check=True)
        scores = evaluate(read_conllu(dev, require_heads=True), read_conllu(output))
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "las_full": 100 * scores.las, "complete": 100 * scores.complete, "memory_mb": memory
    }  # fmt: skip


def main() -> None:
    """Measure, and write results/accuracy.json and accuracy.md."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("treebanks", nargs="+", metavar="NAME=DEV")
    arguments.add_argument("--model", default=DEFAULT_MODEL)
    given = arguments.parse_args()
    path = MODELS.path(given.model)
    model = load_model(path)
    rows: dict[str, dict[str, Any]] = {}
    for treebank in given.treebanks:
        name, _, dev = treebank.partition("=")
        gold = list(read_conllu(dev, require_heads=True))
        found = results(model, gold)
        for title, key in GIVEN.items():
            rows[f"{name}, {title}"] = {measure: found[key][measure] for measure in MEASURES}
        rows[f"{name}, gold tags"] |= parsed(path, dev)
    table = markdown("dev, what is given", rows.items(), [
        *((title, lambda row, key=key: f"{row[key]:.2f}") for title, key in (
            ("sentences", "sentences"), ("words", "words"), ("UPOS", "upos"),
            ("FEATS", "ufeats"), ("UAS", "uas"), ("LAS", "las"), ("MLAS", "mlas"),
        )),
        *((title, lambda row, key=key: f"{row[key]:.2f}" if key in row else "") for title, key in (
            ("LAS, full labels", "las_full"), ("complete trees", "complete"),
        )),
        ("memory, MB", lambda row: f"{row['memory_mb']:.0f}" if "memory_mb" in row else ""),
    ])  # fmt: skip
    facts = {"machine": machine(), "model": given.model, "megabytes": path.stat().st_size / 1e6}
    write_result("accuracy", {**facts, "rows": rows}, table)
    print(table)


if __name__ == "__main__":
    main()
