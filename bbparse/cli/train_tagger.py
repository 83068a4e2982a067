"""``bbparse train-tagger``: learn a tagger from a treebank."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bbparse.cli.common import FILE
from bbparse.cli.outside import given_outside, outside_options
from bbparse.model.file import save_tagger
from bbparse.storage.output import check_output
from bbparse.tagging import TaggerSettings, accuracy
from bbparse.tagging import train_tagger as learn
from bbparse.text import train_cutter
from bbparse.treebank import read_conllu


@click.command("train-tagger")
@click.argument("treebank", type=FILE, metavar="TRAIN")
@click.option("--dev", type=FILE, metavar="FILE", help="Treebank to report the accuracy on.")
@click.option(
    "--model", required=True, type=FILE, metavar="FILE",
    help="Where to write the tagger.",
)  # fmt: skip
@click.option("--epochs", type=click.IntRange(1), metavar="N", help="Passes over TRAIN.")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Of the order of sentences.")
@outside_options
def train_tagger(
    treebank: str, dev: str | None, model: str, epochs: int | None, seed: int | None, **vectors: Any
) -> None:
    """Learn UPOS, XPOS, FEATS and lemmas from the words of TRAIN, and how its text is cut.

    TRAIN and the dev treebank are CoNLL-U or CoNLL-X files. Columns that TRAIN leaves empty stay
    empty.

    \b
    Example:
      bbparse train-tagger train.conllu --dev dev.conllu --model en.tagger
    """
    target = Path(model)
    check_output(target)
    passing = target.with_name(target.name + ".states")
    take = given_outside(vectors, passing)
    settings = TaggerSettings()
    if seed is not None:
        settings = replace(settings, seed=seed)
    if epochs is not None:
        settings = settings.with_epochs(epochs)
    sentences = list(read_conllu(treebank))
    dev_sentences = list(read_conllu(dev)) if dev is not None else []
    source = None if take is None else take(sentences, dev_sentences)
    tagger = learn(sentences, settings, outside=source, progress=sys.stderr.isatty())
    if dev_sentences:
        scores = accuracy(tagger, dev_sentences)
        tagger.notes["dev"] = {name: round(share, 6) for name, share in scores.items()}
        shown = ", ".join(f"{name} {100 * share:.2f}" for name, share in scores.items())
        click.echo(f"dev: {shown}", err=True)
    save_tagger(target, tagger, train_cutter(sentences))
    shutil.rmtree(passing, ignore_errors=True)
    click.echo(f"wrote {target}", err=True)
