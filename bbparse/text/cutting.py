"""Raw text → sentences of words, as English Universal Dependencies have them.

Tokens and sentences are found by syntok; `bbparse.treebank.english` joins and cuts its tokens where
the treebanks do. Every word knows where it stands in the text.
"""

from __future__ import annotations

import lzma
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import IO

from syntok.segmenter import segment
from syntok.tokenizer import Token, Tokenizer

from bbparse.errors import TreebankError
from bbparse.treebank.english import KEPT, STROKE, contraction, is_clitic
from bbparse.treebank.reading import open_source
from bbparse.treebank.sections import arriving_lines
from bbparse.treebank.sentence import Sentence

__all__ = ["read_text", "sentences_of_text", "text_as_it_comes"]

Span = tuple[int, int]

_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*")
_MARKS = re.compile(r"^[.!?]{2,}$")
# Without a paragraph's end text is cut at a line's end after so many characters.
_LONGEST = 1 << 20


def read_text(source: str | os.PathLike[str] | IO[str] | IO[bytes]) -> Iterator[Sentence]:
    """Sentences of a text file, read paragraph by paragraph.

    Parameters
    ----------
    source : path, "-" or open file
        UTF-8; ``.gz`` and ``.xz`` are unpacked, ``-`` is the standard input.

    Yields
    ------
    Sentence
        See `sentences_of_text`.

    Raises
    ------
    TreebankError
        If the file cannot be read, is not UTF-8, or has no words.
    """
    return (sentence for sentence in text_as_it_comes(source) if sentence is not None)


def text_as_it_comes(
    source: str | os.PathLike[str] | IO[str] | IO[bytes],
) -> Iterator[Sentence | None]:
    """As `read_text`; with None before more of the standard input is read.

    All sentences of paragraphs that have come before, with the blank line after them, have been
    yielded by then.
    """
    name, number, offset = _name(source), 0, 0
    for paragraph in _paragraphs(source, name):
        if paragraph is None:
            yield None
            continue
        for sentence in sentences_of_text(paragraph, offset=offset, first=number + 1):
            number += 1
            sentence.source = name
            yield sentence
        offset += len(paragraph)
    if not number:
        raise TreebankError(f"{name}: there are no words in it")


def sentences_of_text(text: str, *, offset: int = 0, first: int = 1) -> Iterator[Sentence]:
    """Sentences of a text.

    Parameters
    ----------
    text : str
        A blank line ends a paragraph, and with it a sentence; other line breaks are blanks.
    offset : int
        Where the text begins in what it was taken from.
    first : int
        Number of the first sentence.

    Yields
    ------
    Sentence
        With comments ``sent_id`` and ``text``, and ``newpar`` where a paragraph begins. MISC has
        ``SpaceAfter=No`` where no blank follows and ``TokenRange=start:end`` in characters;
        contractions such as *don't* are multiword tokens.
    """
    number, start = first, 0
    while start < len(text):
        match = _PARAGRAPH_END.search(text, start)
        end = match.start() if match else len(text)
        new_paragraph = True
        for spans in _sentence_spans(text[start:end]):
            moved = [(a + start, b + start) for a, b in spans]
            yield _sentence(text, moved, offset, number, new_paragraph)
            new_paragraph = False
            number += 1
        start = match.end() if match else len(text)


def _sentence_spans(paragraph: str) -> Iterator[list[Span]]:
    """The tokens of each sentence of a paragraph."""
    end_of: dict[int, int] = {}
    tokens, last = [], 0
    for a, b in _joined(paragraph, _token_spans(paragraph)):
        end_of[a] = b
        # syntok knows single marks and three dots, not other runs of them
        value = _MARKS.sub(_one_mark, paragraph[a:b])
        tokens.append(Token(paragraph[last:a], value, a))
        last = b
    for sentence in segment(iter(tokens)):
        found = [(token.offset, end_of[token.offset]) for token in sentence]
        if found:
            yield found


def _one_mark(marks: re.Match[str]) -> str:
    text = marks.group()
    return "..." if set(text) == {"."} else text.strip(".")[-1]


def _token_spans(paragraph: str) -> list[Span]:
    tokenizer = Tokenizer(emit_hyphen_or_underscore_sep=True, replace_not_contraction=False)
    spans = []
    for token in tokenizer.tokenize(paragraph):
        if token.value.strip():
            spans.append((token.offset, token.offset + len(token.value)))
    return spans


def _joined(paragraph: str, spans: list[Span]) -> list[Span]:
    """Tokens cut and joined so that each part of the text that is `KEPT` is one of them."""
    kept = [match.span() for match in KEPT.finditer(paragraph)]
    out: list[Span] = []
    k = 0
    for a, b in spans:
        while a < b:
            while k < len(kept) and kept[k][1] <= a:
                k += 1
            if k == len(kept) or kept[k][0] >= b:
                out += _cut(paragraph, a, b)
                break
            start, end = kept[k]
            if a < start:
                out += _cut(paragraph, a, start)
            if not out or out[-1] != (start, end):
                out.append((start, end))
            a = max(a, end)
    return out


def _cut(paragraph: str, a: int, b: int) -> list[Span]:
    """A token cut at strokes between words."""
    edges = [a]
    for match in STROKE.finditer(paragraph, a, b):
        edges += match.span()
    edges.append(b)
    return [(x, y) for x, y in pairwise(edges) if x < y]


def _words(text: str, spans: list[Span]) -> Iterator[list[Span]]:
    """The words of each token; several where it is a contraction."""
    i = 0
    quoted = False
    while i < len(spans):
        a, b = spans[i]
        token = text[a:b]
        i += 1
        cut = contraction(token)
        words = [(a, a + cut), (a + cut, b)] if cut else [(a, b)]
        if i < len(spans) and spans[i][0] == b and token[-1].isalnum() and not cut:
            following = text[spans[i][0] : spans[i][1]]
            after = text[spans[i][1] : spans[i][1] + 1]
            # the apostrophe of "parents' house" is none that closes a quotation
            possessive = following in "'’" and token[-1] in "sS" and not quoted and after.isspace()
            if is_clitic(following) or possessive:
                words.append(spans[i])
                i += 1
        if token in "'‘’" and len(words) == 1:
            quoted = not quoted
        yield words


def _sentence(
    text: str, spans: list[Span], offset: int, number: int, new_paragraph: bool
) -> Sentence:
    start, end = spans[0][0], spans[-1][1]
    lines = ["# newpar"] if new_paragraph else []
    shown = " ".join(text[start:end].split())
    lines += [f"# sent_id = {number}", f"# text = {shown}"]
    forms: list[str] = []
    word_lines: list[int] = []
    for words in _words(text, spans):
        a, b = words[0][0], words[-1][1]
        misc = [] if b == len(text) or text[b : b + 1].isspace() else ["SpaceAfter=No"]
        misc.append(f"TokenRange={offset + a}:{offset + b}")
        one = "|".join(misc)
        if len(words) > 1:
            first = len(forms) + 1
            lines.append(
                "\t".join((f"{first}-{first + len(words) - 1}", text[a:b], *"_______", one))
            )
            one = ""
        for start, end in words:
            forms.append(text[start:end])
            word_lines.append(len(lines))
            place = one or f"TokenRange={offset + start}:{offset + end}"
            lines.append("\t".join((str(len(forms)), forms[-1], *"_______", place)))
    n = len(forms)
    empty = ["_"] * n
    return Sentence(
        lines, word_lines, forms, empty, empty.copy(), empty.copy(), empty.copy(), [-1] * n,
        empty.copy(), number=number,
    )  # fmt: skip


def _name(source: object) -> str:
    if source == "-":
        return "standard input"
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "input"


def _paragraphs(
    source: str | os.PathLike[str] | IO[str] | IO[bytes], name: str
) -> Iterator[str | None]:
    """Pieces of a text that end with a blank line, together the whole text.

    From the standard input None comes before more is read.
    """
    try:
        with open_source(source) as (stream, _):
            lines = arriving_lines(stream, name) if source == "-" else stream
            yield from _pieces(lines, name)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TreebankError(f"{name}: cannot be read: {reason}") from None


def _pieces(stream: Iterable[str] | Iterable[bytes | None], name: str) -> Iterator[str | None]:
    lines: list[str] = []
    size = number = 0
    blank = False
    for raw in stream:
        if raw is None:
            if lines and blank:
                yield "".join(lines)
                lines, size = [], 0
            yield None
            continue
        number += 1
        line = ""
        if isinstance(raw, bytes):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                if lines and blank:
                    yield "".join(lines)
                raise TreebankError(
                    f"{name}, line {number}: byte {error.start + 1} of the line is"
                    f" 0x{raw[error.start]:02x}, expected text in UTF-8"
                ) from None
        elif isinstance(raw, str):
            line = raw
        if lines and ((blank and not line.isspace()) or size > _LONGEST):
            yield "".join(lines)
            lines, size = [], 0
        blank = line.isspace()
        lines.append(line)
        size += len(line)
    if lines:
        yield "".join(lines)
