"""Parse files section by section, here or in workers: text out."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bbparse.parser.parse import ParseOptions
from bbparse.parser.parser import Parser
from bbparse.parser.spans import Spans
from bbparse.runtime.errors import BBParseError, TreebankError, WorkerError
from bbparse.runtime.pool import AHEAD, Workers, in_order
from bbparse.text.segmentation import Split, TextTokenizer, split_of_name, stream_text
from bbparse.treebank import Sentence
from bbparse.treebank.drawing.formats import FORMATS, Style
from bbparse.treebank.reading import BYTE_ORDER_MARK
from bbparse.treebank.sections import Section, cut_conllu, cut_sentences

R = TypeVar("R")

# The error of reading running text as a treebank.
_ONE_COLUMN = re.compile(r"expected 10 columns, found 1\b")
_NEW_DOCUMENT = b"# newdoc"
_BYTE_ORDER_MARK = BYTE_ORDER_MARK.encode()


def read_sections(
    sources: Sequence[str], tokenizer: Callable[[], TextTokenizer], split: Split | None
) -> Iterator[Section | None]:
    """Read treebanks, or running text if `split` or the name says so, for `sentences_of`.

    None comes where more of standard input has to be waited for. Several sources are one treebank:
    each text is a document of it, and a treebank after a document another one. The numbers of the
    sentences of texts continue, with the name of the text if a treebank may have the same ones.
    """
    number, has_documents = 1, False
    kinds = [split or split_of_name(source) for source in sources]
    for source, how in zip(sources, kinds):
        name = "standard input" if source == "-" else source
        if how is None:
            sections = cut_conllu(source)
            if source != sources[0]:
                sections = _following(sections, f"# newdoc id = {name}" if has_documents else "")
        else:
            document = name if len(sources) > 1 else None
            ids = f"{Path(name).stem}-" if None in kinds else ""
            text = stream_text(source, tokenizer(), how, number, document, ids)
            sections = cut_sentences(text, name)
        for section in sections:
            if section is not None:
                number += section.n_sentences if how else 0
                has_documents |= len(sources) > 1 and _NEW_DOCUMENT in section.raw
            yield section


def _following(sections: Iterable[Section | None], document: str) -> Iterator[Section | None]:
    """Yield the sections of a treebank after another source, which begin a document there.

    A byte order mark belongs at the beginning of a file only.
    """
    is_first = True
    for section in sections:
        if section is not None and is_first:
            is_first = False
            block = section[0]
            text, line_number = block.text.removeprefix(_BYTE_ORDER_MARK), block.line_number
            if document and _NEW_DOCUMENT not in text:
                end = b"\r\n" if text.partition(b"\n")[0].endswith(b"\r") else b"\n"
                text, line_number = document.encode() + end + text, line_number - 1
            before = block.before.removeprefix(BYTE_ORDER_MARK)
            section[0] = block._replace(text=text, line_number=line_number, before=before)
        yield section


def sentences_of(section: Section) -> Iterator[Sentence]:
    """Yield the sentences of a section, or raise the error of reading the file."""
    is_first = section[0].number == 1
    try:
        for sentence in section.sentences():
            yield sentence
            is_first = False
    except TreebankError as error:
        if is_first and _ONE_COLUMN.search(str(error)):
            raise TreebankError(f"{error}; use --text for running text") from None
        raise


def read_sentences(
    source: str, tokenizer: Callable[[], TextTokenizer], split: Split | None
) -> Iterator[Sentence]:
    """Read sentences of CoNLL-U or CoNLL-X, or of running text if `split` or the name says so."""
    for section in read_sections([source], tokenizer, split):
        if section is not None:
            yield from sentences_of(section)


@dataclass(frozen=True, slots=True)
class FileOptions(ParseOptions):
    """Options for parsing files: those of ``bbparse parse``."""

    #: Way to split running text. Default: names of files decide.
    split: Split | None = None
    #: Format of the output.
    format_name: str = "conllu"
    #: Leave out sentences that cannot be parsed.
    skip_invalid: bool = False


#: The defaults.
USUAL_FILES = FileOptions()


def misc_keys(settings: FileOptions) -> list[str]:
    """Return the keys in MISC that options name."""
    keys = [] if settings.spans is None else [Spans.parsed(settings.spans).key]
    return keys if settings.edges is None else [*keys, settings.edges]


@dataclass(slots=True)
class Answer:
    """Result of parsing a section."""

    text: str = ""  #: Output for its sentences, or for those before an error.
    sentences: int = 0
    words: int = 0
    left_out: list[str] = field(default_factory=list)  #: Errors of sentences that are left out.
    error: BBParseError | None = None


def parse_section(
    section: Section, parser: Parser, settings: FileOptions, colour: bool = False
) -> Answer:
    """Parse a section; leave out the sentences that fail, or stop at the first one."""
    answer, style = Answer(), Style(settings.k_best, colour=colour)
    try:
        _add(answer, section, parser, settings.format_name, style)
    except BBParseError as error:
        if not settings.skip_invalid:
            answer.error = error
            return answer
        answer = Answer()
        for block in section:
            try:
                _add(answer, Section([block]), parser, settings.format_name, style)
            except BBParseError as problem:
                start = f"{block.name}, line "
                has_place = str(problem).startswith(start)
                where = "" if has_place else f"{start}{block.line_number}: "
                answer.left_out.append(f"{where}{problem}")
    return answer


def _add(answer: Answer, section: Section, parser: Parser, name: str, style: Style) -> None:
    """Add the sentences of a section in a format; those before an error count."""
    texts, write = [answer.text], FORMATS[name]
    if not section.n_sentences and name == "conllu":
        texts.append(section.raw.decode("latin-1"))  # blank lines
    try:
        for parse in parser.parse_all(sentences_of(section), tag=True):
            texts.append(write(parse.sentence, parse.trees, parse.status, style))
            answer.words += len(parse.sentence.forms)
            answer.sentences += 1
    finally:
        answer.text = "".join(texts)


def answers(
    work: Callable[[Section], R], sections: Iterable[Section | None], workers: int
) -> Generator[tuple[Section, R], None, None]:
    """Yield sections in order, each with the result of `work`; raise its errors.

    The first section is parsed in this process, so that workers share what it loads and compiles.
    """
    source = iter(sections)
    for section in source:
        if section is not None:
            yield section, work(section)
            if workers > 1:
                break
    if workers > 1:
        try:
            with closing(Workers(work, workers)) as pool:
                yield from in_order(pool.take, source, AHEAD * workers)
        except WorkerError as error:
            raise WorkerError(f"{error}: use fewer --threads or a smaller --prune") from None
