"""``bbparse parse --output-dir``: shards in, shards out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from bbparse.cli import options
from bbparse.errors import TreebankError


def parse_shards(
    sources: Sequence[str],
    folder: str,
    model: str,
    cluster: str | None,
    *,
    threads: int,
    colour: bool | None,
    **settings: Any,
) -> None:
    """What the command does with ``--output-dir``; see its options.

    Raises
    ------
    TreebankError
        If some shards cannot be parsed, after the others are.
    """
    from bbparse.corpus import Recipe, Settings, parse_corpus  # only where it is asked for

    recipe = Recipe.of(model, Settings(**settings), options.given_factors())
    done = parse_corpus(
        sources, folder, recipe, workers=threads, cluster=cluster,
        tell=lambda text: click.echo(f"bbparse: {text}", err=True),
        show_progress=sys.stderr.isatty(),
    )  # fmt: skip
    click.echo(
        f"bbparse: {done.parsed} shards parsed ({done.sentences} sentences, {done.words} words),"
        f" {done.kept} were done already",
        err=True,
    )
    if done.failed:
        raise TreebankError(
            f"{done.failed} shards cannot be parsed: see above, and {folder}/manifest.jsonl"
        )
