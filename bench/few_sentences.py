"""Count what an annotator of a new language corrects, by the sentences that are already annotated.

    python bench/few_sentences.py TRAIN TEST [--base world]

Models learn from the first sentences of TRAIN: on the base, and without one (`--config universal`).
Before the first sentence, the base's joint model parses. Corrections are words of TEST with a
wrong head or label, and words with a wrong UPOS, per 1,000 words; with and without validity rules.
TEST should be short, and the base should not have learned the language.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import arguments, markdown, write_result
from throughput import without_tags

from bbparse.models import MODELS
from bbparse.treebank import evaluate, read_conllu, write_conllu

#: Numbers of annotated sentences.
SIZES = (50, 100, 300, 1000)


def bbparse(*words: object) -> None:
    """Run a command of bbparse."""
    command = [sys.executable, "-m", "bbparse", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def corrections(model: Path, bare: Path, test: str, folder: Path) -> dict[str, float]:
    """Return the corrections per 1,000 words, with validity rules and without."""
    found = {}
    for title, valid in (("rules", ()), ("no rules", ("--valid", "none"))):
        bbparse("parse", bare, "--model", model, "--output", folder / "parsed.conllu", *valid)
        parsed = read_conllu(folder / "parsed.conllu")
        scores = evaluate(read_conllu(test, require_heads=True), parsed)
        found[title] = 1000 * (1.0 - scores.las)
        found["UPOS"] = 1000 * (1.0 - (scores.upos or 0.0))
    return found


def main() -> None:
    """Measure, and write results/few_sentences.json and few_sentences.md."""
    given = arguments(__doc__, "train", "test", base="world")
    sentences = list(read_conllu(given.train, require_heads=True))
    base = MODELS.path(given.base)
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare, part, model = (folder / file for file in ("bare.conllu", "part.conllu", "part.model"))
        write_conllu(bare, map(without_tags, read_conllu(given.test, require_heads=True)))
        rows["0, base"] = corrections(base, bare, given.test, folder)
        for size in SIZES:
            write_conllu(part, sentences[:size])
            for title, options in (
                ("base", ("--base", base, "--config", "head")),
                ("alone", ("--config", "universal")),
            ):
                bbparse("train", part, "--factors", "", "--model", model, *options)
                rows[f"{size}, {title}"] = corrections(model, bare, given.test, folder)
                model.unlink()
                print(size, title, rows[f"{size}, {title}"], flush=True)
    columns = "UPOS {UPOS:.0f} | arcs {rules:.0f} | arcs, no rules {no rules:.0f}"
    write_result("few_sentences", rows, markdown("sentences, model", rows.items(), columns))


if __name__ == "__main__":
    main()
