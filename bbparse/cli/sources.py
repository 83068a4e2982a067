"""Sentences of a file or of the standard input: a treebank, or running text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bbparse.errors import TreebankError
from bbparse.treebank import Sentence, read_conllu

# What reading text as a treebank comes to.
_ONE_COLUMN = re.compile(r"expected 10 columns, found 1\b")


def read_sentences(source: str, text: bool) -> Iterator[Sentence]:
    """Sentences of CoNLL-U or CoNLL-X, or of running text.

    Parameters
    ----------
    source : str
        A path, or ``-`` for the standard input.
    text : bool
        Whether it is running text; files named ``.txt`` are.

    Raises
    ------
    TreebankError
        If it cannot be read, or is neither.
    """
    if not text and not source.endswith(".txt"):
        return _treebank(source)
    from bbparse.text import read_text

    return read_text(source)


def _treebank(source: str) -> Iterator[Sentence]:
    first = True
    try:
        for sentence in read_conllu(source):
            yield sentence
            first = False
    except TreebankError as error:
        if first and _ONE_COLUMN.search(str(error)):
            raise TreebankError(f"{error}; for running text say --text") from None
        raise
