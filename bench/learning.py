"""Choices of learning, each judged on the dev set against the one before it.

    python bench/learning.py TRAIN DEV [--config english] [--only NAME,NAME…] [--sentences N]

Trains the backbone of a configuration (no factors) under each of the choices of `CHOICES`, all on
the same candidate arcs. Every row changes the row it is compared with, as said there; p-values are
those of the paired bootstrap over the sentences of the dev set, seconds the processor's. With
``--labels`` trees are labelled, too, which takes a minute a row more. Figures of rows that were
done before are kept in ``--store``, and not made again. Writes bench/results/learning.json and
learning.md.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measure import machine, markdown, read_sample, write_result

from bbparse.configuration import Configuration
from bbparse.configuration.templates import KINDS
from bbparse.learning.candidates import guide_all, prune_all
from bbparse.learning.data import prepare
from bbparse.learning.labeller import train_labeller
from bbparse.learning.run import Run
from bbparse.parsing.parser import Parser
from bbparse.treebank import Sentence, Tally, compare_tallies


@dataclass(frozen=True)
class Choice:
    """A row: its name, the row it changes and is compared with, and what it changes."""

    name: str
    base: str | None
    changes: dict[str, Any]


#: Learning as it was, one change after the other up to what `english` has, and rivals of these.
CHOICES = (
    Choice("plain", None, {
        "guide.epochs": 0, "guide.least": 0, "learning.start": 1.0, "learning.rate": 0.1,
        "learning.average_from": 1, "learning.restarts": 1,
        "learning.keep": 1.0, "learning.bits": 32,
    }),
    Choice("cost 1", "plain", {"learning.cost": 1.0}),
    Choice("perceptron", "plain", {"learning.method": "perceptron", "learning.cost": 0.0}),
    Choice("passive-aggressive", "plain",
           {"learning.method": "passive-aggressive", "learning.rate": 0.01, "learning.cost": 1.0}),
    Choice("slow start", "plain", {"learning.start": 50.0, "learning.rate": 0.25}),
    Choice("late average", "slow start", {"learning.average_from": 3}),
    Choice("three restarts", "late average", {"learning.restarts": 3}),
    Choice("network", "three restarts",
           {"guide.epochs": 10, "guide.rate": 0.004}),
    Choice("fewer candidates", "network", {"guide.least": 1}),
    Choice("fewer weights", "fewer candidates", {"learning.keep": 0.3, "learning.bits": 8}),
)  # fmt: skip

COLUMNS = (
    ("against", lambda row: row["base"] or ""),
    ("UAS", lambda row: f"{100 * row['uas']:.2f}"),
    ("+ (p)", lambda row: _gain(row, "uas")),
    ("LAS", lambda row: f"{100 * row['las']:.2f}" if row["las"] is not None else ""),
    ("training UAS", lambda row: f"{100 * row['train_uas']:.2f}" if row["train_uas"] else ""),
    ("seconds", lambda row: f"{row['seconds']:.0f}"),
)


def _gain(row: dict[str, Any], measure: str) -> str:
    found = row["differences"].get(measure)
    return f"{100 * found['difference']:+.2f} ({found['p_value']:.3f})" if found else ""


def configured(base: Configuration, changes: dict[str, Any]) -> Configuration:
    """A configuration with changes; without a guide its templates lose the guide's atoms."""
    table = base.to_table()
    for name, value in changes.items():
        part, key = name.split(".")
        table[part][key] = value
    table["factors"]["families"] = []
    if not table["guide"]["epochs"]:
        for templates in (table["templates"], table["labels"]["templates"]):
            for kind in KINDS:
                templates[kind] = [line for line in templates.get(kind, ()) if not _asks(line)]
    return Configuration.from_table(table)


def _asks(line: str) -> bool:
    """Whether a line of templates asks the guide."""
    return any(f"@{name}" in line for name in ("label", "odds", "slabel", "glabel"))


class Experiment:
    """Training under several choices over the same candidate arcs.

    Parameters
    ----------
    train, dev : list of Sentence
    base : Configuration
    labels : bool
        Whether to label the trees.
    """

    def __init__(
        self, train: list[Sentence], dev: list[Sentence], base: Configuration, labels: bool
    ) -> None:
        self.dev, self.base, self.labels = dev, base, labels
        self.data = prepare(train, base.model)
        self.pruner = prune_all(self.data, base)
        self.candidates = self.data.arcs
        self.guides: dict[str, tuple[Any, list, list]] = {}

    def run(self, config: Configuration) -> tuple[list[list[int]], list[list[str]], dict[str, Any]]:
        """Heads and labels of the dev set, and figures."""
        started = time.process_time()
        self._guide(config)
        lines: list[str] = []
        run = Run(config, self.data, self.pruner, self.dev, lambda line: _say(line, lines))
        model = run.thinned(run.learn())
        if self.labels:
            model.labeller = train_labeller(config, self.data)
        seconds = time.process_time() - started
        heads, labels = [], []
        for found in Parser(model).parse_all(self.dev, node_limit=config.learning.node_limit):
            heads.append(found.solution.heads[0, 1:].tolist())
            labels.append(found.labels[0] if found.labels else [])
        training = [line.split(" on training")[0].split()[-1] for line in lines if "epoch" in line]
        return heads, labels, {
            "seconds": seconds, "train_uas": float(training[-1]) / 100 if training else None,
            "lines": lines,
        }  # fmt: skip

    def _guide(self, config: Configuration) -> None:
        """The guide of a configuration, trained once."""
        table = config.to_table()
        key = json.dumps([table["guide"], table["network"]])
        if key not in self.guides:
            self.data = replace(
                self.data, guide=None, marks=[], arcs=self.candidates
            )
            guide_all(self.data, config)
            self.guides[key] = (self.data.guide, self.data.marks, self.data.arcs)
        guide, marks, arcs = self.guides[key]
        self.data = replace(self.data, guide=guide, marks=marks, arcs=arcs)


def _say(line: str, lines: list[str]) -> None:
    lines.append(line)
    print(f"  {line}", flush=True)


def tally_of(dev: list[Sentence], heads: list[list[int]], labels: list[list[str]]) -> Tally:
    """Counts of right arcs, sentence by sentence."""
    tally = Tally()
    for sentence, own, names in zip(dev, heads, labels):
        tally.add(sentence, own, names or None)
    return tally


def main() -> None:
    """Run the choices that were asked for."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("train")
    arguments.add_argument("dev")
    arguments.add_argument("--config", default="english")
    arguments.add_argument("--only", help="names of rows, separated by commas")
    arguments.add_argument("--labels", action="store_true", help="label the trees, too")
    arguments.add_argument("--sentences", type=int, help="train on so many only")
    arguments.add_argument("--store", default="build/learning", help="folder of finished rows")
    given = arguments.parse_args()
    names = given.only.split(",") if given.only else [choice.name for choice in CHOICES]
    known = {choice.name: choice for choice in CHOICES}
    for name in names:
        if name not in known:
            arguments.error(f"there is no row {name!r}; there are {', '.join(known)}")

    base = Configuration.load(given.config)
    train, dev = read_sample(given.train, given.sentences), read_sample(given.dev, None)
    labelled = "labels" if given.labels else "heads"
    label = "_".join([Path(given.config).stem, Path(given.train).stem, labelled])
    store = Path(given.store) / (f"{label}_{given.sentences}" if given.sentences else label)
    store.mkdir(parents=True, exist_ok=True)
    experiment: Experiment | None = None
    rows: dict[str, dict[str, Any]] = {}
    tallies: dict[str, Tally] = {}
    for choice in CHOICES:
        if choice.name not in names:
            continue
        changes = _changes(known, choice)
        config = configured(base, changes)
        file = store / f"{choice.name.replace(' ', '-')}.json"
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        if kept is None or kept["config"] != config.to_table():
            print(choice.name, flush=True)
            experiment = experiment or Experiment(train, dev, base, given.labels)
            heads, labels, figures = experiment.run(config)
            kept = {
                "config": config.to_table(), "heads": heads, "labels": labels, "figures": figures
            }  # fmt: skip
            file.write_text(json.dumps(kept), encoding="utf-8")
        tallies[choice.name] = tally_of(dev, kept["heads"], kept["labels"])
        scores = tallies[choice.name].scores()
        other = tallies.get(choice.base or "")
        found = compare_tallies(tallies[choice.name], other) if other is not None else {}
        rows[choice.name] = {
            "base": choice.base, "changes": changes, "uas": scores.uas,
            "las": scores.las if given.labels else None, **kept["figures"],
            "differences": {
                name: {"difference": d.difference, "p_value": d.p_value}
                for name, d in found.items()
            },
        }  # fmt: skip
        names_of = f"{Path(given.config).stem}, {Path(given.train).stem} → {Path(given.dev).stem}"
        text = f"{names_of}, {len(train):,} training sentences.\n\n"
        text += markdown("choice", rows.items(), COLUMNS)
        result = {
            "machine": machine(), "config": given.config, "train": Path(given.train).name,
            "dev": Path(given.dev).name, "sentences": len(train), "rows": rows,
        }  # fmt: skip
        write_result("learning", result, text)
    print(text)


def _changes(known: dict[str, Choice], choice: Choice) -> dict[str, Any]:
    """All changes to the configuration, those of the rows it builds on among them."""
    earlier = _changes(known, known[choice.base]) if choice.base else {}
    return {**earlier, **choice.changes}


if __name__ == "__main__":
    main()
