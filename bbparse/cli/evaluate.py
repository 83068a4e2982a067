"""``bbparse evaluate``: attachment scores of a parsed file."""

from __future__ import annotations

import json

import click

from bbparse.errors import TreebankError
from bbparse.treebank import Scores, read_conllu
from bbparse.treebank import evaluate as compare

_ROWS = (
    ("UAS", "uas", "uas_no_punct"),
    ("LAS", "las", "las_no_punct"),
    ("LAS, universal labels", "las_universal", "las_universal_no_punct"),
    ("CLAS", "clas", None),
    ("complete trees", "complete", None),
    ("complete labelled trees", "complete_labelled", None),
    ("roots", "root", None),
)


@click.command()
@click.argument("gold", metavar="GOLD")
@click.argument("predicted", metavar="PREDICTED")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, shares from 0 to 1.")
def evaluate(gold: str, predicted: str, as_json: bool) -> None:
    """Compare the trees of PREDICTED with those of GOLD.

    Both are CoNLL-U or CoNLL-X files of the same sentences, packed with .gz or .xz or not; one of
    them may be - for the standard input. Words whose gold UPOS is PUNCT count as punctuation.
    """
    if gold == predicted == "-":
        raise TreebankError("standard input: can be GOLD or PREDICTED, not both")
    scores = compare(
        read_conllu(gold, require_heads=True), read_conllu(predicted, require_heads=True)
    )
    if as_json:
        click.echo(json.dumps(scores.as_dict(), indent=2))
    else:
        click.echo(_table(scores))


def _table(scores: Scores) -> str:
    values = scores.as_dict()
    lines = [
        f"{scores.sentences} sentences, {scores.words} words, "
        f"{scores.words_no_punct} without punctuation",
        "",
        f"{'%':<26}{'all':>8}{'no punct':>12}",
    ]
    for title, name, name_no_punct in _ROWS:
        line = f"{title:<26}{100 * values[name]:>8.2f}"
        if name_no_punct is not None:
            line += f"{100 * values[name_no_punct]:>12.2f}"
        lines.append(line)
    return "\n".join(lines)
