"""``bbparse train-encoder``: tune an encoder to a treebank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bbparse.apps.cli.common import FILE, OutputFolder, RealRange, command, flag, option, say
from bbparse.apps.cli.train import encoder_layers, read_trees
from bbparse.neural.embeddings.tuning import RATE, tune_encoder


@command("train-encoder")
@click.argument("encoder", type=click.Path(exists=True, file_okay=False), metavar="FOLDER")
@click.argument("treebanks", type=FILE, metavar="TRAIN…", nargs=-1, required=True)
@option("--output", "Folder to make.", OutputFolder(), required=True)
@encoder_layers
@option("--passes", "How often each sentence is read.", RealRange(0.0, 1e3), 3.0, metavar="N")
@option(
    "--rate",
    "Largest step of a weight; more for smaller encoders.",
    RealRange(0.0, 1.0),
    RATE,
    metavar="R",
)
@option("--seed", "Random seed.", click.IntRange(0), 1, metavar="S")
@flag("--skip-invalid", "Leave out sentences without a well-formed tree; report their number.")
def train_encoder(
    encoder: str,
    treebanks: tuple[str, ...],
    output: Path,
    encoder_layers: int | tuple[int, int] | None,
    passes: float,
    rate: float,
    seed: int,
    skip_invalid: bool,
) -> None:
    """Tune the encoder in FOLDER to the trees and tags of TRAIN.

    The encoder is one like BERT, XLM-R or MPNet; see 'bbparse train --encoder'. The new folder has
    the layers that are used, and 'bbparse train --encoder' takes it with the same --encoder-layers.
    Needs PyTorch, and for eight layers of MPNet and 200,000 words 45 minutes of a core; a GPU is
    used if there is one.

    \b
    Example:
      bbparse train-encoder all-mpnet-base-v2 train.conllu --encoder-layers 5-8 --output tuned
      bbparse train train.conllu --encoder tuned --encoder-layers 5-8 --model my.model
    """
    sentences = read_trees(treebanks, skip_invalid, single_root=False)
    how: dict[str, Any] = {"passes": passes, "rate": rate, "seed": seed}
    tune_encoder(encoder, sentences, output, layers=encoder_layers, **how)
    say(f"wrote {output}")
