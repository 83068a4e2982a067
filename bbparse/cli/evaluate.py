"""``bbparse evaluate``: attachment scores of a parsed file, alone or against another."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import click
from tqdm import tqdm

from bbparse.cli.files import FILE
from bbparse.cli.tables import aligned
from bbparse.errors import TreebankError
from bbparse.treebank import (
    BREAKDOWNS,
    Breakdown,
    Difference,
    Scores,
    Sentence,
    Tally,
    compare_tallies,
    read_conllu,
)
from bbparse.treebank.alignment import TextScores, evaluate_text
from bbparse.treebank.evaluation import tallied

# title, measure, the same measure without punctuation
_Row = tuple[str, str, str | None]
_ROWS: tuple[_Row, ...] = (
    ("UAS", "uas", "uas_no_punct"),
    ("LAS", "las", "las_no_punct"),
    ("LAS, universal labels", "las_universal", "las_universal_no_punct"),
    ("CLAS", "clas", None),
    ("MLAS", "mlas", None),
    ("BLEX", "blex", None),
    ("complete trees", "complete", None),
    ("complete labelled trees", "complete_labelled", None),
    ("roots", "root", None),
    ("crossing arcs, precision", "crossing_precision", None),
    ("crossing arcs, recall", "crossing_recall", None),
    ("crossing arcs, F1", "crossing_f1", None),
)
_TAGS: tuple[_Row, ...] = (
    ("UPOS", "upos", None),
    ("XPOS", "xpos", None),
    ("FEATS", "feats", None),
    ("FEATS, universal", "ufeats", None),
    ("all tags", "all_tags", None),
    ("lemmas", "lemmas", None),
)


@click.command()
@click.argument("gold", type=FILE, metavar="GOLD")
@click.argument("predicted", type=FILE, metavar="PREDICTED")
@click.option(
    "--by", multiple=True, type=click.Choice(BREAKDOWNS),
    help="Break the accuracy down; may be given several times.",
)  # fmt: skip
@click.option(
    "--against", type=FILE, metavar="OTHER",
    help="Trees of another parser: how far both differ, and whether that could be chance.",
)  # fmt: skip
@click.option(
    "--resamples", type=click.IntRange(1), default=10_000, show_default=True, metavar="N",
    help="Draws of the bootstrap of --against.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, metavar="S",
    help="Of these draws.",
)  # fmt: skip
@click.option(
    "--confidence", default=0.95, show_default=True, metavar="SHARE",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    help="Of the interval of --against.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, shares from 0 to 1.")
def evaluate(
    gold: str,
    predicted: str,
    by: tuple[str, ...],
    against: str | None,
    resamples: int,
    seed: int,
    confidence: float,
    as_json: bool,
) -> None:
    """Compare the trees of PREDICTED with those of GOLD.

    Both are CoNLL-U or CoNLL-X files of the same text, packed with .gz or .xz or not; one of them
    may be - for the standard input. Where their words or sentences differ, words are aligned as the
    official scorer does it, and all measures are F1 over both.

    Words whose gold UPOS is PUNCT count as punctuation. Tags and lemmas are compared where both
    files have them. UAS, LAS with universal labels, CLAS, MLAS,
    BLEX, UPOS, XPOS, universal FEATS and lemmas are those of the official scorer of Universal
    Dependencies.

    Bracketed trees (GOLD is named .ptb or .mrg) are compared as EVALB does: labelled brackets,
    exact trees and tags, without punctuation.

    --by length: sentences of 1-10, 11-20, … words. --by distance: recall and precision of arcs
    from the root, and of arcs between words 1, 2, 3-6, … apart. --by relation: recall and precision
    of head and label together for each label, and the share of right heads (UAS).

    With --against, the sentences are drawn anew many times (paired bootstrap): the interval holds
    the difference in that share of the draws, and p is how often parsers that are equally good
    would differ so much by chance.

    \b
    Examples:
      bbparse evaluate gold.conllu parsed.conllu
      bbparse evaluate gold.conllu parsed.conllu --by length --by relation
      bbparse evaluate gold.conllu new.conllu --against old.conllu
      bbparse parse in.conllu --model en.model | bbparse evaluate in.conllu - --json
    """
    others = [predicted] if against is None else [predicted, against]
    if [gold, *others].count("-") > 1:
        raise TreebankError("standard input: can be only one of the files")
    if gold.endswith((".ptb", ".mrg")):
        _evaluate_phrases(gold, others, as_json)
        return
    gold_sentences = list(read_conllu(gold, require_heads=True))
    files = [_read(path) for path in others]
    if not all(_same_words(gold_sentences, sentences) for sentences in files):
        if by or against is not None:
            raise TreebankError(
                f"{predicted}: its words are not those of {gold}, so that --by and --against have"
                " nothing to compare"
            )
        _print_text_scores(evaluate_text(gold_sentences, files[0]), as_json)
        return
    judged = [_judge(gold_sentences, file, tuple(dict.fromkeys(by))) for file in files]
    found = judged[0].as_dict()
    differences = None
    if against is not None:
        differences = compare_tallies(
            judged[0].tally, judged[1].tally, resamples=resamples, seed=seed, confidence=confidence
        )
        found["against"] = judged[1].as_dict()
        found["differences"] = {
            name: {key: value for key, value in asdict(row).items() if key != "measure"}
            for name, row in differences.items()
        }
        found["bootstrap"] = {"resamples": resamples, "seed": seed, "confidence": confidence}
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    scores = judged[0].tally.scores()
    if differences is None:
        click.echo(f"{_size(scores)}\n\n{_table(scores)}")
    else:
        click.echo(f"{_size(scores)}\nA: {predicted}\nB: {against}\n")
        click.echo(_comparison(differences, confidence))
        click.echo(f"\npaired bootstrap over sentences, {resamples} draws, seed {seed}")
    for name, one in zip("AB", judged):
        for breakdown in one.breakdowns:
            title = f"{name}, by {breakdown.by}" if len(judged) > 1 else f"by {breakdown.by}"
            click.echo(f"\n{title}\n{_rows_of(breakdown)}")


class _Judged(NamedTuple):
    """What was counted of one file."""

    tally: Tally
    breakdowns: list[Breakdown]

    def as_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = self.tally.scores().as_dict()
        if self.breakdowns:
            values["by"] = {breakdown.by: breakdown.rows() for breakdown in self.breakdowns}
        return values


def _read(path: str) -> list[Sentence]:
    sentences = read_conllu(path, require_heads=True)
    silent = not sys.stderr.isatty()
    return list(tqdm(sentences, desc=path, unit=" sentences", delay=2, disable=silent))


def _same_words(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> bool:
    return len(gold) == len(predicted) and all(
        one.forms == other.forms for one, other in zip(gold, predicted)
    )


def _judge(
    gold: Sequence[Sentence], sentences: Sequence[Sentence], by: tuple[str, ...]
) -> _Judged:
    """Compare sentences with the gold ones."""
    judged = _Judged(tallied(gold, sentences), [Breakdown(name) for name in by])
    for breakdown in judged.breakdowns:
        for right, sentence in zip(gold, sentences):
            breakdown.add(right, sentence.heads, sentence.deprels)
    return judged


def _print_text_scores(scores: TextScores, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(scores.as_dict(), indent=2))
        return
    titles = {measure: title for title, measure, _ in _ROWS + _TAGS}
    titles["las"] = titles["las_universal"]
    rows = [["%", "F1", "precision", "recall"]]
    for name, (right, gold, predicted) in scores.shares.items():
        shares = (scores.shares[name].f1, right / max(1, predicted), right / max(1, gold))
        title = titles.get(name, name)
        rows.append([title, *(f"{100 * share:.2f}" for share in shares)])
    click.echo(aligned(rows, left=[0]))


def _size(scores: Scores) -> str:
    return (
        f"{scores.sentences} sentences, {scores.words} words, "
        f"{scores.words_no_punct} without punctuation"
    )


def _table(scores: Scores) -> str:
    values = scores.as_dict()
    lines = [f"{'%':<26}{'all':>8}{'no punct':>12}"]
    rows, rest = _rows(values)
    for title, name, name_no_punct in rows:
        if name not in values:
            continue
        line = f"{title:<26}{100 * values[name]:>8.2f}"
        if name_no_punct is not None:
            line += f"{100 * values[name_no_punct]:>12.2f}"
        lines.append(line)
    return "\n".join([*lines, *rest])


def _rows(*shares: dict[str, float]) -> tuple[tuple[_Row, ...], list[str]]:
    """What a table shows, and what stands below it: tags that were copied are no result."""
    tags = [name for _, name, _ in _TAGS if name in shares[0]]
    if tags and all(values[name] == 1.0 for values in shares for name in tags):
        return _ROWS, ["", "tags and lemmas: as in GOLD"]
    return _ROWS + _TAGS, []


def _comparison(differences: dict[str, Difference], confidence: float) -> str:
    interval = f"{100 * confidence:g} % interval"
    rows, rest = _rows(
        {name: row.first for name, row in differences.items()},
        {name: row.second for name, row in differences.items()},
    )
    lines = [f"{'%':<32}{'A':>8}{'B':>8}{'A - B':>9}{interval:>20}{'p':>10}"]
    for title, *names in rows:
        for name, suffix in zip(names, ("", ", no punct")):
            if name is None or name not in differences:
                continue
            row = differences[name]
            between = f"{100 * row.low:+.2f} to {100 * row.high:+.2f}"
            lines.append(
                f"{title + suffix:<32}{100 * row.first:>8.2f}{100 * row.second:>8.2f}"
                f"{100 * row.difference:>+9.2f}{between:>20}{row.p_value:>10.4f}"
            )
    return "\n".join([*lines, *rest])


def _rows_of(breakdown: Breakdown) -> str:
    """A table of a breakdown: shares in percent."""
    rows = breakdown.rows()
    if not rows:
        return "nothing"
    shown = [[name.upper() if name in ("uas", "las") else name for name in rows[0]]]
    shown += [
        [f"{100 * x:.2f}" if isinstance(x, float) else str(x) for x in row.values()]
        for row in rows
    ]
    return aligned(shown, left=[0])


def _evaluate_phrases(gold: str, others: list[str], as_json: bool) -> None:
    # numpy, which dependencies do not wait for
    from bbparse.phrases.evaluation import compare_trees, paired_p
    from bbparse.phrases.trees import read_trees

    trees = list(read_trees(gold))
    found = {}
    tallies = []
    for path in others:
        predicted = list(read_trees(path))
        if len(predicted) != len(trees):
            raise TreebankError(f"{path}: {len(predicted)} trees, expected {len(trees)} as {gold}")
        scores = compare_trees(
            [(one, other) for (_, one), (_, other) in zip(trees, predicted)],
            [f"{path}:{line}" for line, _ in predicted],
        )
        tallies.append(scores)
        found[path] = {
            "precision": scores.precision, "recall": scores.recall, "f1": scores.f1,
            "exact": scores.exact / max(1, scores.sentences),
            "tags": scores.tags / max(1, scores.words), "sentences": scores.sentences,
        }  # fmt: skip
    if as_json:
        click.echo(json.dumps(found[others[0]] if len(others) == 1 else found))
        return
    for path, shares in found.items():
        shown = "  ".join(
            f"{name} {100 * share:.2f}" for name, share in shares.items() if name != "sentences"
        )
        click.echo(f"{path}: {shares['sentences']} sentences  {shown}")
    if len(tallies) == 2:
        click.echo(f"difference in F1 by chance: p = {paired_p(tallies[0], tallies[1]):.4f}")
