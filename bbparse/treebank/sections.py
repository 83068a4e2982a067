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

from bbparse.errors import TreebankError
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

    raw: bytes  # their lines, and the blank lines around them
    line_number: int  # of the first line in the file, from 1
    number: int  # of the first sentence in the file, from 1
    n_sentences: int  # 0 where there are only blank lines
    name: str = "input"  # of the file, for messages

    def sentences(self) -> Iterator[Sentence]:
        """What `read_conllu` gives for these lines of the file, or raises."""
        for block in self._blocks():
            yield block.sentence(self.name)

    def singly(self) -> Iterator[Section]:
        """Sections of one sentence each."""
        for block in self._blocks():
            before, after = block.before.encode("latin-1"), block.after.encode("latin-1")
            raw = before + b"".join(block.lines) + after
            line_number = block.line_number - before.count(b"\n")
            yield Section(raw, line_number, block.number, 1, self.name)

    def _blocks(self) -> Iterator[Block]:
        return blocks_of(io.BytesIO(self.raw), self.line_number, self.number)


def cut_conllu(source: Source) -> Iterator[Section | None]:
    """Cut CoNLL-U or CoNLL-X into sections; as `read_conllu`, what was read comes before an error.

    None comes from the standard input only: before more is read, which may have to be waited for.
    All sentences that have come before, with the blank line after them, have been yielded by then.
    """
    with open_source(source) as (stream, name):
        gathered = _Gathered(name)
        lines: list[bytes] = []
        words = 0
        try:
            for line in arriving_lines(stream, name):
                if line is None:
                    if source != "-":
                        continue
                    if gathered.n_sentences:
                        yield from gathered.take()
                    yield None
                elif not line.isspace():
                    lines.append(line)
                    words += line[0] != ord("#")
                elif lines:
                    yield from gathered.add(b"".join(lines), words)
                    gathered.raw.append(line)
                    lines, words = [], 0
                else:
                    gathered.raw.append(line)
        except TreebankError:
            yield from gathered.take()
            raise
        if lines:
            yield from gathered.add(b"".join(lines), words)
        if gathered.number + gathered.n_sentences == 1:
            raise no_sentence(name)
        yield from gathered.take()


def cut_sentences(sentences: Iterable[Sentence | None]) -> Iterator[Section | None]:
    """Put sentences into sections; None, and errors, come after the sentences before them."""
    gathered = _Gathered("input")
    try:
        for sentence in sentences:
            if sentence is None:
                yield from gathered.take()
                yield None
            else:
                gathered.name = sentence.source or gathered.name
                text = sentence.before + "\n".join(sentence.lines) + sentence.after
                yield from gathered.add(text.encode(), sentence.n_words)
    except Exception:
        yield from gathered.take()
        raise
    yield from gathered.take()


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


class _Gathered:
    """Sentences on their way into a section."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.raw: list[bytes] = []
        self.line_number = 1
        self.number = 1
        self.n_sentences = 0
        self.words = 0

    def add(self, raw: bytes, words: int) -> Iterator[Section]:
        """Take a sentence in; the section before it comes out if it is full."""
        most = SECTION_WORDS if self.number > 1 else FIRST_WORDS
        if self.n_sentences and self.words + words > most:
            yield from self.take()
        self.raw.append(raw)
        self.n_sentences += 1
        self.words += words

    def take(self) -> Iterator[Section]:
        """What there is, if there is anything."""
        raw = b"".join(self.raw)
        if raw:
            yield Section(raw, self.line_number, self.number, self.n_sentences, self.name)
        self.line_number += raw.count(b"\n")
        self.number += self.n_sentences
        self.raw = []
        self.n_sentences = self.words = 0
