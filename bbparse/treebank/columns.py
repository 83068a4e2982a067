"""Sentences with other values in some of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from bbparse.treebank.sentence import Sentence, checked_column

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
    """A copy of a sentence with other columns, of n values each, in its lists and in its lines.

    Its multiword tokens, empty nodes and comments are kept. `ValueError` as `checked_column`.
    """
    given = {"lemmas": lemmas, "upos": upos, "xpos": xpos, "feats": feats}
    columns = {
        title: checked_column(title, column, sentence.n_words)
        for title, column in given.items()
        if column is not None
    }
    lines = with_fields(sentence, {_PLACES[title]: column for title, column in columns.items()})
    copies: dict[str, Any] = {
        field.name: list(getattr(sentence, field.name))
        for field in fields(sentence)
        if isinstance(getattr(sentence, field.name), list)
    }
    return replace(sentence, **{**copies, **columns, "lines": lines})


def with_fields(sentence: Sentence, columns: Mapping[int, Sequence[str]]) -> list[str]:
    """The lines of a sentence with other values in some columns, given by their places."""
    lines = sentence.lines.copy()
    places = list(columns.items())
    last = max(columns, default=-1) + 1
    for i, line in enumerate(sentence.word_lines):
        cells = lines[line].split("\t", last)
        for place, column in places:
            cells[place] = column[i]
        lines[line] = "\t".join(cells)
    return lines
