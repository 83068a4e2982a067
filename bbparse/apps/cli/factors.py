"""``bbparse factors``: the factor families that are installed."""

from __future__ import annotations

import click

from bbparse.apps.cli.common import aligned, command
from bbparse.models.factors.registry import available
from bbparse.runtime.errors import FactorError, one_line


@command()
def factors() -> None:
    """List the installed factor families: name, description and package.

    'bbparse train --factors' takes these names. A family that cannot be loaded is listed with the
    reason.

    \b
    Example:
      bbparse factors
    """
    entries = available()
    if not entries:
        click.echo("no factor families are installed")
        return
    rows = []
    for name, entry in entries.items():
        try:
            summary = entry.load().summary
        except FactorError as error:
            summary = f"cannot be loaded: {one_line(error)}"
        rows.append((name, summary, entry.package))
    click.echo(aligned(rows, left=[0, 1, 2]))
