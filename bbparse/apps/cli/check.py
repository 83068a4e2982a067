"""``bbparse check`` reports trees that break validity rules; ``bbparse rules`` lists the rules."""

from __future__ import annotations

from collections import Counter

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, command, say
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.rules import Rules, example_of
from bbparse.parser.validity.table import RuleTable
from bbparse.treebank import read_conllu


@command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@options.rules
def check(source: str, valid: str) -> None:
    """Check the trees of INPUT against validity rules; report each fault by line.

    The rules are about heads and relations only; see 'bbparse rules'. A warning is about a tree
    that may be right. Heads that form no tree and unknown relations are faults, too; a word without
    a head is not. The exit status is 1 if there are faults other than warnings.

    \b
    Examples:
      bbparse check out.conllu
      bbparse parse in.conllu | bbparse check
    """
    table = Rules.load(valid)
    counts: Counter[str] = Counter()
    warnings = broken = total = 0
    for sentence in read_conllu(source):
        total += 1
        faults = table.faults(sentence)
        wrong = False
        for fault in faults:
            warning = table.is_warning(fault)
            warnings += warning
            wrong |= not warning
            counts[fault.name] += not warning
            line = sentence.line_number + (sentence.word_lines[fault.word - 1] if fault.word else 0)
            text = fault.text(sentence, sentence.heads, sentence.deprels)
            kind = "warning: " if warning else ""
            click.echo(f"{source}:{line}: {kind}{text} ({sentence.name})")
        broken += wrong
    most = ", ".join(f"{name} {n:,}" for name, n in counts.most_common() if n)
    say(
        f"{counts.total():,} faults in {broken:,} of {total:,} sentences"
        + (f" ({most})" if most else "") + (f"; {warnings:,} warnings" if warnings else "")
    )  # fmt: skip
    if broken:
        raise click.exceptions.Exit(1)


@command()
@options.rules
def rules(valid: str) -> None:
    """List validity rules, each with a sentence that breaks it.

    The rules of Universal Dependencies have the names of the official validator. The format of a
    file of rules is in docs/howto/validity.md.

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
