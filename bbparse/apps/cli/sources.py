"""Input of commands: models; sentences of treebanks or running text, or sections of them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence

from bbparse.apps.cli import options
from bbparse.apps.cli.common import tell
from bbparse.models.factors.registry import load_families
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import TreebankError
from bbparse.text.segmentation import Split, split_of_name, stream_text
from bbparse.treebank import Sentence
from bbparse.treebank.sections import Section, cut_conllu, cut_sentences

# The error of reading running text as a treebank.
_ONE_COLUMN = re.compile(r"expected 10 columns, found 1\b")


def load_parser(model: str) -> Parser:
    """Load the parser, ready to run; report families of ``--factors`` that it does not use."""
    parser = Parser.load(model, options.given_factors())
    used = {family.name for family in parser.maker.families}
    for family in load_families(options.given_factors()):
        if family.name not in used:
            tell(f"the model does not use the factor family {family.name}: ignored")
    return parser


def read_sentences(source: str, parser: Parser, split: Split | None) -> Iterator[Sentence]:
    """Read sentences of CoNLL-U or CoNLL-X, or of running text if `split` or the name says so."""
    for section in read_sections([source], parser, split):
        if section is not None:
            yield from sentences_of(section)


def read_sections(
    sources: Sequence[str], parser: Parser, split: Split | None
) -> Iterator[Section | None]:
    """Read several sources in sections, for `sentences_of`; errors are those of `read_sentences`.

    None comes before more of standard input is read, which may have to be waited for. Several texts
    are one treebank of several documents: the numbers of their sentences continue.
    """
    number = 1
    for source in sources:
        how = split or split_of_name(source)
        if how is None:
            yield from cut_conllu(source)
            continue
        document = source if len(sources) > 1 else None
        text = stream_text(source, parser.needed_tokenizer(), how, number, document)
        for section in cut_sentences(text, "standard input" if source == "-" else source):
            number += section.n_sentences if section is not None else 0
            yield section


def sentences_of(section: Section) -> Iterator[Sentence]:
    """Yield the sentences of a section, with the errors of `read_sentences`."""
    is_first = section.number == 1
    try:
        for sentence in section.sentences():
            yield sentence
            is_first = False
    except TreebankError as error:
        if is_first and _ONE_COLUMN.search(str(error)):
            raise TreebankError(f"{error}; use --text for running text") from None
        raise


def check_sources(sources: Sequence[str]) -> None:
    """Check, before any work, that all sources exist and none is repeated."""
    for i, source in enumerate(sources):
        name = "standard input" if source == "-" else source
        if source in sources[:i]:
            raise TreebankError(f"{name}: given twice as input")
        if source != "-" and len(sources) > 1 and not os.path.exists(source):
            raise TreebankError(f"{name}: cannot be read: {os.strerror(errno.ENOENT)}")


def total_size(sources: Sequence[str], split: Split | None) -> int | None:
    """Return the size in bytes of uncompressed treebank files, for progress; None for others."""
    for source in sources:
        packed = source.endswith((".gz", ".xz"))
        if split or split_of_name(source) or packed or not os.path.isfile(source):
            return None
    return sum(map(os.path.getsize, sources))
