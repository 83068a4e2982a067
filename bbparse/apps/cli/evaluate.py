"""``bbparse evaluate``: attachment scores of a parsed file, alone or against another."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import click

from bbparse.apps.cli.common import FILE, aligned, command, flag, option, say
from bbparse.runtime.errors import TreebankError, counted
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.alignment import MatchCounts, evaluate_text
from bbparse.treebank.breakdown import BREAKDOWNS, breakdown
from bbparse.treebank.evaluation import matched_by_id, tallied
from bbparse.treebank.graph import ENHANCEMENTS
from bbparse.treebank.significance import ENUMERATED, FEW, RESAMPLES, Difference, compare_tallies

#: Measures and their titles; values without punctuation have a column of their own.
_TITLES = {
    "uas": "UAS",
    "las": "LAS",
    "las_universal": "LAS, universal labels",
    "clas": "CLAS",
    "mlas": "MLAS",
    "blex": "BLEX",
    "complete": "complete trees",
    "complete_labelled": "complete labelled trees",
    "root": "roots",
    "crossing_precision": "crossing arcs, precision",
    "crossing_recall": "crossing arcs, recall",
    "crossing_f1": "crossing arcs, F1",
    "elas": "ELAS, enhanced graphs",
    "eulas": "EULAS, universal labels",
}
TAGS = {
    "upos": "UPOS",
    "xpos": "XPOS",
    "feats": "FEATS",
    "ufeats": "FEATS, universal",
    "all_tags": "all tags",
    "lemmas": "lemmas",
}


@command()
@click.argument("gold", type=FILE, metavar="GOLD")
@click.argument("predicted", type=FILE, metavar="PREDICTED")
@click.argument("more", type=FILE, metavar="", nargs=-1)
@option("--by", "Break the accuracy down; may be repeated.", BREAKDOWNS, multiple=True)
@option(
    "--against",
    "Trees of another parser: test the difference for significance.",
    FILE,
    metavar="OTHER",
)
@option(
    "--enhancements",
    "Leave enhancements out of ELAS: 1 gapping, 2 shared heads, 3 shared dependents of conjuncts,"
    " 4 control, 5 relative clauses, 6 case in labels.",
    metavar="DIGITS",
)
@flag(
    "--agreement",
    "Compare GOLD, PREDICTED and further files as annotators: Cohen's kappa and"
    " Krippendorff's alpha.",
)
@option(
    "--resamples",
    "Random samples.  [default: 10000 for --against, 1000 for --agreement]",
    click.IntRange(1),
)
@flag("--json as_json", "Print one JSON object, with fractions from 0 to 1.")
def evaluate(
    gold: str,
    predicted: str,
    more: tuple[str, ...],
    agreement: bool,
    resamples: int | None,
    **how: Any,
) -> None:
    """Compare the trees of PREDICTED with those of GOLD.

    Both are CoNLL-U or CoNLL-X files of the same text, plain or compressed (.gz, .xz); one may be -
    for standard input. If their words or sentences differ, words are aligned as in the official
    scorer of Universal Dependencies, and all measures are F1.

    UAS, LAS with universal labels, CLAS, MLAS, BLEX, UPOS, XPOS, universal FEATS and lemmas are
    those of the official scorer. Words whose gold UPOS is PUNCT are punctuation. Tags and lemmas
    are compared if both files have them.

    ELAS and EULAS compare the enhanced graphs in DEPS, empty nodes collapsed into paths, if both
    files have some. --enhancements leaves out those that a treebank does not annotate.

    Bracketed trees (GOLD is named .ptb or .mrg) are compared as EVALB does: labelled brackets,
    exact trees and tags, without punctuation.

    --by length: sentences of 1-10, 11-20, … words. --by distance: recall and precision of arcs
    from the root, and of arcs between words 1, 2, 3-6, … apart. --by relation: recall and precision
    of head and label together for each label, and the fraction of correct heads (UAS). --by
    enhancement: recall and precision of the edges of graphs by kind of enhancement.

    --against prints p, the probability that equally good parsers differ as much, by paired
    approximate randomization (exact where fewer than 16 sentences differ), and a confidence
    interval of the difference, by paired bootstrap over sentences.

    --agreement compares two or more annotators: their agreement beyond chance on arcs, heads,
    relations and tags, and the relations that they confuse; with --by relation, also the agreement
    on each relation.

    \b
    Examples:
      bbparse evaluate gold.conllu parsed.conllu
      bbparse evaluate gold.conllu parsed.conllu --by length --by relation
      bbparse evaluate gold.conllu new.conllu --against old.conllu
      bbparse evaluate ann.conllu ben.conllu cleo.conllu --agreement --by relation
      bbparse parse in.conllu --model en.model | bbparse evaluate in.conllu - --json
    """
    by, against, digits = how["by"], how["against"], how["enhancements"]
    if {*(digits or "")} - ENHANCEMENTS.keys():
        raise click.UsageError(f"--enhancements is {digits!r}, expected digits from 1 to 6")
    if gold.endswith((".ptb", ".mrg")):
        if agreement or by or more:
            raise click.UsageError("bracketed trees: only --against goes with them")
        others = [predicted] if against is None else [predicted, against]
        _evaluate_phrases(gold, others, how["as_json"], resamples or RESAMPLES)
    elif agreement:
        if against is not None or {*by} - {"relation"}:
            raise click.UsageError("--agreement goes with --by relation and no other comparison")
        paths = [gold, predicted, *more]
        _print_agreement(paths, bool(by), how["as_json"], resamples or 1000)
    elif more:
        raise click.UsageError(f"{more[0]}: a third file needs --agreement")
    else:
        _print_scores(gold, predicted, resamples=resamples or RESAMPLES, **how)


def _print_scores(
    gold: str,
    predicted: str,
    *,
    by: tuple[str, ...],
    against: str | None,
    enhancements: str | None,
    as_json: bool,
    resamples: int,
) -> None:
    """Print the accuracy of one file, or of two and their difference."""
    others = [predicted] if against is None else [predicted, against]
    left_out = enhancements or ""
    gold_sentences = _read(gold, True)
    files = [_in_order(gold_sentences, path, True) for path in others]
    for path, sentences in zip((gold, *others), (gold_sentences, *files)):
        _warn_of_roots(path, sentences)
    forms = [sentence.forms for sentence in gold_sentences]
    have_other_words = [[one.forms for one in file] != forms for file in files]
    if any(have_other_words):
        if by or against is not None:
            raise TreebankError(
                f"{others[have_other_words.index(True)]}: its words differ from those of {gold};"
                " --by and --against need the same words"
            )
        scores_of_text = evaluate_text(gold_sentences, files[0], left_out=left_out)
        _print_text_scores(scores_of_text, as_json)
        return
    tallies = [tallied(gold_sentences, file, left_out) for file in files]
    tables = [{name: breakdown(name, gold_sentences, file) for name in by} for file in files]
    if any(not rows for table in tables for rows in table.values()):
        raise TreebankError(f"{gold}: --by enhancement needs DEPS, which neither file has")
    differences = None if against is None else compare_tallies(*tallies, resamples=resamples)
    scores = [tally.scores() for tally in tallies]
    bounds = [(row.low, row.high) for row in (differences or {}).values() if row.differing]
    notes = _interval_notes(bounds, len(gold_sentences))
    if as_json:
        reports: list[dict[str, Any]] = [each.as_dict() for each in scores]
        for report, breakdowns in zip(reports, tables):
            report |= {"by": breakdowns} if by else {}
        if differences is not None:
            rows = {name: asdict(difference) for name, difference in differences.items()}
            reports[0] |= {"against": reports[1], "differences": rows}
            reports[0] |= {"resamples": resamples, "notes": notes}
        _print_json(reports[0])
        return
    all_words = f"{counted(scores[0].sentences, 'sentence')}, {counted(scores[0].words, 'word')}"
    click.echo(f"{all_words}, {scores[0].words_no_punct} without punctuation")
    if differences is None:
        click.echo(f"\n{_table(scores[0].as_dict())}")
    else:
        click.echo(f"A: {predicted}\nB: {against}\n")
        click.echo(_comparison(differences))
        click.echo(
            f"\np: paired approximate randomization, {resamples} draws, or exact if fewer than"
            f" {ENUMERATED} sentences differ"
        )
        _print_notes(notes)
    for file, breakdowns in zip("AB", tables):
        for name, rows_of in breakdowns.items():
            click.echo(f"\n{f'{file}, ' if len(files) > 1 else ''}by {name}\n{_aligned(rows_of)}")


def _warn_of_roots(path: str, sentences: Sequence[Sentence]) -> None:
    """Warn of sentences with several roots, which the official scorer refuses."""
    rooted = [sentence for sentence in sentences if sentence.heads.count(0) > 1]
    if rooted:
        say(
            f"warning: {rooted[0].place()}: {rooted[0].heads.count(0)} roots, expected one; the"
            f" official scorer refuses {path}, with {len(rooted)} such sentences"
        )


def _read(path: str, heads: bool = False) -> list[Sentence]:
    return list(watched(read_conllu(path, require_heads=heads), "read"))


def _in_order(first: Sequence[Sentence], path: str, heads: bool = False) -> Sequence[Sentence]:
    """Read a file; sentences that have the same ids as the first file's come in their order."""
    sentences = _read(path, heads)
    matched = matched_by_id(first, sentences)
    if matched is not sentences:
        say(f"{path}: in another order, matched by sent_id")
    return matched


def _print_agreement(
    paths: Sequence[str], by_relation: bool, as_json: bool, resamples: int
) -> None:
    """Print the chance-corrected agreement of annotators, and the relations they confuse."""
    from bbparse.treebank.reliability import Annotations, rows  # needs numpy

    first = _read(paths[0])
    annotations = Annotations([first, *(_in_order(first, path) for path in paths[1:])])
    found = dict(rows(annotations, by_relation, resamples))
    if not found:
        raise TreebankError(f"{paths[0]}: no word has a head, relation, tag or lemma to compare")
    confused = annotations.confusions()
    bounds = [bound for row in found.values() for bound in (row.kappa_interval, row.alpha_interval)]
    notes = _interval_notes(bounds, len(annotations.files[0]))
    if any(row.kappa != row.kappa for row in found.values()):
        notes.append("no kappa: two annotators use one and the same category for all words")
    if any(row.alpha != row.alpha for row in found.values()):
        notes.append("no alpha: only one category, or no word, has values of two annotators")
    if as_json:
        report = {name: row._asdict() for name, row in found.items()}
        counts = [{"labels": [a, b], "count": n} for a, b, n in confused]
        _print_json({"agreement": report, "confusions": counts, "notes": notes})
        return
    table = [["", "agree, %", "kappa", "95 %", "alpha", "95 %"]]
    for name, row in found.items():
        cells = [_percent(row.observed)]
        for name_of in ("kappa", "alpha"):
            value = getattr(row, name_of)
            cells.append("-" if value != value else f"{value:.3f}")
            low, high = getattr(row, f"{name_of}_interval")
            cells.append(_interval(low, high, ".3f"))
        table.append([name, *cells])
    click.echo(f"{len(paths)} annotators, {counted(len(annotations.sentence), 'word')}\n")
    click.echo(aligned(table, left=[0]))
    _print_notes(notes)
    if confused:
        pairs = [[a, b, str(n)] for a, b, n in confused[:10]]
        click.echo(f"\nrelations most often confused\n{aligned(pairs, left=[0, 1])}")


def _interval(low: float, high: float, form: str) -> str:
    """Format the bounds of a confidence interval; ``-`` if there is none."""
    return "-" if low != low else f"{low:{form}} to {high:{form}}"


def _interval_notes(bounds: Iterable[tuple[float, float]], sentences: int) -> list[str]:
    """Say why there are no intervals, or why they say little."""
    notes = []
    if any(low != low for low, _ in bounds):
        notes.append("no interval: too few sentences, or all of them alike")
    if sentences < FEW:
        notes.append(f"fewer than {FEW} sentences: intervals are too narrow")
    return notes


def _print_notes(notes: list[str]) -> None:
    """Print lines below a table."""
    if notes:
        click.echo("\n" + "\n".join(notes))


def _print_json(report: object) -> None:
    """Print a report, with null for what is undefined."""

    def defined(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: defined(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [*map(defined, value)]
        return None if value != value else value

    click.echo(json.dumps(defined(report), indent=2))


def _print_text_scores(scores: dict[str, MatchCounts], as_json: bool) -> None:
    """Print the F1 of aligned words."""
    if as_json:
        _print_json({name: counts.f1 for name, counts in scores.items()})
        return
    titles = {**_TITLES, **TAGS, "las": _TITLES["las_universal"]}
    rows = [["%", "F1", "precision", "recall"]]
    for name, counts in scores.items():
        right, gold, predicted = counts
        fractions = (counts.f1, right / max(1, predicted), right / max(1, gold))
        rows.append([titles.get(name, name), *map(_percent, fractions)])
    click.echo(aligned(rows, left=[0]))


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}"


def _table(values: dict[str, float]) -> str:
    titles, note = _titles(values)
    rows = [["%", "all", "no punct"]]
    for name, title in titles.items():
        if name in values:
            twin = values.get(f"{name}_no_punct")
            rows.append([title, _percent(values[name]), "" if twin is None else _percent(twin)])
    return aligned(rows, left=[0]) + note


def _titles(*files: dict[str, float]) -> tuple[dict[str, str], str]:
    """Return the measures of a table, and a note below it: copied tags are not a result."""
    tags = [name for name in TAGS if name in files[0]]
    if tags and all(values[name] == 1.0 for values in files for name in tags):
        return _TITLES, "\n\ntags and lemmas: as in GOLD"
    return _TITLES | TAGS, ""


def _comparison(differences: dict[str, Difference]) -> str:
    """Format the differences of two files as a table."""
    first = {name: difference.first for name, difference in differences.items()}
    titles, note = _titles(first, {name: each.second for name, each in differences.items()})
    rows = [["%", "A", "B", "A - B", "95 % interval", "p"]]
    for measure, title in titles.items():
        for name, shown in ((measure, title), (f"{measure}_no_punct", f"{title}, no punct")):
            if row := differences.get(name):
                rows.append(
                    [
                        shown,
                        _percent(row.first),
                        _percent(row.second),
                        f"{100 * row.difference:+.2f}",
                        _interval(100 * row.low, 100 * row.high, "+.2f"),
                        f"{row.p_value:.4f}",
                    ]
                )
    return aligned(rows, left=[0]) + note


def _aligned(rows: list[dict[str, Any]]) -> str:
    """Format a breakdown as a table, with fractions in percent."""
    shown = [[name.upper() if name in ("uas", "las") else name for name in rows[0]]]
    shown += [
        [_percent(x) if isinstance(x, float) else str(x) for x in row.values()] for row in rows
    ]
    return aligned(shown, left=[0])


def _evaluate_phrases(gold: str, others: list[str], as_json: bool, resamples: int) -> None:
    """Print the accuracy of bracketed trees, and the difference of two files."""
    # Imported here: these need numpy, which the scores of dependencies do without.
    from bbparse.grammar.evaluation import compare_trees, paired_p
    from bbparse.grammar.phrases import read_trees

    trees, tallies = list(read_trees(gold)), []
    reports: list[dict[str, Any]] = []
    if not trees:
        raise TreebankError(f"{gold}: there are no trees, expected at least one")
    for path in others:
        predicted = list(read_trees(path))
        if len(predicted) != len(trees):
            raise TreebankError(f"{path}: {len(predicted)} trees, expected {len(trees)} as {gold}")
        scores = compare_trees(
            [(right, other) for (_, right), (_, other) in zip(trees, predicted)],
            [f"{path}:{line}" for line, _ in predicted],
        )
        tallies.append(scores)
        reports.append(
            {
                "precision": scores.precision,
                "recall": scores.recall,
                "f1": scores.f1,
                "exact": scores.exact / max(1, scores.sentences),
                "tags": scores.tags / max(1, scores.words),
                "sentences": scores.sentences,
            }
        )
    p_value = paired_p(tallies[0], tallies[1], resamples) if len(tallies) == 2 else None
    if as_json:
        if p_value is not None:
            reports[0] |= {"against": reports[1], "p_value": p_value, "resamples": resamples}
        _print_json(reports[0])
        return
    for path, report in zip(others, reports):
        count = report.pop("sentences")
        shown = "  ".join(f"{name} {_percent(fraction)}" for name, fraction in report.items())
        click.echo(f"{path}: {counted(count, 'sentence')}  {shown}")
    if p_value is not None:
        click.echo(f"difference in F1 by chance: p = {p_value:.4f}")
