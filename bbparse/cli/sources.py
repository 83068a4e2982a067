"""Sentences, or sections of them, of a file or the standard input: a treebank or running text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bbparse.errors import TreebankError
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.sections import Section, cut_conllu, cut_sentences

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
    if not is_text(source, text):
        return _with_hint(read_conllu(source))
    from bbparse.text import read_text

    return read_text(source)


def read_sections(source: str, text: bool) -> Iterator[Section | None]:
    """The same sentences in sections, for `sentences_of`, and with the same errors.

    None comes before more of the standard input is read, which may have to be waited for.
    """
    if not is_text(source, text):
        return cut_conllu(source)
    from bbparse.text import text_as_it_comes

    return cut_sentences(text_as_it_comes(source))


def sentences_of(section: Section, source: str) -> Iterator[Sentence]:
    """The sentences of a section of a source, with the errors that `read_sentences` has."""
    sentences = section.sentences("standard input" if source == "-" else source)
    return _with_hint(sentences) if section.number == 1 else sentences


def is_text(source: str, text: bool) -> bool:
    """Whether a source is running text, by its name or because the user says so."""
    return text or source.endswith((".txt", ".txt.gz", ".txt.xz"))


def _with_hint(sentences: Iterator[Sentence]) -> Iterator[Sentence]:
    first = True
    try:
        for sentence in sentences:
            yield sentence
            first = False
    except TreebankError as error:
        if first and _ONE_COLUMN.search(str(error)):
            raise TreebankError(f"{error}; for running text say --text") from None
        raise
