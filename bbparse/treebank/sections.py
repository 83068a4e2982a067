"""Split a stream of sentences into sections that other processes can parse.

A section holds some whole sentences as raw lines. Splitting a file looks for blank lines only, so
it costs next to nothing. Reading a section gives the same sentences, or the same errors, as reading
the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bbparse.treebank.reading import Block, Source, blocks_of, no_sentence, open_source, whole_lines
from bbparse.treebank.sentence import Sentence

#: Maximum number of words in a section of several sentences: as many as the parser takes at a
#: time. Parsing takes 6 % more time with 500 words, and no less with 1,500. Multiword tokens and
#: empty nodes are counted, too, which does no harm.
SECTION_WORDS = 1000
#: The same for the first section, which is parsed while the workers start.
FIRST_WORDS = 50


class Section(list[Block]):
    """Blocks of consecutive sentences of a file, or one of blank lines."""

    @property
    def raw(self) -> bytes:
        """Lines of the section, and the blank lines around them."""
        return b"".join([block.raw for block in self])

    @property
    def n_sentences(self) -> int:
        """Number of its sentences; 0 where there are only blank lines."""
        return sum([bool(block.text) for block in self])

    def sentences(self) -> Iterator[Sentence]:
        """Yield the sentences that `read_conllu` reads from these lines, or raise its error."""
        return (block.sentence() for block in self if block.text)


def cut_conllu(source: Source) -> Iterator[Section | None]:
    """Split CoNLL-U or CoNLL-X into sections.

    As in `read_conllu`, the sentences before an error are yielded first. None is yielded for the
    standard input only, where reading on has to wait. By then all complete sentences, with
    the blank line after them, have been yielded.
    """
    with open_source(source) as (stream, name):
        empty = True
        for section in _sections(blocks_of(whole_lines(stream, name, source == "-"), name)):
            empty = empty and section is None
            yield section
        if empty:
            raise no_sentence(name)


def cut_sentences(
    sentences: Iterable[Sentence | None], name: str = "input"
) -> Iterator[Section | None]:
    """Group the sentences of a text into sections; None and errors come after those before them."""

    def blocks() -> Iterator[Block | None]:
        line, number = 1, 1
        for sentence in sentences:
            if sentence is None:
                yield None
                continue
            text = "\n".join([*sentence.lines, ""]).encode()
            after = sentence.after.removeprefix("\n")
            yield Block(text, line, number, sentence.before, after, name)
            line, number = line + len(sentence.lines) + 1, number + 1

    return _sections(blocks())


def _sections(blocks: Iterable[Block | None]) -> Iterator[Section | None]:
    """Yield the sections that are full; None and errors come after the sentences before them."""
    section = Section()
    words, max_words = 0, FIRST_WORDS
    try:
        for block in blocks:
            n_words = block.n_words if block else 0
            if section and (block is None or words + n_words > max_words):
                yield section
                section, words, max_words = Section(), 0, SECTION_WORDS
            if block is None:
                yield None
            else:
                section.append(block)
                words += n_words
    except Exception:
        if section:
            yield section
        raise
    if section:
        yield section
