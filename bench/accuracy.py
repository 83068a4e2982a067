"""Measure the accuracy of a model by input (tags, words, text), and the memory of parsing.

    python bench/accuracy.py NAME=DEV… [--model english]

Parses each treebank from words and tags, from words, and from text, with validity rules. Measures
are F1 by the official scorer of CoNLL 2018, whose LAS ignores subtypes; with tags, also LAS of full
labels and complete trees. Memory is the peak of ``bbparse parse DEV``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import arguments, markdown, write_result

from bbparse.apps.cli.model import results
from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.models.model_file import load_model
from bbparse.treebank import evaluate, read_conllu

#: What is given → the key of `bbparse.apps.cli.model.results`.
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
    return {"las_full": 100 * scores.las, "complete": 100 * scores.complete, "memory_mb": memory}


def main() -> None:
    """Measure, and write results/accuracy.json and accuracy.md."""
    given = arguments(__doc__, "treebanks+", model=DEFAULT_MODEL)
    path = MODELS.path(given.model)
    names = [treebank.partition("=")[::2] for treebank in given.treebanks]
    # First, because a process begins with the memory of the one that starts it.
    files = {name: parsed(path, dev) for name, dev in names}
    model = load_model(path)
    rows: dict[str, dict[str, Any]] = {}
    for name, dev in names:
        gold = list(read_conllu(dev, require_heads=True))
        found = results(model, gold)
        for title, key in GIVEN.items():
            rows[f"{name}, {title}"] = {measure: found[key][measure] for measure in MEASURES}
        rows[f"{name}, gold tags"] |= files[name]
    table = markdown(
        "dev set, input",
        rows.items(),
        """
        sentences {sentences:.2f} | words {words:.2f} | UPOS {upos:.2f} | FEATS {ufeats:.2f}
        | UAS {uas:.2f} | LAS {las:.2f} | MLAS {mlas:.2f} | LAS, full labels {las_full:.2f}
        | complete trees {complete:.2f} | memory, MB {memory_mb:.0f}""",
    )
    facts = {"model": given.model, "megabytes": path.stat().st_size / 1e6}
    write_result("accuracy", {**facts, "rows": rows}, table)


if __name__ == "__main__":
    main()
