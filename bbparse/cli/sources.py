"""What commands work on: models; sentences of treebanks or running text, or sections of them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence

import click

from bbparse.cli import options
from bbparse.errors import TreebankError
from bbparse.factors import FactorFamily, load_families
from bbparse.parsing.compiling import load_compiled
from bbparse.parsing.parser import Parser
from bbparse.text.segmentation import Split, split_of_name, stream_text
from bbparse.treebank import Sentence
from bbparse.treebank.sections import Section, cut_conllu, cut_sentences

# What reading text as a treebank comes to.
_ONE_COLUMN = re.compile(r"expected 10 columns, found 1\b")


def load_parser(model: str) -> Parser:
    """The parser, ready to run."""
    parser = load_compiled(model, options.given_factors())
    tell_unused(parser.maker.families)
    return parser


def tell_unused(needed: Iterable[FactorFamily]) -> None:
    """Name the families of ``--factors`` that a model does without."""
    names = {family.name for family in needed}
    for family in load_families(options.given_factors()):
        if family.name not in names:
            click.echo(f"bbparse: the model has no factors of {family.name}: not used", err=True)


def read_sentences(source: str, parser: Parser, split: Split | None) -> Iterator[Sentence]:
    """Sentences of CoNLL-U or CoNLL-X, or of running text, which the parser cuts as `split` says.

    Without `split`, files named ``.txt`` are running text, and others are not. `TreebankError` if
    the source cannot be read or is neither, `ModelError` if the model cannot cut text.
    """
    for section in read_sections([source], parser, split):
        if section is not None:
            yield from sentences_of(section)


def read_sections(
    sources: Sequence[str], parser: Parser, split: Split | None
) -> Iterator[Section | None]:
    """The same sentences of several sources in sections, for `sentences_of`, with the same errors.

    None comes before more of the standard input is read, which may have to be waited for. Several
    texts are one treebank of several documents: their sentences are numbered through.
    """
    number = 1
    for source in sources:
        how = split or split_of_name(source)
        if how is None:
            yield from cut_conllu(source)
            continue
        document = source if len(sources) > 1 else None
        text = stream_text(source, parser.needed_cutter(), how, number, document)
        for section in cut_sentences(text, "standard input" if source == "-" else source):
            number += section.n_sentences if section is not None else 0
            yield section


def sentences_of(section: Section) -> Iterator[Sentence]:
    """The sentences of a section of a source, with the errors that `read_sentences` has."""
    return _with_hint(section.sentences()) if section.number == 1 else section.sentences()


def check_sources(sources: Sequence[str]) -> None:
    """Raise `TreebankError` if one is not there, or there twice, before the work on the others."""
    for i, source in enumerate(sources):
        name = "standard input" if source == "-" else source
        if source in sources[:i]:
            raise TreebankError(f"{name}: is given twice as an input")
        if source != "-" and len(sources) > 1 and not os.path.exists(source):
            raise TreebankError(f"{name}: cannot be read: {os.strerror(errno.ENOENT)}")


def total_size(sources: Sequence[str], split: Split | None) -> int | None:
    """Bytes of treebanks that are files and not packed, by which one knows how far the work is."""
    for source in sources:
        packed = source.endswith((".gz", ".xz"))
        if split or split_of_name(source) or packed or not os.path.isfile(source):
            return None
    return sum(map(os.path.getsize, sources))


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
