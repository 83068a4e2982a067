"""``bbparse rules``: what trees should keep."""

from __future__ import annotations

import click

from bbparse.cli import options
from bbparse.validity.check import RuledSentence
from bbparse.validity.rules import Rules, example_of
from bbparse.validity.table import RuleTable


@click.command()
@options.rules
def rules(valid: str) -> None:
    """List rules of valid trees, each with a sentence that breaks it.

    The names of those of Universal Dependencies are the official validator's. A file of rules is
    of the form that docs/validity.md describes.

    \b
    Example:
      bbparse rules --valid my-rules.toml
    """
    for rule in Rules.load(valid).rules:
        click.echo(rule.name + (" (warning)" if rule.warning else ""))
        if rule.says:
            click.echo(f"    {rule.says}")
        if rule.example:
            s = example_of(rule)
            for fault in RuledSentence(RuleTable([rule]), s).faults(s.heads, s.deprels)[:1]:
                what = fault.text(s, s.heads, s.deprels).partition(": ")[2]
                click.echo(f"    not: {s.text} ({what})")
        if rule.source:
            click.echo(f"    {rule.source}")
