"""``bbparse calibrate``: learn how sure a model may be."""

from __future__ import annotations

import click

from bbparse.cli import options
from bbparse.cli.files import FILE
from bbparse.cli.sources import load_parser
from bbparse.errors import ModelError
from bbparse.treebank import read_conllu


@click.command()
@click.argument("treebank", type=FILE, metavar="DEV")
@options.model
@options.new_model
@click.option(
    "--tags", type=click.Choice(["given", "own"]), default="given", show_default=True,
    help="Parse with the tags that DEV has, or with those of the model's tagger.",
)  # fmt: skip
def calibrate(treebank: str, model: str, output: str, tags: str) -> None:
    """Learn from DEV, gold trees that the model was not trained on, how often its arcs are right.

    'bbparse parse --confidence' needs it; 'bbparse train' does it with its dev treebank. Chances
    are those of input with tags of such quality. Trees stay what they are.

    \b
    Example:
      bbparse calibrate dev.conllu --model en.model --output en-sure.model
    """
    parser = load_parser(model)
    gold = read_conllu(treebank, require_heads=True)
    if tags == "own":
        if parser.tagger is None:
            raise ModelError("the model has no tagger, expected one for --tags own")
        gold = map(parser.tagger, gold)
    right = parser.calibrate(gold)
    parser.save(output)
    click.echo(f"wrote {output}: {right.mean():.2%} of {len(right):,} arcs are right", err=True)
