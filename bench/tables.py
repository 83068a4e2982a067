"""Repeat Tables 2 and 3 and Figures 4 and 5 of QL13 on any treebank.

    python bench/tables.py TREEBANK… [--models DIR] [--rows baseline,siblings,all] [--epochs N]
        [--tags gold|dev] [--prune none,20,10,5,3]

A TREEBANK is a folder with one file ``*train*.conllu`` and one ``*dev*.conllu``. Its configuration
goes by the folder's name (english for en_…, chinese for zh_…, else universal) unless --config names
one. Each row of Table 2 is a model: the backbone alone, the backbone with one factor family, with
all families of the configuration. All rows of a treebank have the same network, so that they differ
in their factors only. Table 3 and the figures are measured with the last row's model.

With ``--tags dev`` the dev file is tagged (lemmas and features, too) by a tagger that learned from
the training file, and the models are those of gold tags. Accuracy is always counted against the dev
file as it is.

Models are kept in DIR and not made again, so that a run that was interrupted goes on. Treebanks
that were measured before stay in the result. ``--sentences N`` trains on and measures N sentences
only, to try the script. Speeds are by the clock of the processor: other work on the machine counts
little. Writes bench/results/tables.json, tables.md and tables-….svg for each treebank.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measure import RESULTS, arguments, markdown, read_sample, result, write_result
from one_backbone import OneBackbone

from bbparse.apps.cli.options import prune_number
from bbparse.apps.tuning.measure import Setting, measure_settings, suggest
from bbparse.apps.tuning.plots import plot_settings
from bbparse.models.configuration import Configuration
from bbparse.models.factors.registry import available
from bbparse.parser.parser import Parser
from bbparse.treebank import read_conllu, write_conllu
from bbparse.treebank.evaluation import Tally
from bbparse.treebank.significance import compare_tallies

BASELINE = "baseline"
ALL = "all"
#: By the language that the name of a treebank begins with; "universal" is that of others.
CONFIGURATIONS = {"en": "english", "zh": "chinese"}
#: Differences to the baseline in points, with their p-values.
GAIN = "+ (p) {{differences[{0}][difference]:+.2p}} ({{differences[{0}][p_value]:.3f}})"
WORK = """words/s {words_per_second:,.0f} | DP calls {dp_calls:.2f}
    | closed at root, % {closed_at_root:.2p}"""
TABLE_2 = f"""
    UAS {{uas:.2p}} | {GAIN.format("uas")} | LAS {{las:.2p}} | {GAIN.format("las")} | {WORK}"""
TABLE_3 = f"UAS {{uas:.2p}} | LAS {{las:.2p}} | {WORK}"


class Treebank:
    """A treebank, by the folder with its training and dev files, and what is made from it."""

    def __init__(self, folder: Path, given: argparse.Namespace) -> None:
        self.folder = folder.resolve().name
        tagged = given.tags == "dev"
        self.name = self.folder + (", predicted tags on dev only" if tagged else "")
        self.given = given
        language = self.folder.partition("_")[0]
        self.config = given.config or CONFIGURATIONS.get(language, "universal")
        # other options make other models, which must not be taken for these
        parts = [self.folder, self.config.replace("/", "-")]
        parts += [f"e{given.epochs}"] if given.epochs else []
        parts += [f"s{given.sentences}"] if given.sentences else []
        self.store = Path(given.models) / "_".join(parts)
        self.store.mkdir(parents=True, exist_ok=True)
        self.train, self.gold = (self._file(folder, kind) for kind in ("train", "dev"))
        self.dev = self._tagged_dev() if tagged else self.gold
        self._shared: OneBackbone | None = None

    def _file(self, folder: Path, kind: str) -> Path:
        found = sorted(folder.glob(f"*{kind}*.conllu"))
        if len(found) != 1:
            raise SystemExit(f"{folder}: expected one file *{kind}*.conllu, found {len(found)}")
        if not self.given.sentences:
            return found[0]
        cut = self.store / f"{kind}.conllu"
        if not cut.exists():
            write_conllu(cut, read_sample(found[0], self.given.sentences))
        return cut

    def _tagged_dev(self) -> Path:
        """The dev file with predicted tags."""
        dev, tagger = (self.store / name for name in ("tagged-dev.conllu", "tagger"))
        if not dev.exists():
            run("train-tagger", self.train, "--model", tagger)
            run("tag", self.gold, "--model", tagger, "--output", dev)
        return dev

    def settings(self) -> Configuration:
        """The configuration with what the command line changes in it."""
        given = self.given
        config = Configuration.load(self.config).with_("network", epochs=given.epochs)
        return config.with_("factors", fold_epochs=given.epochs)

    def rows(self) -> dict[str, list[str]]:
        """Name of each row of Table 2 → its factor families."""
        families = Configuration.load(self.config).factors.families
        rows = {BASELINE: [], **{name: [name] for name in available()}, ALL: list(families)}
        wanted = self.given.rows.split(",") if self.given.rows else [BASELINE, *families, ALL]
        for name in wanted:
            if name not in rows:
                raise SystemExit(f"no row {name!r}; there are {', '.join(rows)}")
        return {name: rows[name] for name in rows if name in wanted}

    def row(self, name: str, families: list[str]) -> tuple[dict[str, Any], Tally]:
        """The figures and counts of one model, made now or before."""
        model = self.store / f"{name}.model"
        clock = model.with_suffix(".seconds")
        if not model.exists():
            if self._shared is None:
                train, gold = (list(read_conllu(file)) for file in (self.train, self.gold))
                self._shared = OneBackbone(train, gold, self.settings(), self.store / "checkpoint")
            trained, cost = self._shared.parser(families)
            trained.save(model)
            clock.write_text(str(cost))
        parser = Parser.load(model)
        (found,) = self.measured(parser, [parser.model.config.pruner.k])
        # where a run was interrupted, training took longer than the clock says
        seconds = float(clock.read_text()) if clock.exists() else 0.0
        figures = {
            **found.as_dict(),
            **found.tally.scores().as_dict(),
            "families": families,
            "factor_features": len(parser.model.maker.table.pruned()),
            "training_seconds": seconds,
        }
        return figures, found.tally

    def measured(self, parser: Parser, prunes: list[int]) -> list[Setting]:
        """Accuracy, work and speed by the processor's clock; one pass for each and for speed."""
        return measure_settings(
            parser,
            list(read_conllu(self.dev, require_heads=True)),
            prunes,
            passes=1,
            node_limit=200,
            valid="none",
            clock=time.process_time,
        )

    def table_2(self) -> list[tuple[str, dict[str, Any]]]:
        """Every row, with its differences to the baseline."""
        rows: list[tuple[str, dict[str, Any]]] = []
        baseline: Tally | None = None
        for name, families in self.rows().items():
            row, tally = self.row(name, families)
            row["differences"] = {}
            if name == BASELINE:
                baseline = tally
            elif baseline is not None:
                found = compare_tallies(tally, baseline)
                row["differences"] = {m: asdict(found[m]) for m in ("uas", "las", "uas_no_punct")}
            rows.append((name if name == BASELINE else f"+ {name}", row))
            print(markdown(self.name, rows, TABLE_2), flush=True)
        return rows

    def table_3(self) -> list[Setting]:
        """The last row's model under several numbers of candidate heads; draws the figures."""
        model = self.store / f"{list(self.rows())[-1]}.model"
        prunes = [prune_number(name) for name in self.given.prune.split(",")]
        settings = self.measured(Parser.load(model), prunes)
        plot_settings(
            settings, RESULTS / f"tables-{self.store.name}.svg", suggestion=suggest(settings, 0.001)
        )
        return settings


def run(*arguments: object) -> None:
    """A command of bbparse."""
    command = [sys.executable, "-m", "bbparse", *map(str, arguments)]
    subprocess.run(command, check=True)


def main() -> None:
    """Make every table of every treebank."""
    given = arguments(
        __doc__,
        "treebanks+",
        models="build/tables",
        config=str,
        rows=str,
        epochs=int,
        tags=("gold", "dev"),
        prune="none,20,10,5,3",
        sentences=int,
    )
    RESULTS.mkdir(exist_ok=True)
    found = result("tables").get("treebanks", {})
    for folder in map(Path, given.treebanks):
        treebank = Treebank(folder, given)
        config = treebank.settings()
        found[treebank.name] = {
            "config": treebank.config,
            "runs": f"{config.network.epochs} epochs for the network,"
            f" {config.factors.fold_epochs} for those of the folds.",
            "table_2": dict(treebank.table_2()),
        }
        if given.prune:
            settings = [s for s in treebank.table_3() if not s.failure]
            found[treebank.name]["table_3"] = {s.name: s.as_dict() for s in settings}
        write_result("tables", {"treebanks": found}, text_of(found))


def text_of(found: dict[str, Any]) -> str:
    """The tables of all treebanks in Markdown."""
    models = [
        (name if model == BASELINE else f"{name} {model}", row)
        for name, tables in found.items()
        for model, row in tables["table_2"].items()
    ]
    heads = [
        (f"{name}, {prune}", row)
        for name, tables in found.items()
        for prune, row in tables.get("table_3", {}).items()
    ]
    return "\n".join(
        [
            markdown("treebank, + family", models, TABLE_2),
            markdown("treebank, candidate heads", heads, TABLE_3),
        ]
    )


if __name__ == "__main__":
    main()
