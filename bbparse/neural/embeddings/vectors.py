"""Word vectors from a file: the text format of word2vec, fastText's ``.vec``, or GloVe.

The file is read line by line. The vectors of words in the treebank are kept, and the first ones of
the file, usually those of the most frequent words. Each dimension is standardised over them, and
each vector is quantized to 8 bits with its own scale, so 20,000 words of 300 dimensions take 6 MB.
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
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings.protocol import (
    MAX_DIMENSIONS,
    Embeddings,
    checked,
    checked_note,
    width_of,
)
from bbparse.runtime.archive import Fields
from bbparse.runtime.arrays import Float32s, indices_among
from bbparse.runtime.errors import EmbeddingsError
from bbparse.treebank import Sentence
from bbparse.treebank.encode import attribute_hash
from bbparse.treebank.reading import open_source, raw_lines

#: Default number of words that are kept from the beginning of a file.
FIRST_WORDS = 20_000

_LONGEST_LINE = 1 << 20
_HEADER = re.compile(rb"([0-9]{1,12}) ([0-9]{1,12})")
_NUMBER = re.compile(rb"[-+]?[.]?[0-9][0-9.]*(e[-+]?[0-9]+)?", re.IGNORECASE)


class WordVectors(Embeddings):
    """Vectors of words in NFC; a word without one has the vector of its lower-cased form.

    Arguments are sorted hashes of the words, uint64[V], quantized vectors, int8[V, width], and the
    scale of each, float32[V]. The note has ``name``, ``hash`` and ``dimension`` of the file.
    `EmbeddingsError` if the arguments do not fit each other.
    """

    def __init__(
        self,
        note: dict[str, Any],
        keys: NDArray[np.uint64],
        rows: NDArray[np.int8],
        scales: Float32s,
    ) -> None:
        given: dict[str, NDArray[Any]] = {"keys": keys, "rows": rows, "scales": scales}
        checked(given, "keys", np.uint64, (len(keys),))
        checked(given, "rows", np.int8, (len(keys), width_of(note["dimension"])))
        checked(given, "scales", np.float32, (len(keys),))
        if not np.isfinite(scales).all():
            raise EmbeddingsError("steps of vectors are not finite")
        if not len(keys) or not (keys[1:] > keys[:-1]).all():
            raise EmbeddingsError("there are no words, or their keys are not strictly ascending")
        self.note = note
        self._keys, self._rows, self._scales = keys, rows, scales

    def __call__(self, sentences: Sequence[Sentence]) -> list[Float32s]:
        """Return the vectors of each sentence, float32[n_words, width]."""
        forms = list(chain.from_iterable(sentence.forms for sentence in sentences))
        indices = self._search(forms)
        missing = np.flatnonzero(indices < 0)
        if len(missing):
            indices[missing] = self._search([forms[i].lower() for i in missing])
        vectors = self._rows[indices] * self._scales[indices, np.newaxis]
        vectors[indices < 0] = 0.0
        ends = np.cumsum([sentence.n_words for sentence in sentences])
        return np.split(vectors, ends[:-1])

    def _search(self, forms: list[str]) -> NDArray[np.int64]:
        """Return the rows of words; -1 for words without a vector."""
        return indices_among(self._keys, _keys_of(forms))

    def to_fields(self) -> Fields:
        """Return the fields for a model file."""
        return {
            "embeddings": self.note,
            "embeddings_keys": self._keys,
            "embeddings_rows": self._rows,
            "embeddings_scales": self._scales,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> WordVectors:
        """Make vectors from fields of `to_fields`; `EmbeddingsError` if they are damaged."""
        return cls(
            checked_note(fields["embeddings"]),
            *(fields[f"embeddings_{name}"] for name in ("keys", "rows", "scales")),
        )


def read_vectors(
    path: str | os.PathLike[str],
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    first: int = FIRST_WORDS,
    license: str | None = None,
) -> WordVectors:
    """Read the vectors of the words in sentences, and of the first words of a file.

    Parameters
    ----------
    path : path
        Each line has a word and its numbers, separated by spaces or tabs; the first line may have
        the numbers of words and dimensions. ``.gz`` and ``.xz`` are unpacked.
    sentences, dev : sequence of Sentence
        Sentences whose words are kept, anywhere in the file.
    first : int
        Number of words to keep from the beginning of the file, too.
    license : str, optional
        License of the vectors, for the model card.

    Returns
    -------
    WordVectors

    Raises
    ------
    TreebankError, EmbeddingsError
        If the file cannot be read, ends early, or has a line that is not a word followed by as many
        finite numbers as in the other lines; the message has file and line. In lines of words that
        are not kept, numbers are only counted.
    """
    forms = {form for sentence in (*sentences, *dev) for form in sentence.forms}
    kept_words = {normalize("NFC", word) for form in forms for word in (form, form.lower())}
    digest = blake2b(digest_size=16)
    words: dict[str, int] = {}
    rows: list[Float32s] = []
    count = dimension = n_repeated = 0
    announced: int | None = None
    with open_source(path) as (stream, name):
        # a limit for each line: not all files are text
        lines = iter(partial(stream.readline, _LONGEST_LINE), b"")
        for number, line in enumerate(raw_lines(lines, name), start=1):
            digest.update(line)
            line = line.rstrip(b" \t\r\n").replace(b"\t", b" ")
            where = f"{name}, line {number}"
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
                announced, dimension = _sizes(line, where)
                if announced is not None:
                    continue
            word = _word(line, dimension, where)
            count += 1
            if word in words:
                n_repeated += 1
            elif count <= first or word in kept_words:
                words[word] = len(rows)
                rows.append(_numbers(line, dimension, where))
    if not count:
        raise EmbeddingsError(f"{path}: there are no vectors")
    if announced and count != announced:
        raise EmbeddingsError(
            f"{path}, line 1: announces {announced} words, but {count} follow: is the file"
            " complete?"
        )
    if not kept_words & words.keys():
        raise EmbeddingsError(f"{path}: has no word of the treebank: is it the same language?")
    keys = _keys_of(words)
    order = np.argsort(keys)
    note = {
        "kind": "vectors",
        "name": Path(path).name,
        "hash": digest.hexdigest(),
        "dimension": dimension,
        "words": len(rows),
        "of": count,
        "twice": n_repeated,
        "license": license,
    }
    return WordVectors(note, keys[order], *_packed(np.stack(rows)[order]))


def _keys_of(words: Iterable[str]) -> NDArray[np.uint64]:
    hashes = [attribute_hash("form", normalize("NFC", word)) for word in words]
    return np.array(hashes, np.uint64)


def _sizes(line: bytes, where: str) -> tuple[int | None, int]:
    """Return the number of words, if a file's first line has it, and that of dimensions."""
    header = _HEADER.fullmatch(line)
    dimension = int(header[2]) if header else line.count(b" ")
    if not 1 <= dimension <= MAX_DIMENSIONS:
        raise EmbeddingsError(
            f"{where}: {dimension} numbers a word, expected 1 to {MAX_DIMENSIONS}"
        )
    return int(header[1]) if header else None, dimension


def _word(line: bytes, dimension: int, where: str) -> str:
    """Return the word of a line in NFC; it may contain spaces. Check the number of numbers."""
    n_spaces = line.count(b" ")
    pieces = line.rsplit(b" ", dimension) if n_spaces > dimension else [line.partition(b" ")[0]]
    word = pieces[0]
    if n_spaces < dimension or (
        n_spaces > dimension and _NUMBER.fullmatch(word.rpartition(b" ")[2])
    ):
        raise EmbeddingsError(
            f"{where}: a word and {n_spaces} numbers, expected {dimension} numbers"
        )
    try:
        return normalize("NFC", word.decode())
    except UnicodeDecodeError as error:
        raise EmbeddingsError(
            f"{where}: byte 0x{word[error.start]:02x} in the word, expected text in UTF-8 (binary"
            " files of vectors are not read)"
        ) from None


def _numbers(line: bytes, dimension: int, where: str) -> Float32s:
    pieces = line.rsplit(b" ", dimension)[1:]
    try:
        with np.errstate(over="ignore"):
            row = np.array([float(piece) for piece in pieces], np.float32)
    except ValueError as error:
        raise EmbeddingsError(f"{where}: {error}") from None
    if not np.isfinite(row).all():
        i = int(np.flatnonzero(~np.isfinite(row))[0])
        raise EmbeddingsError(
            f"{where}: number {i + 1} is {pieces[i].decode()!r}, expected a finite one"
        )
    return row


def _packed(rows: Float32s) -> tuple[NDArray[np.int8], Float32s]:
    """Standardise the dimensions of rows and quantize the rows to 8 bits; return also scales."""
    rows -= rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    deviation = rows.std(axis=0, dtype=np.float64).astype(np.float32)
    rows /= np.where(deviation > 0.0, deviation, np.float32(1.0))
    rows = np.pad(rows, ((0, 0), (0, width_of(rows.shape[1]) - rows.shape[1])))
    scales = np.maximum(np.abs(rows).max(axis=1), np.float32(1e-6)) / np.float32(127.0)
    return np.rint(rows / scales[:, np.newaxis]).astype(np.int8), scales
