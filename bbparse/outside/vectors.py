"""Word vectors of a file: word2vec's text format, fastText's ``.vec``, and that of GloVe.

A file is read line by line, and of its words those are kept that the treebank has, and the first
ones, which are the most frequent as these files are written, for what is yet to be parsed. Each
dimension gets a mean of 0 and a variance of 1 over them, and each vector becomes whole numbers of
8 bits in steps of its own, so that some 20,000 words of 300 dimensions are 6 MB.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import OutsideError
from bbparse.outside.protocol import (
    MOST_DIMENSIONS,
    Floats,
    note_array,
    read_note,
    width_of,
)
from bbparse.treebank import Sentence
from bbparse.treebank.encode import attribute_hash
from bbparse.treebank.reading import open_source, raw_lines

#: So many words from the beginning of a file are kept, unless told otherwise.
FIRST_WORDS = 20_000

_LONGEST_LINE = 1 << 20
_HEADER = re.compile(rb"([0-9]{1,12}) ([0-9]{1,12})")
_NUMBER = re.compile(rb"[-+]?[.]?[0-9][0-9.]*(e[-+]?[0-9]+)?", re.IGNORECASE)


class WordVectors:
    """Vectors of words; of those in lower case where there is none of a word as it is.

    The note has ``name``, ``hash`` and ``dimension``; ``keys`` (uint64[V]) are sorted hashes of the
    words, ``rows`` (int8[V, width]) have steps that are worth ``scales`` (float32[V]).
    `OutsideError` if they do not fit each other.
    """

    def __init__(
        self,
        note: dict[str, Any],
        keys: NDArray[np.uint64],
        rows: NDArray[np.int8],
        scales: Floats,
    ) -> None:
        expected = len(keys), width_of(note["dimension"])
        if rows.shape != expected or rows.dtype != np.int8 or keys.dtype != np.uint64:
            raise OutsideError(
                f"vectors have shape {rows.shape} and dtypes {keys.dtype} and {rows.dtype},"
                f" expected {expected}, uint64 and int8"
            )
        if scales.shape != keys.shape or scales.dtype != np.float32:
            raise OutsideError(f"there are {len(scales)} steps of {scales.dtype} for {len(keys)}")
        if not np.isfinite(scales).all():
            raise OutsideError("steps of vectors are no finite numbers")
        if not len(keys) or not (keys[1:] > keys[:-1]).all():
            raise OutsideError("there are no words, or they are not sorted, or not each there once")
        self.note = note
        self._keys, self._rows, self._scales = keys, rows, scales

    @property
    def width(self) -> int:
        return self._rows.shape[1]

    def __call__(self, sentences: Sequence[Sentence]) -> list[Floats]:
        forms = list(chain.from_iterable(sentence.forms for sentence in sentences))
        places = self._places(forms)
        found = self._rows[places] * self._scales[places, np.newaxis]
        found[places < 0] = 0.0
        ends = np.cumsum([sentence.n_words for sentence in sentences])
        return np.split(found, ends[:-1])

    def share(self, sentences: Iterable[Sentence]) -> float:
        """Of how many of their words there is a vector."""
        places = self._places([form for sentence in sentences for form in sentence.forms])
        return float((places >= 0).mean())

    def _places(self, forms: list[str]) -> NDArray[np.int64]:
        """Rows of words; -1 for those that are not there."""
        places = self._find(forms)
        lost = np.flatnonzero(places < 0)
        if len(lost):
            places[lost] = self._find([forms[i].lower() for i in lost])
        return places

    def _find(self, forms: list[str]) -> NDArray[np.int64]:
        own = np.array([attribute_hash("form", form) for form in forms], np.uint64)
        places = np.minimum(np.searchsorted(self._keys, own), len(self._keys) - 1)
        return np.where(self._keys[places] == own, places, -1)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "outside_note": note_array(self.note),
            "outside_keys": self._keys,
            "outside_rows": self._rows,
            "outside_scales": self._scales,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> WordVectors:
        """What `to_arrays` gave; raises `OutsideError` if that is damaged."""
        return cls(
            read_note(arrays),
            *(arrays[f"outside_{name}"] for name in ("keys", "rows", "scales")),
        )


def read_vectors(
    path: str | os.PathLike[str],
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    first: int = FIRST_WORDS,
    license: str | None = None,
) -> WordVectors:
    """Vectors of the words of sentences, and of the first words of a file.

    Parameters
    ----------
    path : path
        Lines of a word and its numbers, with blanks between; before them, or not, a line with the
        number of words and that of dimensions. ``.gz`` and ``.xz`` are unpacked.
    sentences, dev : sequence of Sentence
        Whose words are kept, wherever they stand.
    first : int
        So many words from the beginning are kept, too.
    license : str, optional
        Of the vectors, for the model's card.

    Raises
    ------
    TreebankError, OutsideError
        If the file cannot be read, ends early, or has a line that is no word with as many finite
        numbers as others have; names file and line. Numbers of words that are not kept are only
        counted.
    """
    forms = {form for sentence in (*sentences, *dev) for form in sentence.forms}
    wanted = {word.encode("utf-8", "surrogatepass") for f in forms for word in (f, f.lower())}
    digest = blake2b(digest_size=16)
    words: dict[bytes, int] = {}
    rows: list[Floats] = []
    count = announced = dimension = twice = 0
    with open_source(path) as (stream, name):
        # never more of a line than a line can have: not all files are text
        lines = iter(partial(stream.readline, _LONGEST_LINE), b"")
        for number, line in enumerate(raw_lines(lines, name), start=1):
            digest.update(line)
            line = line.rstrip(b" \r\n")
            where = f"{name}, line {number}"
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
                header = _HEADER.fullmatch(line)
                dimension = int(header[2]) if header else line.count(b" ")
                if not 1 <= dimension <= MOST_DIMENSIONS:
                    raise OutsideError(
                        f"{where}: {dimension} numbers a word, expected 1 to {MOST_DIMENSIONS}"
                    )
                if header:
                    announced = int(header[1])
                    continue
            word = _word(line, dimension, where)
            count += 1
            if word in words:
                twice += 1
            elif count <= first or word in wanted:
                words[word] = len(rows)
                rows.append(_numbers(line, dimension, where))
    if not count:
        raise OutsideError(f"{path}: there are no vectors")
    if announced and count != announced:
        raise OutsideError(
            f"{path}, line 1: {announced} words are announced, and {count} are there: is the file"
            " whole?"
        )
    if not wanted & words.keys():
        raise OutsideError(f"{path}: no word of the treebank is there: vectors of its language?")
    keys = np.array([attribute_hash("form", word.decode()) for word in words], np.uint64)
    order = np.argsort(keys)
    note = {
        "kind": "vectors", "name": Path(path).name, "hash": digest.hexdigest(),
        "dimension": dimension, "words": len(rows), "of": count, "twice": twice,
        "license": license,
    }  # fmt: skip
    return WordVectors(note, keys[order], *_packed(np.stack(rows)[order]))


def _word(line: bytes, dimension: int, where: str) -> bytes:
    """The word of a line that has as many numbers as it should; it may have blanks in it."""
    found = line.count(b" ")
    pieces = line.rsplit(b" ", dimension) if found > dimension else [line.partition(b" ")[0]]
    word = pieces[0]
    if found < dimension or (found > dimension and _NUMBER.fullmatch(word.rpartition(b" ")[2])):
        raise OutsideError(f"{where}: a word and {found} numbers, expected {dimension} numbers")
    try:
        word.decode()
    except UnicodeDecodeError as error:
        raise OutsideError(
            f"{where}: byte 0x{word[error.start]:02x} in the word, expected text in UTF-8 (binary"
            " files of vectors are not read)"
        ) from None
    return word


def _numbers(line: bytes, dimension: int, where: str) -> Floats:
    pieces = line.rsplit(b" ", dimension)[1:]
    try:
        with np.errstate(over="ignore"):
            row = np.array([float(piece) for piece in pieces], np.float32)
    except ValueError as error:
        raise OutsideError(f"{where}: {error}") from None
    if not np.isfinite(row).all():
        bad = int(np.flatnonzero(~np.isfinite(row))[0])
        raise OutsideError(
            f"{where}: number {bad + 1} is {pieces[bad].decode()!r}, expected a finite one"
        )
    return row


def _packed(rows: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Rows of dimensions with mean 0 and variance 1, in steps of 8 bits, and these steps."""
    rows -= rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    deviation = rows.std(axis=0, dtype=np.float64).astype(np.float32)
    rows /= np.where(deviation > 0.0, deviation, np.float32(1.0))
    rows = np.pad(rows, ((0, 0), (0, width_of(rows.shape[1]) - rows.shape[1])))
    scales = np.maximum(np.abs(rows).max(axis=1), np.float32(1e-6)) / np.float32(127.0)
    return np.rint(rows / scales[:, np.newaxis]).astype(np.int8), scales
