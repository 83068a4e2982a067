"""Raw text → sentences of words, as the treebank of a model has them.

Sentences, tokens and words are found by a `Cutter`, which is trained with the model. Every word
knows where it stands in the text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Literal

from bbparse.errors import TreebankError
from bbparse.text.cutter import Cutter, Likeness, Token
from bbparse.treebank.reading import open_source, raw_lines
from bbparse.treebank.sections import arriving_lines
from bbparse.treebank.sentence import Sentence

#: What a text is cut by: everything as the model has learned it; every line a sentence; every line
#: a sentence, and its words what is between blanks.
Split = Literal["text", "lines", "words"]
SPLITS: tuple[Split, ...] = ("text", "lines", "words")

_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*")
_LINE_END = re.compile(r"\n\s*")
_TOKEN = re.compile(r"\S+")
# Without a paragraph's end text is cut at a line's end after so many characters.
_LONGEST = 1 << 20
# A line without an end is cut at a blank after so many.
_PIECE = 1 << 17

Source = str | os.PathLike[str] | IO[str] | IO[bytes]


def split_of_name(source: str) -> Split | None:
    """How a source is cut by its name: as text, or not at all."""
    return "text" if source.endswith((".txt", ".txt.gz", ".txt.xz")) else None


def read_text(source: Source, cutter: Cutter, split: Split = "text") -> Iterator[Sentence]:
    """Sentences of a text file, read paragraph by paragraph.

    Parameters
    ----------
    source : path, "-" or open file
        UTF-8; ``.gz`` and ``.xz`` are unpacked, ``-`` is the standard input.
    cutter : Cutter
        Of a model.
    split : {"text", "lines", "words"}
        See `sentences_of_text`.

    Yields
    ------
    Sentence
        See `sentences_of_text`.

    Raises
    ------
    TreebankError
        If the file cannot be read, is not UTF-8, or has no words.
    """
    every = text_as_it_comes(source, cutter, split)
    return (sentence for sentence in every if sentence is not None)


def text_as_it_comes(
    source: Source,
    cutter: Cutter,
    split: Split = "text",
    first: int = 1,
    document: str | None = None,
) -> Iterator[Sentence | None]:
    """As `read_text`; with None before more of the standard input is read.

    All sentences of paragraphs that have come before, with the blank line after them, have been
    yielded by then. ``first`` is the number of the first sentence; ``document``, if given, the name
    that a comment before it gives to the text.
    """
    number, offset = first, 0
    likeness = Likeness(cutter)
    with open_source(source) as (stream, name):
        read = arriving_lines if source == "-" else raw_lines
        for paragraph in _pieces(read(stream, name), name):
            if paragraph is None:
                yield None
                continue
            for sentence in sentences_of_text(
                paragraph, cutter, split=split, offset=offset, first=number, likeness=likeness
            ):
                if number == first and document is not None:
                    sentence.lines.insert(0, f"# newdoc id = {' '.join(document.split())}")
                    sentence.word_lines = [line + 1 for line in sentence.word_lines]
                number += 1
                sentence.source = name
                yield sentence
            offset += len(paragraph)
        if number == first:
            raise TreebankError(f"{name}: there are no words in it")


def sentences_of_text(
    text: str,
    cutter: Cutter,
    *,
    split: Split = "text",
    offset: int = 0,
    first: int = 1,
    likeness: Likeness | None = None,
) -> Iterator[Sentence]:
    """Sentences of a text.

    Parameters
    ----------
    text : str
        A blank line ends a paragraph, and with it a sentence; other line breaks are blanks.
    cutter : Cutter
        Of a model.
    split : {"text", "lines", "words"}
        With "lines" each line is a sentence, with "words" its words are what blanks are between,
        too.
    offset : int
        Where the text begins in what it was taken from.
    first : int
        Number of the first sentence.
    likeness : Likeness, optional
        What warns of other languages, if the text is a part of one.

    Yields
    ------
    Sentence
        With comments ``sent_id`` and ``text``, and ``newpar`` where a paragraph begins. MISC has
        ``SpaceAfter=No`` where no blank follows and ``TokenRange=start:end`` in characters;
        contractions such as *don't* may be multiword tokens.
    """
    if split not in SPLITS:
        raise TreebankError(f"split is {split!r}, expected one of {', '.join(SPLITS)}")
    number, start = first, 0
    likeness = likeness or Likeness(cutter)
    border = _PARAGRAPH_END if split == "text" else _LINE_END
    new_paragraph = True
    while start < len(text):
        if text[start].isspace():
            start += 1
            continue
        match = border.search(text, start)
        end = match.start() if match else len(text)
        if end - start > _PIECE:
            blank = text.rfind(" ", start, start + _PIECE)
            end, match = (blank if blank > start else start + _PIECE), None
        for tokens in _sentences(text[start:end], cutter, split):
            moved = [Token(a + start, b + start, words) for a, b, words in tokens]
            likeness.look(moved)
            yield _sentence(text, moved, offset, number, new_paragraph)
            new_paragraph = False
            number += 1
        new_paragraph |= match is not None and match.group().count("\n") > 1
        start = match.end() if match else end


def _sentences(text: str, cutter: Cutter, split: Split) -> Iterator[Sequence[Token]]:
    """The tokens of each sentence of a paragraph, or of a line."""
    if split == "text":
        yield from cutter.paragraph(text)
        return
    if split == "lines":
        tokens = cutter.tokens(text)
    else:
        found = _TOKEN.finditer(text)
        tokens = [Token(match.start(), match.end(), (match.group(),)) for match in found]
    if tokens:
        yield tokens


def _sentence(
    text: str, tokens: Sequence[Token], offset: int, number: int, new_paragraph: bool
) -> Sentence:
    start, end = tokens[0].start, tokens[-1].end
    lines = ["# newpar"] if new_paragraph else []
    shown = " ".join(text[start:end].split())
    lines += [f"# sent_id = {number}", f"# text = {shown}"]
    forms: list[str] = []
    word_lines: list[int] = []
    for a, b, words in tokens:
        misc = [] if b == len(text) or text[b : b + 1].isspace() else ["SpaceAfter=No"]
        misc.append(f"TokenRange={offset + a}:{offset + b}")
        one = "|".join(misc)
        written = _visible(text[a:b])
        if len(words) > 1:
            first = len(forms) + 1
            lines.append("\t".join((f"{first}-{first + len(words) - 1}", written, *"_______", one)))
            cut = "".join(words) == text[a:b]
            for word in words:
                place = f"TokenRange={offset + a}:{offset + a + len(word)}" if cut else "_"
                forms.append(_visible(word))
                word_lines.append(len(lines))
                lines.append("\t".join((str(len(forms)), forms[-1], *"_______", place)))
                a += len(word)
        else:
            forms.append(written)
            word_lines.append(len(lines))
            lines.append("\t".join((str(len(forms)), written, *"_______", one)))
    n = len(forms)
    empty = ["_"] * n
    return Sentence(
        lines, word_lines, forms, empty, empty.copy(), empty.copy(), empty.copy(), [-1] * n,
        empty.copy(), number=number,
    )  # fmt: skip


def _visible(form: str) -> str:
    """A form without what a column may not have: blanks other than one space."""
    return form if form.isprintable() else " ".join(form.split())


def _pieces(stream: Iterable[bytes | None], name: str) -> Iterator[str | None]:
    """Pieces of a text that end with a blank line, together the whole text.

    None, which says that there may be more to wait for, is passed on.
    """
    lines: list[str] = []
    size = number = 0
    blank = False
    for raw in stream:
        line = ""
        if raw is not None:
            number += 1
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                if lines and blank:
                    yield "".join(lines)
                raise TreebankError(
                    f"{name}, line {number}: byte {error.start + 1} of the line is"
                    f" 0x{raw[error.start]:02x}, expected text in UTF-8"
                ) from None
        if lines and ((blank and not line.isspace()) or size > _LONGEST):
            yield "".join(lines)
            lines, size = [], 0
        if raw is None:
            yield None
            continue
        blank = line.isspace()
        lines.append(line)
        size += len(line)
    if lines:
        yield "".join(lines)
