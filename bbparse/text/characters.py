"""Characters of a text as rows of 64-bit hashes, for the network of `bbparse.text.tokenizer`."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bbparse.treebank.encode import attribute_hash

Span = tuple[int, int]
Words = NDArray[np.uint64]

#: Attributes of a character: itself, in lower case, its kind; the prefix of its chunk (the text
#: between spaces) that ends with it and the suffix that begins with it, as characters and as kinds;
#: both for its run of letters and digits; marks of its chunk.
N_COLUMNS = 10

BLANK = 0
#: Kinds of punctuation and symbols; the kind of other characters is their Unicode category.
_MARKS = {
    ".!?…。！？": 5,
    "\"'”“’‘»«`„": 6,
    ")]}>」』）": 7,
    "([{<「『（": 8,
    ",;:，；：、": 9,
    "-–—_": 10,
    "/\\|@&=+%#*~^": 11,
}
_KIND_OF_MARK = {mark: kind for marks, kind in _MARKS.items() for mark in marks}
_CATEGORIES = {"Lu": 1, "Lt": 1, "Ll": 2, "Lm": 3, "Lo": 3, "Nd": 4, "No": 4}
_JOINED = frozenset(("Mn", "Mc", "Me", "Cf", "Sk"))
_OTHER = 12
#: Kind of characters of scripts that are written without spaces between words.
UNSPACED = 13
#: Kind of accents, joiners and soft hyphens: no token or word ends before them.
JOINED = 14
_UNSPACED_SCRIPTS = (
    (0x0E00, 0x0EFF),
    (0x0F00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_BASE = 0x9E3779B97F4A7C15 | 1
#: Hashes by the place of a character in a piece of text, and by the length of the piece.
_IN_PIECES = np.array(
    [[attribute_hash("piece", f"{place}/{size}") for size in range(6)] for place in range(4)],
    np.uint64,
)


def _kind(code: int) -> int:
    character = chr(code)
    if character.isspace():
        return BLANK
    mark = _KIND_OF_MARK.get(character)
    if mark is not None:
        return mark
    if any(low <= code <= high for low, high in _UNSPACED_SCRIPTS):
        return UNSPACED
    category = unicodedata.category(character)
    return JOINED if category in _JOINED else _CATEGORIES.get(category, _OTHER)


@lru_cache(1 << 17)
def _character(code: int) -> tuple[int, int, int]:
    """Return the kind of a character, its hash and that of its lower case; all spaces are equal."""
    kind = _kind(code)
    text = " " if kind == BLANK else chr(code)
    return kind, attribute_hash("char", text), attribute_hash("low", text.lower())


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


@lru_cache(2)  # every text is looked up twice
def _hashed(text: str) -> tuple[NDArray[np.int64], Words, Words]:
    codes, indices = np.unique(_codes(text), return_inverse=True)
    kinds, chars, lows = zip(*(_character(int(code)) for code in codes))
    return (
        np.array(kinds, np.int64)[indices],
        np.array(chars, np.uint64)[indices],
        np.array(lows, np.uint64)[indices],
    )


def kinds_of(text: str) -> NDArray[np.int64]:
    """Return the kind of each character: 0 for a space, `JOINED` for one that joins the last."""
    return _hashed(text)[0]


@lru_cache(4)
def _powers(size: int) -> tuple[Words, Words]:
    """Return powers of an odd number and of its inverse modulo 2^64, for rolling hashes."""
    with np.errstate(over="ignore"):
        first = np.ones(1, np.uint64)
        up = np.concatenate((first, np.full(size, _BASE, np.uint64))).cumprod(dtype=np.uint64)
        inverse = np.uint64(pow(_BASE, -1, 1 << 64))
        down = np.concatenate((first, np.full(size, inverse, np.uint64))).cumprod(dtype=np.uint64)
    return up, down


def _run_hashes(values: Words, steps: NDArray[np.int64], border: NDArray[np.bool_]) -> Words:
    """Hash, for each position, its run up to there and its run from there on.

    Returns uint64[2, n]. ``values`` are hashed at ``steps`` (which does not decrease); a run begins
    where `border` is true.
    """
    n = len(values)
    up, down = _powers(1 << max(10, int(steps[-1] + 1).bit_length()))
    sums = np.concatenate((np.zeros(1, np.uint64), (values * down[steps]).cumsum(dtype=np.uint64)))
    positions = np.arange(n)
    start = np.maximum.accumulate(np.where(border, positions, 0))
    ends = np.append(np.flatnonzero(border)[1:] if border[0] else np.flatnonzero(border), n)
    end = ends[np.searchsorted(ends, positions, side="right")]
    before = (sums[1:] - sums[start]) * up[steps[start]]
    after = (sums[end] - sums[:-1]) * up[steps]
    return np.stack((before, after)) * np.uint64(_BASE)


def encode_characters(text: str) -> Words:
    """Encode the characters of a paragraph, a row for each."""
    kinds, chars, lows = _hashed(text)
    n = len(kinds)
    values = np.empty((n, N_COLUMNS), np.uint64)
    blank = kinds == BLANK
    chunk = np.append(True, blank[1:] != blank[:-1])
    change = np.append(True, kinds[1:] != kinds[:-1]) | chunk
    word = (kinds >= 1) & (kinds <= 4)
    run = np.append(True, ~(word[1:] & word[:-1]))
    positions = np.arange(n)
    kind_words = kinds.astype(np.uint64) + np.uint64(77)
    first_of_kind = np.where(change, kind_words, np.uint64(0))
    values[:, 0], values[:, 1], values[:, 2] = chars, lows, kind_words
    values[:, 3], values[:, 4] = _run_hashes(lows, positions, chunk)
    values[:, 5], values[:, 6] = _run_hashes(first_of_kind, np.cumsum(change) - 1, chunk)
    # a suffix that begins in the middle of a stretch of one kind begins with that kind
    values[:, 6] += kind_words
    values[:, 7], values[:, 8] = _run_hashes(lows, positions, run)
    values[:, 9] = _chunk_marks(text, chunk)
    return values


def with_pieces(values: Words, places: NDArray[np.int64]) -> Words:
    """Add an attribute to encoded characters: their place in their piece, with its length.

    `places` has the number of the piece, the place and the length for each character.
    """
    hashes = _IN_PIECES[np.clip(places[:, 1], 0, 3), np.clip(places[:, 2], 0, 5)]
    return np.column_stack((values, np.where(places[:, 0] < 0, np.uint64(0), hashes)))


def _chunk_marks(text: str, border: NDArray[np.bool_]) -> Words:
    """Hash for each character the properties of its chunk, such as an address or a number."""
    starts = np.flatnonzero(border)
    lengths = np.diff(np.append(starts, len(text)))
    marks = np.empty(len(starts), np.uint64)
    for k, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist())):
        marks[k] = _marks(text[start : start + min(length, 200)])
    return np.repeat(marks, lengths)


@lru_cache(1 << 16)
def _marks(chunk: str) -> int:
    flags = (
        "://" in chunk or chunk.startswith("www."),
        "@" in chunk[1:-1],
        any(c.isdigit() for c in chunk),
        any(c.isalpha() for c in chunk),
        *(chunk.count(mark) > 1 for mark in ".-/"),
    )
    bits = sum(flag << bit for bit, flag in enumerate(flags))
    return attribute_hash("chunk", str(bits))
