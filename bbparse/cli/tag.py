"""``bbparse tag``: UPOS, XPOS, FEATS and lemmas for every word of a file."""

from __future__ import annotations

import sys

import click
from tqdm import tqdm

from bbparse.cli import options
from bbparse.cli.common import FILE, FileOrName
from bbparse.model import DEFAULT_MODEL, MODELS
from bbparse.model.file import load_tagger
from bbparse.tagging.jackknife import jackknife
from bbparse.treebank import read_conllu, write_conllu


@click.command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@click.option(
    "--model", type=FileOrName(MODELS.names), metavar="NAME|FILE",
    help=f"Tagger, or parser with a tagger in its model.  [default: {DEFAULT_MODEL}]",
)  # fmt: skip
@options.output
@click.option(
    "--jackknife", "folds", type=click.IntRange(2), metavar="K",
    help="Tag INPUT by taggers trained on the other K-1 parts of it; needs no model.",
)  # fmt: skip
def tag(source: str, model: str | None, output: str, folds: int | None) -> None:
    """Tag CoNLL-U or CoNLL-X; only LEMMA, UPOS, XPOS and FEATS change.

    A parser that is to work with predicted tags is trained best on predicted tags: --jackknife
    writes a training treebank as a tagger that has not seen it would tag it.

    \b
    Examples:
      bbparse tag in.conllu -o tagged.conllu
      bbparse tag in.conllu --model my.tagger -o tagged.conllu
      bbparse tag train.conllu --jackknife 10 -o train-tagged.conllu
    """
    if folds is not None:
        if model is not None:
            raise click.UsageError("--jackknife trains taggers of its own: leave --model out")
        terminal = sys.stderr.isatty()
        sentences = list(read_conllu(source))
        tagged = jackknife(
            sentences, folds, progress=terminal, report=lambda line: click.echo(line, err=True)
        )
        write_conllu(output, tagged)
        return
    tagger, _ = load_tagger(MODELS.path(model or DEFAULT_MODEL))
    silent = not sys.stderr.isatty() or (output == "-" and sys.stdout.isatty())
    stream = tqdm(read_conllu(source), unit=" sentences", delay=2, disable=silent)
    write_conllu(output, map(tagger, stream))
