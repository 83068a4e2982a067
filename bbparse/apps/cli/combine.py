"""``bbparse combine``: combine several parses or annotations of the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, command, flag, option, say
from bbparse.apps.cli.repair import MiscWeights
from bbparse.parser.combine import accuracy_weights, with_disputes
from bbparse.parser.combine import combine as find_combination
from bbparse.parser.validity.repair import MAX_WEIGHT, WEIGHT_STEPS, RepairOptions
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import TreebankError, counted
from bbparse.runtime.output import open_output
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.drawing.formats import Style, conllu_of
from bbparse.treebank.evaluation import matched_by_id


@command()
@click.argument("sources", type=FILE, metavar="A B …", nargs=-1, required=True)
@options.output
@options.rules
@option(
    "--weights",
    "Weights of the files: numbers such as 1,0.5,0.7, in hundredths; 'confidence', to weight each"
    " word by Confidence=0.97 in its MISC; or a FILE with gold trees of some sentences, to weight"
    " files by accuracy.  [default: equal weights]",
    metavar="NUMBERS|confidence|FILE",
)
@options.number("k_best", "Number of trees per sentence, best first.", 1)
@flag("--disputed", "Write only sentences in which files differ or there is no proof.")
@option("--projective", "yes: forbid crossing arcs.", ["yes", "no"], "no")
@options.time_limit
def combine(
    sources: Sequence[str],
    output: str,
    valid: str,
    weights: str | None,
    k_best: int,
    disputed: bool,
    projective: str,
    time_limit: float | None,
) -> None:
    """Combine parses or annotations of the same words into the valid tree with the most votes.

    Each file votes for its arcs and labels. The result is proved: no valid tree (see 'bbparse
    rules') has more votes. Tags, features and lemmas are voted on word by word.
    Everything else is copied from the first file, which also breaks ties. MISC shows which
    files differ: Differs=2:4:obl, if the second file has head 4 and relation obl.

    \b
    Examples:
      bbparse combine ours.conllu udpipe.conllu stanza.conllu -o best.conllu
      bbparse combine ann.conllu ben.conllu --disputed -o adjudicate.conllu
      bbparse combine a.conllu b.conllu c.conllu --weights gold-part.conllu -o best.conllu
    """
    if len(sources) < 2:
        raise click.UsageError(f"found {len(sources)} file, expected at least 2")
    rules = Rules.load(valid)
    settings = RepairOptions(projective=projective == "yes", time_limit=time_limit)
    files: list[Iterable[Sentence]] = [read_conllu(source) for source in sources]
    by_file = _numbers(weights, len(sources))
    if by_file is None and weights not in (None, "confidence"):
        loaded = [list(file) for file in files]
        by_file = accuracy_weights(loaded, read_conllu(weights, require_heads=True))
        files = [*loaded]
        say("weights: " + ", ".join(f"{x} {w:.2f}" for x, w in zip(sources, by_file)))
    counts: Counter[str] = Counter()
    confidence = MiscWeights("Confidence" if weights == "confidence" else None)
    with open_output(output) as stream:
        for parses in watched(_together(sources, files), "combined"):
            of_words = None
            if weights == "confidence":
                of_words = [confidence(p) or [] for p in parses]
            elif by_file is not None:
                of_words = [[w] * p.n_words for w, p in zip(by_file, parses)]
            result = find_combination(parses, rules, of_words, settings, k_best)
            counts.update(
                sentences=1,
                disputed=result.disputed,
                words=sum(map(bool, result.disputes[0])),
                unproved=not result.trees[0].proved,
                faulty=bool(result.faults[0]),
            )
            if result.obstacle:
                say(f"{parses[0].place()}: {result.obstacle}")
            if result.disputed or not disputed:
                style = Style(k_best=k_best, last=False)
                for k in range(len(result.trees)):
                    stream.write(conllu_of(with_disputes(result, k), result.trees, k, style))
        confidence.check_found(", ".join(sources))
    sizes = counted(counts["sentences"], "sentence"), counted(counts["words"], "word")
    left = f"{counts['faulty']:,} with faults left, {counts['unproved']:,} without proof"
    say("{}, {:,} disputed in {}; {}".format(sizes[0], counts["disputed"], sizes[1], left))
    if counts["faulty"]:
        raise click.exceptions.Exit(1)


def _numbers(weights: str | None, n: int) -> list[float] | None:
    """Return the numbers of ``--weights``, one a file; None if it is something else."""
    try:
        numbers = [float(part) for part in (weights or "").split(",")]
    except ValueError:
        return None
    if len(numbers) != n:
        raise click.UsageError(f"--weights has {len(numbers)} numbers, expected {n}, one per file")
    for number in numbers:
        if number != 0.0 and not 1 / WEIGHT_STEPS <= number <= MAX_WEIGHT:
            least = f"0 and no number from {1 / WEIGHT_STEPS:g} to {MAX_WEIGHT:g}"
            raise click.UsageError(f"--weights: {number} is not {least}")
    return numbers


def _together(
    sources: Sequence[str], files: Sequence[Iterable[Sentence]]
) -> Iterator[list[Sentence]]:
    """Yield the parses of each sentence, matched by ``sent_id`` if these are in another order.

    `TreebankError` if a file ends before the others.
    """
    for number, parses in enumerate(_in_order(files), start=1):
        for source, parse in zip(sources, parses):
            if parse is None:
                count = counted(number - 1, "sentence")
                raise TreebankError(f"{source}: has {count}, and other files have more")
        yield list(parses)


def _in_order(files: Sequence[Iterable[Sentence]]) -> Iterator[tuple[Sentence, ...]]:
    """Yield the sentences of files together; keep them all where their ids begin to differ."""
    streams = [*map(iter, files)]
    for parses in zip_longest(*streams):
        if None in parses or len({parse.name for parse in parses}) == 1:
            yield parses
            continue
        first, *others = ([parse, *stream] for parse, stream in zip(parses, streams))
        yield from zip_longest(first, *(matched_by_id(first, other) for other in others))
