"""Accuracy against words a second, by number of networks: words in, own tags and trees out.

    python bench/speed.py DEV [--model NAME…] [--times N] [--repeat N]

Each model parses the words of DEV, without their tags, by all its networks and by fewer, from file
to file in one process: seconds of the processor, in turns, medians; loading and compiling are not
counted. LAS as the official scorer has it. Writes bench/results/speed.json and .md, and the picture
docs/pictures/speed.svg, which also has published figures of others (`PUBLISHED`).
"""

from __future__ import annotations

import gc
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from measure import HERE, arguments, markdown, race, write_result
from throughput import parse_file, text_of, without_tags

from bbparse.apps.tuning.plots import PALETTE, label, new_figure, save_figure
from bbparse.models import MODELS
from bbparse.parser.parser import Parser
from bbparse.treebank import read_conllu
from bbparse.treebank.alignment import evaluate_text

#: Words a second on CPUs, and LAS on EWT's test set from gold words. UDPipe 1.2 with its models for
#: UD 2.5, and UDify: github.com/aymara/lima-models, eval.md (UD 2.6). spaCy: speed of its English
#: transformer, spacy.io/usage/facts-figures; LAS of roberta-base, github.com/explosion/projects.
PUBLISHED = {"UDPipe 1.2": (2281, 81.08), "UDify": (92, 88.53), "spaCy, transformer": (684, 89.42)}
PICTURE = HERE.parent / "docs" / "pictures" / "speed.svg"


def draw(rows: dict[str, dict[str, Any]]) -> None:
    """One curve for each model, a point for each number of networks."""
    figure, (ax,) = new_figure(1, width=6.4, height=3.4)
    for model, colour in zip(dict.fromkeys(row["model"] for row in rows.values()), PALETTE):
        points = [row for row in rows.values() if row["model"] == model]
        speeds = [row["words_per_second"] for row in points]
        title = f"{model}, {points[0]['megabytes']:.0f} MB"
        ax.plot(speeds, [row["las"] for row in points], "o-", color=colour, label=title)
    for name, (speed, las) in PUBLISHED.items():
        ax.plot(speed, las, "o", color="0.5", fillstyle="none")
        ax.annotate(f"{name} (published)", (speed, las), (7, -3), textcoords="offset points")
    ax.set_xscale("log")
    ax.legend(frameon=False)
    ax.margins(0.1)
    title = "EWT dev, from words, by one network (right) or more"
    label(ax, title, "words a second", "LAS")
    save_figure(figure, PICTURE)


def main() -> None:
    """Time every model with every number of its networks."""
    given = arguments(
        __doc__, "dev", model=["english", "english-large", "english-best"], times=2, repeat=5
    )
    gc.set_threshold(200_000, 20, 100)  # as the command does
    gold = list(read_conllu(given.dev, require_heads=True))
    words = sum(sentence.n_words for sentence in gold)
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        one, several = Path(folder, "one.conllu"), Path(folder, "several.conllu")
        text = text_of(list(map(without_tags, gold)))
        one.write_text(text, encoding="utf-8")
        several.write_text(given.times * text, encoding="utf-8")
        calls = {}
        for model in dict.fromkeys(given.model):
            parser = Parser.load(model)
            megabytes = MODELS.path(model).stat().st_size / 1e6
            for count in range(1, len(parser.model.maker.network.members) + 1):
                fewer, name = parser.with_options(members=count), f"{model}, {count}"
                found = evaluate_text(gold, read_conllu(parse_file(fewer, one)))
                scores = {key: 100 * found[key].f1 for key in ("upos", "uas", "las")}
                rows[name] = {"model": model, "networks": count, "megabytes": megabytes, **scores}
                calls[name] = partial(parse_file, fewer, several)
        for name, seconds in race(calls, given.repeat, clock=time.process_time).items():
            rows[name]["words_per_second"] = given.times * words / seconds
    table = markdown(
        "model, networks",
        rows.items(),
        """
        words/s {words_per_second:,.0f} | MB {megabytes:.0f} | UPOS {upos:.2f} | UAS {uas:.2f}
        | LAS {las:.2f}""",
    )
    write_result("speed", {"dev": Path(given.dev).name, "words": words, "rows": rows}, table)
    draw(rows)


if __name__ == "__main__":
    main()
