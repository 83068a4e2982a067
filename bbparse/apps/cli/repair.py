"""``bbparse repair``: make trees valid with the fewest changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, OutputFile, command, flag, option, say
from bbparse.models import MODELS
from bbparse.parser.arc_scores import ModelScores
from bbparse.parser.parser import Parser
from bbparse.parser.spans import Spans
from bbparse.parser.validity.consistency import Consistency
from bbparse.parser.validity.repair import Repair, RepairOptions
from bbparse.parser.validity.repair import repair as find_repair
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import TreebankError, counted
from bbparse.runtime.output import open_output
from bbparse.runtime.progress import watched
from bbparse.treebank import NO_HEAD, Sentence, read_conllu, write_conllu
from bbparse.treebank.sentence import check_key, misc_values
from bbparse.treebank.writing import with_tree


@command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@options.output
@options.rules
@option("--only", "Change heads of words with the relation punct, and nothing else.", ["punct"])
@option("--projective", "yes: treat crossing arcs as faults, too.", ["yes", "no"], "no")
@option(
    "--weight key",
    "MISC item with the weight of a word's head and label: KEY=NUMBER from 0 to 10,"
    " such as Confidence=0.97, rounded to hundredths; words without it weigh 1.",
    metavar="KEY",
)
@option(
    "--model", "Model whose probabilities break ties. Default: short arcs are preferred.", MODELS
)
@option(
    "--report report_file",
    "File for the changes and their reasons.  [default: standard error]",
    OutputFile(),
)
@options.spans
@flag(
    "--consistent",
    "Also give the same words in the same context the same analysis, at the lowest"
    " cost (see 'bbparse check --consistent'); reads all of INPUT first.",
)
@options.time_limit
def repair(
    source: str,
    output: str,
    valid: str,
    key: str | None,
    model: str | None,
    report_file: str | None,
    **search: Any,
) -> None:
    """Make the trees of INPUT valid with the fewest changes to heads and labels.

    The result is proved: no valid tree (see 'bbparse rules') keeps more of the annotation. Lines of
    unchanged words are copied. The report names each change, and the rule that the tree would break
    without it.

    The exit status is 1 if faults remain, because no tree satisfies all rules, or none was found.

    \b
    Examples:
      bbparse repair in.conllu -o out.conllu
      bbparse repair in.conllu -o out.conllu --only punct --report changes.txt
      bbparse parse in.conllu --confidence | bbparse repair --weight Confidence
    """
    if search["consistent"] and search["only"]:
        raise click.UsageError("--consistent and --only exclude each other")
    rules = Rules.load(valid)
    scores = ModelScores(Parser.load(model)) if model is not None else None
    settings = RepairOptions(
        only_punct=search["only"] is not None,
        projective=search["projective"] == "yes",
        scores=scores,
        time_limit=search["time_limit"],
        spans=None if search["spans"] is None else Spans.parsed(search["spans"]),
    )
    spans = settings.spans
    counts: Counter[str] = Counter()
    weights = MiscWeights(key)

    def repaired(stream: IO[str] | None) -> Iterator[Sentence]:
        given: Iterable[Sentence] = read_conllu(source)
        if stream is not None and not search["consistent"]:
            given = watched(given, "repaired")
        for result in _repairs(given, rules, weights, settings, search["consistent"]):
            sentence = result.sentence
            counts.update(
                sentences=1,
                changed=bool(result.changes),
                words=len(result.changes),
                faulty=bool(result.after),
                unproved=not result.proved,
                spanned=spans is not None and spans.are_in(sentence),
            )
            if result.before or result.changes:
                for line in _lines(source, result):
                    click.echo(line, file=stream, err=True)
            yield with_tree(sentence, result.heads, result.labels) if result.changes else sentence
        if spans is not None:
            check_key(counts["spanned"] > 0, spans.key, source)
        weights.check_found(source)

    with ExitStack() as stack:
        stream = None if report_file is None else stack.enter_context(open_output(report_file))
        write_conllu(output, repaired(stream))
    sizes = counted(counts["words"], "word"), counted(counts["sentences"], "sentence")
    left = f"{counts['faulty']:,} with faults left, {counts['unproved']:,} without proof"
    say("{} changed in {:,} of {}; {}".format(sizes[0], counts["changed"], sizes[1], left))
    if counts["faulty"]:
        raise click.exceptions.Exit(1)


def _repairs(
    sentences: Iterable[Sentence],
    rules: Rules,
    weights: MiscWeights,
    settings: RepairOptions,
    consistent: bool,
) -> Iterator[Repair]:
    """Yield the repair of each sentence; say if there is no proof that consistency costs least."""
    if not consistent:
        for sentence in sentences:
            yield find_repair(sentence, rules, weights(sentence), settings)
        return
    together = list(watched(sentences, "read"))
    found = Consistency(together, rules, [*map(weights, together)], settings)
    yield from found.repairs
    if not found.proved:
        say("no proof that no other analyses cost less: the search reached its limit")


class MiscWeights:
    """Weights of words in an item of MISC; 1.0 for a word without it."""

    def __init__(self, key: str | None) -> None:
        self._key, self._is_found = key, False

    def __call__(self, sentence: Sentence) -> list[float] | None:
        """Return the weights of the words of a sentence; None without a key."""
        key = self._key
        if key is None:
            return None
        weights = []
        for i, texts in enumerate(misc_values(sentence, key)):
            self._is_found |= bool(texts)
            try:
                weights.append(float(texts[0]) if texts else 1.0)
            except ValueError:
                raise TreebankError(
                    f"{sentence.place(i)}: {key} is {texts[0]!r} in MISC, expected a number"
                ) from None
        return weights

    def check_found(self, source: str) -> None:
        """Raise `TreebankError` if no word of the sentences had the key."""
        if self._key is not None:
            check_key(self._is_found, self._key, source)


def _lines(source: str, result: Repair) -> Iterator[str]:
    """Yield the lines of the report on a sentence."""
    sentence = result.sentence

    def line(word: int, text: str) -> str:
        return f"{source}:{sentence.line_of(word)}: {text} ({sentence.name})"

    def arc(head: int, label: str) -> str:
        form = sentence.forms[head - 1] if head > 0 else "_" if head == NO_HEAD else "ROOT"
        return f"{form} -{label}->"

    for word, old, new, reasons in result.changes:
        form = sentence.forms[word - 1]
        why = f"the old arc breaks {'; '.join(reasons)}" if reasons else "no rule requires it"
        yield line(word, f"word {word}: {arc(*old)} {form} becomes {arc(*new)} {form}; {why}")
    for fault in result.after:
        text = fault.text(sentence, result.heads, result.labels)
        yield line(fault.word, f"left: {text}")
    if result.obstacle:
        yield line(0, f"not repaired: {result.obstacle}")
    elif not result.proved:
        yield line(0, "no proof: the search reached its limit, and another tree may keep more")
