"""Read CoNLL-U and CoNLL-X.

Both formats have ten columns, and the columns that the parser needs are the same, so one reader
reads both; CoNLL-X has no comments, multiword tokens or empty nodes. A file is split into blocks at
blank lines, and every line stays as it was.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import select
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from sys import intern
from typing import IO, Any, NamedTuple

from bbparse.runtime.errors import TreebankError
from bbparse.treebank.sentence import NO_HEAD, Sentence, check_tree

N_COLUMNS = 10
#: Maximum length of a line, and maximum number of lines of a sentence.
MAX_LINE, MAX_LINES = 1 << 24, 100_000
#: Columns that may not be blank.
_TITLES = ("", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "", "DEPREL")
COLUMN_NAMES = tuple("ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split())
_COLUMNS_OF_PLUS = "# global.columns"
BYTE_ORDER_MARK = "\ufeff"
_MARK = BYTE_ORDER_MARK.encode()
_READ_BYTES = 1 << 16

Source = str | os.PathLike[str] | IO[str] | IO[bytes]


@lru_cache(100_000)
def _head_of(text: str) -> int:
    """Return the number in HEAD, one out of any range if it is written as none."""
    if text == "_":
        return NO_HEAD
    is_number = text.isascii() and text.isdigit() and (text[0] != "0" or text == "0")
    # longer ones, which int may refuse, are out of range anyway
    return int(text[:18]) if is_number else sys.maxsize


_UNPACKED: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


class _Malformed(Exception):
    """An error in a block, and the index of its line (from 0)."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_conllu(
    source: Source,
    *,
    require_heads: bool = False,
    single_root: bool = False,
    skip_invalid: bool = False,
    on_skip: Callable[[TreebankError], None] | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a file; it is opened when the first one is requested.

    Parameters
    ----------
    source : path, "-" or open file
        A CoNLL-U or CoNLL-X file; ``.gz`` and ``.xz`` are unpacked, ``-`` is the standard input. An
        open file may be binary or text, and is left open.
    require_heads : bool, default False
        Require a tree of each sentence: a head for every word, no cycle, a root.
    single_root : bool, default False
        With `require_heads`: require exactly one word with head 0.
    skip_invalid : bool, default False
        Skip sentences with errors instead of raising.
    on_skip : callable, optional
        Called with the error of each skipped sentence.

    Yields
    ------
    Sentence
        With ``_`` for HEAD read as -1.

    Raises
    ------
    TreebankError
        If the file cannot be read or has no sentence, or for the first sentence with an error (a
        wrong number of columns, ids out of order, a head that is not a number in range, bytes that
        are not UTF-8, no words, no tree although required). The message has file and line.
    """
    with open_source(source) as (stream, name):
        empty = True
        for block in blocks_of(whole_lines(stream, name), name):
            if block is None:
                continue
            empty = False
            try:
                sentence = block.sentence()
                if require_heads:
                    check_tree(sentence, single_root=single_root)
            except TreebankError as error:
                if not skip_invalid:
                    raise
                if on_skip is not None:
                    on_skip(error)
            else:
                yield sentence
        if empty:
            raise no_sentence(name)


def no_sentence(name: str) -> TreebankError:
    """Return the error for a file without sentences."""
    return TreebankError(f"{name}: the file is empty, expected at least one sentence")


@contextmanager
def open_source(source: Source) -> Iterator[tuple[Any, str]]:
    """Yield a stream of lines (bytes or str) and its name for messages."""
    if not isinstance(source, str | os.PathLike):
        if not isinstance(source, Iterator) and not hasattr(source, "readline"):
            kind = type(source).__name__
            raise TreebankError(f"source is of type {kind}, expected a path or an open file")
        name = getattr(source, "name", None)
        yield source, name if isinstance(name, str) else "input"
        return
    path = os.fspath(source)
    if path == "-":
        if sys.stdin is None:
            raise TreebankError("standard input: cannot be read: it is closed")
        yield getattr(sys.stdin, "buffer", sys.stdin), "standard input"
        return
    try:
        opened: Any = _UNPACKED.get(os.path.splitext(path)[1], open)(path, "rb")
        stream = io.BufferedReader(opened, 1 << 18)
    except OSError as error:
        raise TreebankError(f"{path}: cannot be read: {error.strerror or error}") from None
    with stream:
        yield stream, path


class Block(NamedTuple):
    """Lines of a sentence, and their place in the file."""

    text: bytes  #: The lines, with their line feeds.
    line_number: int
    number: int
    before: str
    after: str
    name: str = "input"  #: Name of the file, for messages.

    @property
    def raw(self) -> bytes:
        """Lines of the block, with the blank lines around them."""
        return self.before.encode() + self.text + self.after.encode()

    @property
    def n_words(self) -> int:
        """About the number of words: multiword tokens and empty nodes are counted, too."""
        text = self.text
        return text.count(b"\n") - text.count(b"\n#") - text.startswith(b"#")

    def sentence(self) -> Sentence:
        """Parse the sentence; `TreebankError` if it is malformed."""
        try:
            sentence = _parse_block(self.text)
        except _Malformed as problem:
            place = f"{self.name}, line {self.line_number + problem.line}"
            raise TreebankError(f"{place}: {problem}") from None
        sentence.source = self.name
        sentence.line_number = self.line_number
        sentence.number = self.number
        # a byte order mark in the middle, as between files put together, belongs nowhere
        sentence.before = self.before + (sentence.before if self.number == 1 else "")
        sentence.after += self.after
        return sentence


def blocks_of(pieces: Iterable[bytes | None], name: str) -> Iterator[Block | None]:
    """Yield the blocks between blank lines of `whole_lines`.

    None says that reading on has to wait. It is passed on after the blocks that are complete,
    with the blank lines after them. Blank lines at the end of the input then make a block of their
    own.
    """
    lines: list[bytes] = []
    blank: list[bytes] = []
    before = ""
    first = number = 1
    current = 0

    def block() -> Block:
        return Block(b"".join(lines), first, number, before, b"".join(blank).decode(), name)

    for piece in pieces:
        if piece is None:
            if lines and blank:
                yield block()
                lines, blank, before, number = [], [], "", number + 1
            yield None
            continue
        for line in io.BytesIO(piece):
            current += 1
            is_mark = line[0] == _MARK[0] and line.strip() == _MARK
            if is_mark or line.isspace():
                # at the beginning of a file only, a mark belongs to it
                blank.append(line.removeprefix(_MARK) if current > 1 else line)
                continue
            if blank:
                # The blank lines after a block are complete only when the next block begins.
                if lines:
                    yield block()
                    lines, before, number = [], "", number + 1
                else:
                    before = b"".join(blank).decode()
                blank = []
            if not lines:
                first = current
            lines.append(line)
            if len(lines) > MAX_LINES:
                raise TreebankError(
                    f"{name}, line {first}: a sentence of more than {MAX_LINES:,} lines, the"
                    " limit: expected a blank line after each sentence"
                )
    if lines or (blank and number > 1):
        yield block()


def raw_lines(stream: Iterable[Any], name: str) -> Iterator[bytes]:
    """Yield the lines of `whole_lines` one by one."""
    return (line for line in arriving_lines(stream, name, waits=False) if line)


def arriving_lines(stream: Iterable[Any], name: str, waits: bool) -> Iterator[bytes | None]:
    """Yield lines one by one; if it `waits`, None where reading on has to."""
    for piece in whole_lines(stream, name, waits):
        yield from (None,) if piece is None else io.BytesIO(piece)


def whole_lines(stream: Iterable[Any], name: str, waits: bool = False) -> Iterator[bytes | None]:
    """Yield lines with their line feeds, many at a time.

    If it `waits`, yield None where reading on has to. Nothing is read beyond the limit of a line:
    a packed one may have gigabytes.
    """
    beginning: list[bytes] = []  # of a line that has not been read completely
    size, number = 0, 1
    try:
        for piece in _pieces(stream):
            size += piece.find(b"\n") + 1 or len(piece)
            if size > MAX_LINE:
                raise too_long(name, number)
            end = piece.rfind(b"\n") + 1
            if end:
                yield b"".join([*beginning, piece[:end]])
                beginning, size, number = [], len(piece) - end, number + piece.count(b"\n")
            if end < len(piece):
                beginning.append(piece[end:])
            if waits and not _has_input(stream):
                yield None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TreebankError(f"{name}: cannot be read: {reason}") from None
    except UnicodeDecodeError as error:  # from a text file that decodes by itself
        raise TreebankError(f"{name}: expected text in UTF-8: {error}") from None
    if beginning:
        yield b"".join(beginning)


def _pieces(stream: Any) -> Iterator[bytes]:
    """Yield pieces of a stream as they come, or lines of text."""
    if hasattr(stream, "read1"):
        yield from iter(partial(stream.read1, _READ_BYTES), b"")
        return
    is_file = hasattr(stream, "readline")
    lines = iter(partial(stream.readline, MAX_LINE + 1), "") if is_file else stream
    for line in lines:
        if is_file and not line:
            return
        yield line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")


def _has_input(stream: Any) -> bool:
    """Return True if a stream can be read at once, as far as the system tells."""
    with suppress(AttributeError, OSError, ValueError):
        return bool(select.select([stream.fileno()], [], [], 0.0)[0])
    return False


def too_long(name: str, number: int) -> TreebankError:
    """Return the error for a line that is longer than the limit."""
    return TreebankError(f"{name}, line {number}: longer than {MAX_LINE >> 20} MiB, the limit")


def _parse_block(joined: bytes) -> Sentence:
    """Parse the lines of a block."""
    try:
        text = joined.decode("utf-8")
    except UnicodeDecodeError as error:
        line = joined.count(b"\n", 0, error.start)
        column = error.start - (joined.rfind(b"\n", 0, error.start) + 1) + 1
        value = joined[error.start]
        raise _Malformed(
            line, f"byte {column} of the line is 0x{value:02x}, expected text in UTF-8"
        ) from None
    before = after = ""
    if text[0] == BYTE_ORDER_MARK:
        before, text = BYTE_ORDER_MARK, text[1:]
    if text[-1:] == "\n":
        after, text = "\n", text[:-1]

    lines = text.split("\n")
    rows, word_lines = _words(lines, complete=bool(after))
    n, columns = len(rows), list(zip(*rows))
    heads = [*map(_head_of, columns[6])]
    for i, head in enumerate(heads):
        if head > n:
            place, found = word_lines[i], f"head of word {i + 1} is {columns[6][i]!r:.60}"
            raise _Malformed(place, f"{found}, expected a number from 0 to {n} or _")
    for title, texts in zip(_TITLES, columns):
        if title and not all(map(str.strip, texts)):
            i = next(i for i, text in enumerate(texts) if not text.strip())
            raise _Malformed(
                word_lines[i], f"{title} of word {i + 1} is {texts[i]!r:.60}, expected text"
            )
    # Interned, because values repeat: a training file takes a tenth of the memory.
    forms, lemmas, upos, xpos, feats, deprels = [
        list(map(intern, columns[place])) for place in (1, 2, 3, 4, 5, 7)
    ]
    words = forms, lemmas, upos, xpos, feats
    return Sentence(lines, word_lines, *words, heads, deprels, before=before, after=after)


_RANGE_ID = re.compile(r"([1-9][0-9]{0,17})-([1-9][0-9]{0,17})")
_EMPTY_ID = re.compile(r"(0|[1-9][0-9]{0,17})\.([1-9][0-9]*)")


def _check_columns(line: int, comment: str) -> None:
    """Check the names of the columns of CoNLL-U Plus in a comment."""
    names = comment.partition("=")[2].split()
    if tuple(names[:N_COLUMNS]) != COLUMN_NAMES:
        expected = " ".join(COLUMN_NAMES)
        raise _Malformed(line, f"global.columns is {names!r:.60}, expected {expected}")


def _hint(lines: list[str], line: int, complete: bool) -> str:
    """Say what may be wrong with a line of more or fewer columns."""
    content = lines[line]
    if "\r" in content.rstrip("\r"):
        return " (lines end in carriage returns alone, expected line feeds)"
    if any(other.startswith(_COLUMNS_OF_PLUS) for other in lines):
        return f" (of CoNLL-U Plus, keep the first {N_COLUMNS} columns)"
    if line == len(lines) - 1 and not complete:
        return " (the file ends in this line)"
    if "\t" not in content and len(content.split()) >= N_COLUMNS:
        return " (columns are separated by tabs, not by spaces)"
    return ""


def _words(lines: list[str], *, complete: bool) -> tuple[list[list[str]], list[int]]:
    """Return the rows of words and their line numbers; check the ids of all rows."""
    words: list[list[str]] = []
    word_lines: list[int] = []
    range_line = range_end = 0
    for line, content in enumerate(lines):
        if content.startswith("#"):
            if content.startswith(_COLUMNS_OF_PLUS):
                _check_columns(line, content)
            continue
        row = content.split("\t")
        text, n = row[0], len(words)
        if len(row) != N_COLUMNS:
            hint = _hint(lines, line, complete)
            raise _Malformed(line, f"expected {N_COLUMNS} columns, found {len(row)}{hint}")
        if text == str(n + 1):
            words.append(row)
            word_lines.append(line)
        elif token := _RANGE_ID.fullmatch(text):
            start, end = int(token.group(1)), int(token.group(2))
            if start != n + 1 or end < start or n < range_end:
                place = max(n, range_end) + 1
                raise _Malformed(
                    line, f"multiword token {text} found, expected one that begins at {place}"
                )
            range_line, range_end = line, end
        elif empty := _EMPTY_ID.fullmatch(text):
            if int(empty.group(1)) != n:
                raise _Malformed(line, f"empty node {text} found, expected {n}.k after word {n}")
        else:
            raise _Malformed(line, f"found the id {text!r:.60}, expected {n + 1}")
    if not words:
        raise _Malformed(0, "expected a sentence with at least one word, found none")
    if range_end > len(words):
        raise _Malformed(
            range_line,
            f"multiword token up to word {range_end} found, expected at most "
            f"{len(words)}, the number of words",
        )
    return words, word_lines
