"""A stream of sentences in sections that others can read.

A section is some whole sentences as their raw lines. Cutting a file into sections looks for blank
lines and at nothing else, so it costs next to nothing; reading a section gives the same sentences,
or the same errors, as reading the file does.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bbparse.treebank.reading import Block, Source, blocks_of, no_sentence, open_source, raw_lines
from bbparse.treebank.sentence import Sentence

#: Words that the sentences of a section have together, unless it is a single one: what the parser
#: takes at a time. Multiword tokens and empty nodes count, which makes no difference to anyone.
SECTION_WORDS = 1000
#: The same for the first section, which workers are not yet there for.
FIRST_WORDS = 50
_READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Section:
    """Some sentences of a file."""

    blocks: list[Block]
    name: str = "input"  # of the file, for messages

    @property
    def raw(self) -> bytes:
        """Their lines, and the blank lines around them."""
        return b"".join(block.raw for block in self.blocks)

    @property
    def number(self) -> int:
        """That of the first sentence in the file, from 1."""
        return self.blocks[0].number

    @property
    def n_sentences(self) -> int:
        """0 where there are only blank lines."""
        return sum(bool(block.lines) for block in self.blocks)

    def sentences(self) -> Iterator[Sentence]:
        """What `read_conllu` gives for these lines of the file, or raises."""
        return (block.sentence(self.name) for block in self.blocks if block.lines)


def cut_conllu(source: Source) -> Iterator[Section | None]:
    """Cut CoNLL-U or CoNLL-X into sections; as `read_conllu`, what was read comes before an error.

    None comes from the standard input only: before more is read, which may have to be waited for.
    All sentences that have come before, with the blank line after them, have been yielded by then.
    """
    with open_source(source) as (stream, name):
        empty = True
        lines = arriving_lines(stream, name) if source == "-" else raw_lines(stream, name)
        for section in _sections(blocks_of(lines), name):
            empty = empty and section is None
            yield section
        if empty:
            raise no_sentence(name)


def cut_sentences(
    sentences: Iterable[Sentence | None], name: str = "input"
) -> Iterator[Section | None]:
    """Put sentences of one text into sections; None, and errors, come after those before them."""

    def blocks() -> Iterator[Block | None]:
        line, number = 1, 1
        for one in sentences:
            if one is None:
                yield None
                continue
            lines = [f"{text}\n".encode() for text in one.lines]
            yield Block(lines, line, number, one.before, one.after.removeprefix("\n"))
            line, number = line + len(lines) + 1, number + 1

    return _sections(blocks(), name)


def _sections(blocks: Iterable[Block | None], name: str) -> Iterator[Section | None]:
    """Sections that are full; None, and errors, come after the sentences before them."""
    some: list[Block] = []
    words, most = 0, FIRST_WORDS
    try:
        for block in blocks:
            own = sum(not line.startswith(b"#") for line in block.lines) if block else 0
            if some and (block is None or words + own > most):
                yield Section(some, name)
                some, words, most = [], 0, SECTION_WORDS
            if block is None:
                yield None
            else:
                some.append(block)
                words += own
    except Exception:
        if some:
            yield Section(some, name)
        raise
    if some:
        yield Section(some, name)


def arriving_lines(stream: Any, name: str) -> Iterator[bytes | None]:
    """Lines with their line feeds, and None before more is read, which may have to be waited for.

    `TreebankError` if the stream, of this name, cannot be read.
    """
    if not hasattr(stream, "read1"):  # text, or no file at all
        yield from raw_lines(stream, name)
        return
    beginning: list[bytes] = []  # of the line that has not come as a whole
    for piece in raw_lines(iter(lambda: stream.read1(_READ_BYTES), b""), name):
        end = piece.rfind(b"\n") + 1
        if end:
            beginning.append(piece[:end])
            yield from io.BytesIO(b"".join(beginning))
            beginning = []
        if end < len(piece):
            beginning.append(piece[end:])
        yield None
    if beginning:
        yield b"".join(beginning)
