"""Models that commands work with, and the families that ``--factors`` gives for them."""

from __future__ import annotations

from collections.abc import Iterable

import click

from bbparse.cli import options
from bbparse.factors import FactorFamily, load_families
from bbparse.parsing.compiling import load_compiled
from bbparse.parsing.parser import Parser


def load_parser(model: str) -> Parser:
    """The parser, ready to run."""
    parser = load_compiled(model, options.given_factors())
    tell_unused(parser.maker.families)
    return parser


def tell_unused(needed: Iterable[FactorFamily]) -> None:
    """Name the families of ``--factors`` that a model does without."""
    names = {family.name for family in needed}
    for family in load_families(options.given_factors()):
        if family.name not in names:
            click.echo(f"bbparse: the model has no factors of {family.name}: not used", err=True)
