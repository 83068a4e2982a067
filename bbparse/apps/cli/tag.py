"""``bbparse tag``: tag all words of a file."""

from __future__ import annotations

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, command, option
from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.models.model_file import load_tagger
from bbparse.runtime.progress import watched
from bbparse.treebank import read_conllu, write_conllu


@command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@option("--model", "A tagger, or a model with a tagger in it.", MODELS, DEFAULT_MODEL)
@options.output
def tag(source: str, model: str, output: str) -> None:
    """Tag CoNLL-U or CoNLL-X: predict LEMMA, UPOS, XPOS and FEATS.

    \b
    Examples:
      bbparse tag in.conllu -o tagged.conllu
      bbparse tag in.conllu --model my.tagger -o tagged.conllu
    """
    tagger, _ = load_tagger(MODELS.path(model))
    write_conllu(output, tagger.tag(watched(read_conllu(source), "tagged")))
