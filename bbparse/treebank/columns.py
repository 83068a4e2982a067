"""Sentences with other values in LEMMA, UPOS, XPOS and FEATS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bbparse.treebank.sentence import Sentence

__all__ = ["has_tags", "with_columns"]

_PLACES = {"lemmas": 2, "upos": 3, "xpos": 4, "feats": 5}


def has_tags(sentence: Sentence) -> bool:
    """Whether some word has UPOS or XPOS."""
    return any(tag != "_" for column in (sentence.upos, sentence.xpos) for tag in column)


def with_columns(
    sentence: Sentence,
    *,
    lemmas: Sequence[str] | None = None,
    upos: Sequence[str] | None = None,
    xpos: Sequence[str] | None = None,
    feats: Sequence[str] | None = None,
) -> Sentence:
    """A copy of a sentence with other columns, in its lists and in its lines.

    Parameters
    ----------
    sentence : Sentence
        Left as it is. Its multiword tokens, empty nodes and comments are kept.
    lemmas, upos, xpos, feats : sequence of str, length n, optional
        New values; columns left out stay.

    Raises
    ------
    ValueError
        If there are not n values, or one is empty or has a tab or a line break in it.
    """
    given = {"lemmas": lemmas, "upos": upos, "xpos": xpos, "feats": feats}
    columns = {title: list(column) for title, column in given.items() if column is not None}
    for title, column in columns.items():
        if len(column) != sentence.n_words:
            raise ValueError(f"{title}: expected {sentence.n_words} values, found {len(column)}")
        joined = "".join(column)
        if "\t" in joined or "\n" in joined or "\r" in joined or "" in column:
            i = next(i for i, v in enumerate(column) if not v or any(c in v for c in "\t\n\r"))
            raise ValueError(
                f"{title}[{i}]: expected text without tabs and line breaks, found {column[i]!r}"
            )
    lines = sentence.lines.copy()
    places = [(_PLACES[title], column) for title, column in columns.items()]
    for i, line in enumerate(sentence.word_lines):
        fields = lines[line].split("\t", 6)
        for place, column in places:
            fields[place] = column[i]
        lines[line] = "\t".join(fields)
    return replace(
        sentence, lines=lines, word_lines=sentence.word_lines.copy(), forms=sentence.forms.copy(),
        lemmas=columns.get("lemmas", sentence.lemmas.copy()),
        upos=columns.get("upos", sentence.upos.copy()),
        xpos=columns.get("xpos", sentence.xpos.copy()),
        feats=columns.get("feats", sentence.feats.copy()),
        heads=sentence.heads.copy(), deprels=sentence.deprels.copy(),
    )  # fmt: skip
