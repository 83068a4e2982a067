"""``bbparse check``: which trees break which rules."""

from __future__ import annotations

from collections import Counter

import click

from bbparse.cli import options
from bbparse.cli.files import FILE
from bbparse.treebank import read_conllu
from bbparse.validity.rules import Rules


@click.command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@options.rules
def check(source: str, valid: str) -> None:
    """Say which trees of INPUT break which rules, line by line.

    Rules are those on heads and relations only, see 'bbparse rules'; warnings are about trees that
    may be right. The exit status is 1 if there are faults that are no warnings.

    \b
    Examples:
      bbparse check out.conllu
      bbparse parse in.conllu | bbparse check
    """
    rules = Rules.load(valid)
    counts: Counter[str] = Counter()
    warnings = broken = total = 0
    for sentence in read_conllu(source):
        total += 1
        found = rules.faults(sentence)
        wrong = False
        for fault in found:
            warning = rules.entries[fault.entry].rule.warning
            warnings += warning
            wrong |= not warning
            counts[fault.name] += not warning
            line = sentence.line_number + (sentence.word_lines[fault.word - 1] if fault.word else 0)
            text = fault.text(sentence, sentence.heads, sentence.deprels)
            kind = "warning: " if warning else ""
            click.echo(f"{source}:{line}: {kind}{text} ({sentence.name})")
        broken += wrong
    most = ", ".join(f"{name} {n:,}" for name, n in counts.most_common() if n)
    click.echo(
        f"{counts.total():,} faults in {broken:,} of {total:,} sentences"
        + (f" ({most})" if most else "") + (f"; {warnings:,} warnings" if warnings else ""),
        err=True,
    )  # fmt: skip
    if broken:
        raise click.exceptions.Exit(1)
