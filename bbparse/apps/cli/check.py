"""``bbparse check`` reports trees that break validity rules; ``bbparse rules`` lists the rules."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, command, flag, option, say
from bbparse.models import MODELS
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.rules import Rules, example_of
from bbparse.runtime.errors import counted
from bbparse.treebank import NO_HEAD, read_conllu
from bbparse.treebank.graph import graph_faults
from bbparse.treebank.variation import Occurrence, Variation, variations

if TYPE_CHECKING:
    from bbparse.parser.arc_scores import ModelScores


@command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@options.rules
@flag(
    "--consistent",
    "Check instead whether the same words in the same context have the same analysis.",
)
@option(
    "--model",
    "With --consistent: sort by the probability that this model gives to each analysis,"
    " lowest first.",
    MODELS,
)
def check(source: str, valid: str, consistent: bool, model: str | None) -> None:
    """Check the trees of INPUT against validity rules; report each fault by line.

    The rules concern heads and relations only; see 'bbparse rules'. A warning marks a tree that may
    be right. Heads that form no tree and unknown relations are faults; a word without a head is
    not. Enhanced graphs, in DEPS, are checked by UD's rules for them. The exit status is 1 if there
    are faults other than warnings.

    With --consistent, the command finds word sequences that are analysed in different ways although
    their neighbours are the same (variation nuclei: Dickinson & Meurers 2003), and reports the
    places with the rarer analyses.

    \b
    Examples:
      bbparse check out.conllu
      bbparse check treebank.conllu --consistent --model english
      bbparse parse in.conllu | bbparse check
    """
    if consistent:
        _check_consistency(source, model)
        return
    if model is not None:
        raise click.UsageError("--model is for --consistent")
    table = Rules.load(valid)
    counts: Counter[str] = Counter()
    warnings = broken = total = 0
    for sentence in read_conllu(source):
        total += 1
        is_broken = False
        for fault in table.faults(sentence):
            warning = table.is_warning(fault)
            warnings += warning
            counts[fault.name] += not warning
            is_broken |= not warning
            line = sentence.line_of(fault.word)
            text = fault.text(sentence, sentence.heads, sentence.deprels)
            kind = "warning: " if warning else ""
            click.echo(f"{source}:{line}: {kind}{text} ({sentence.name})")
        for i, text in graph_faults(sentence):
            counts[text.partition(":")[0]] += 1
            is_broken = True
            click.echo(f"{source}:{sentence.line_number + i}: {text} ({sentence.name})")
        broken += is_broken
    most = ", ".join(f"{name} {n:,}" for name, n in counts.most_common() if n)
    say(
        f"{counted(counts.total(), 'fault')} in {broken:,} of {counted(total, 'sentence')}"
        + (f" ({most})" if most else "")
        + (f"; {counted(warnings, 'warning')}" if warnings else "")
    )
    if broken:
        raise click.exceptions.Exit(1)


def _check_consistency(source: str, model: str | None) -> None:
    """Report the places of rarer analyses; exit with status 1 if there are any."""
    scores = None
    if model is not None:
        from bbparse.parser.arc_scores import ModelScores  # needs numba
        from bbparse.parser.parser import Parser

        scores = ModelScores(Parser.load(model))
    found = variations(read_conllu(source))
    reports = [_report(place, v, scores) for v in found for place in v.suspects()]
    for _, place, text in sorted(reports, key=lambda report: report[0]):
        word, sentence = place.modifier, place.sentence
        click.echo(f"{source}:{sentence.line_of(word)}: word {word}: {text} ({sentence.name})")
    say(f"{len(reports):,} places with a rarer analysis; sequences of words: {len(found):,}")
    if reports:
        raise click.exceptions.Exit(1)


def _report(
    place: Occurrence, variation: Variation, scores: ModelScores | None
) -> tuple[float, Occurrence, str]:
    """Return a sort key, the most doubtful first, the place and its report."""
    others = [(analysis, n) for analysis, n in variation.counts() if analysis != place.analysis]
    sentence, word = place.sentence, place.modifier
    words = " ".join(sentence.forms[place.first - 1 : place.last])
    times = [f"{analysis} {'once' if n == 1 else f'{n} times'}" for analysis, n in others]
    text = f"{words!r}: {place.analysis} here, {', '.join(times)} elsewhere"
    if scores is None:
        return 0.0, place, text
    table, labels = scores(sentence), scores.labels

    def probability(head: int, mod: int, label: str) -> float:
        is_known = head != NO_HEAD and label in labels
        return math.exp(table[mod, head, labels.index(label)]) if is_known else 0.0

    here = probability(sentence.heads[word - 1], word, sentence.deprels[word - 1])
    text += f"; model: {here:.0%} as here"
    ends = {"left": (place.last, place.first), "right": (place.first, place.last)}
    arcs = [probability(*ends[x.side], x.label) for x, _ in others if x.side]
    return here, place, text + (f", {max(arcs):.0%} as elsewhere" if max(arcs, default=0) else "")


@command()
@options.rules
def rules(valid: str) -> None:
    """List validity rules, each with a sentence that breaks it.

    The rules of Universal Dependencies have the names of the official validator; the last line of a
    rule is its page on https://universaldependencies.org/. docs/howto/validity.md describes the
    format of files of rules.

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
            for fault in RuledSentence(Rules([rule]), s).faults(s.heads, s.deprels)[:1]:
                what = fault.text(s, s.heads, s.deprels).partition(": ")[2]
                click.echo(f"    not: {s.text} ({what})")
        if rule.source:
            click.echo(f"    {rule.source}")
