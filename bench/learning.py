"""Choices of learning, each judged on the dev set against another.

    python bench/learning.py TRAIN DEV [--config english] [--only NAME,NAME…] [--sentences N]

Trains the network of a configuration (no factors) under each of the choices of `CHOICES`. Every row
changes the row it is compared with, as said there; p-values are those of the paired bootstrap over
the sentences of the dev set, seconds the processor's. Figures of rows that were done before are
kept in ``--store``, and not made again. Writes bench/results/learning.json and learning.md.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import arguments, machine, markdown, read_sample, write_result

from bbparse.configuration import Configuration
from bbparse.learning.data import prepare
from bbparse.learning.network import learn_with_network
from bbparse.learning.run import Run
from bbparse.parsing.parser import Parser
from bbparse.treebank import Sentence, Tally, compare_tallies


@dataclass(frozen=True)
class Choice:
    """A row: its name, the row it changes and is compared with, and what it changes."""

    name: str
    base: str | None
    changes: dict[str, Any]


#: The network of a configuration, and others.
CHOICES = (
    Choice("network", None, {}),
    Choice("another seed", "network", {"learning.seed": 2}),
    Choice("convolutions alone", "network", {"network.layers": "ccc"}),
    Choice("one recurrence", "network", {"network.layers": "r"}),
    Choice("half the width", "network", {"network.word": 48, "network.width": 96}),
    Choice("small parts", "network", {"network.parts": 16}),
    Choice("ten passes", "network", {"network.epochs": 10}),
    Choice("large batches", "network", {"network.batch": 1024}),
    Choice("two networks", "network", {"network.members": 2}),
    Choice("three networks", "two networks", {"network.members": 3}),
    Choice("less dropout", "network", {"network.dropout": 0.2}),
    Choice("all words known", "network", {"network.word_dropout": 0.0}),
)

COLUMNS = (
    ("against", lambda row: row["base"] or ""),
    ("UAS", lambda row: f"{100 * row['uas']:.2f}"),
    ("+ (p)", lambda row: _gain(row, "uas")),
    ("LAS", lambda row: f"{100 * row['las']:.2f}"),
    ("+ (p)", lambda row: _gain(row, "las")),
    ("seconds", lambda row: f"{row['seconds']:.0f}"),
)


def _gain(row: dict[str, Any], measure: str) -> str:
    found = row["differences"].get(measure)
    return f"{100 * found['difference']:+.2f} ({found['p_value']:.3f})" if found else ""


def configured(base: Configuration, changes: dict[str, Any]) -> Configuration:
    """A configuration with changes, of one network, without factors."""
    config = base.with_("factors", families=()).with_("network", members=1)
    for name, value in changes.items():
        part, key = name.split(".")
        config = config.with_(part, **{key: value})
    return config


def trained(
    train: list[Sentence], dev: list[Sentence], config: Configuration
) -> tuple[list[list[int]], list[list[str]], dict[str, Any]]:
    """Heads and labels of the dev set by a network that is trained now, and figures."""
    started = time.process_time()
    lines: list[str] = []
    data = prepare(train, config.model)
    run = Run(config, data, None, dev, lambda line: _say(line, lines))
    parser = Parser(learn_with_network(run, ()))
    seconds = time.process_time() - started
    heads, labels = [], []
    for found in parser.parse_all(dev, node_limit=config.learning.node_limit):
        heads.append(found.solution.heads[0, 1:].tolist())
        labels.append(found.labels[0] if found.labels else [])
    return heads, labels, {"seconds": seconds, "lines": lines}


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
    given = arguments(
        __doc__, "train", "dev", config="english", only=str, sentences=int, store="build/learning"
    )
    names = given.only.split(",") if given.only else [choice.name for choice in CHOICES]
    known = {choice.name: choice for choice in CHOICES}
    for name in names:
        if name not in known:
            raise SystemExit(f"there is no row {name!r}; there are {', '.join(known)}")
    base = Configuration.load(given.config)
    train, dev = read_sample(given.train, given.sentences), read_sample(given.dev, None)
    label = "_".join([Path(given.config).stem, Path(given.train).stem])
    store = Path(given.store) / (f"{label}_{given.sentences}" if given.sentences else label)
    store.mkdir(parents=True, exist_ok=True)
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
            heads, labels, figures = trained(train, dev, config)
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
            "las": scores.las, **kept["figures"],
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
