"""``bbparse bundle``: a parser and a tagger in one model."""

from __future__ import annotations

import click

from bbparse.cli import options
from bbparse.cli.files import FILE
from bbparse.cli.sources import tell_unused
from bbparse.model.file import load_model, load_tagger, save_model


@click.command()
@click.argument("parser", type=FILE, metavar="PARSER")
@click.argument("tagger", type=FILE, metavar="TAGGER")
@options.new_model
@options.factors
def bundle(parser: str, tagger: str, output: str) -> None:
    """Put TAGGER into the model PARSER, so that it parses words without tags, and running text.

    TAGGER is a tagger or another model; what the model had before is replaced.

    \b
    Example:
      bbparse bundle en.model en.tagger --output en-text.model
    """
    model = load_model(parser, options.given_factors())
    tell_unused(model.maker.families)
    model.tagger, cutter = load_tagger(tagger)
    model.cutter = cutter or model.cutter
    save_model(model, output)
    click.echo(f"wrote {output}", err=True)
