"""`Pieces`: a vocabulary of pieces of words, whatever the method that cuts words into them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from bbparse.runtime.archive import check_entry
from bbparse.runtime.arrays import Longs
from bbparse.runtime.errors import EmbeddingsError

_CHUNK = re.compile(r"\S+")
#: Longer texts without blanks, such as sentences of Chinese, hardly occur twice.
_FREQUENT = 30


class ForeignEncoder(EmbeddingsError):
    """An encoder that we do not compute ourselves; the library transformers may."""


def json_value(where: str, table: Any, name: str, kind: Any) -> Any:
    """Return a value of a JSON file of an encoder; `EmbeddingsError` unless it is of the kind."""
    check_entry(where, "what it holds", table, dict, EmbeddingsError)
    value = table.get(name)
    check_entry(where, name, value, kind, EmbeddingsError)
    return value


def tokenizer_step(where: str, table: Any, name: str) -> dict[str, Any]:
    """Return a step of a tokenizer, empty if there is none."""
    value = table.get(name) or {}
    check_entry(where, name, value, dict, EmbeddingsError)
    return dict(value)


class Pieces(ABC):
    """A vocabulary of pieces, whose ids are indices; model files have `fields` and `settings`."""

    #: The pieces for what is unknown, before and after a text.
    specials: tuple[str, str, str]

    def __init__(self, pieces: Sequence[str], **settings: bool) -> None:
        self.pieces, self.settings = [str(piece) for piece in pieces], settings
        self.fields: dict[str, Any] = {"encoder_pieces": self.pieces}
        self._ids = {piece: i for i, piece in enumerate(self.pieces)}
        for special in self.specials:
            if special not in self._ids:
                raise EmbeddingsError(f"its pieces have no {special}")
        self.unknown, self.start, self.end = (self._ids[special] for special in self.specials)
        #: The piece that stands for hidden ones, if there is one; MPNet has both, and learned one.
        self.mask = self._ids.get("<mask>" if "<s>" in self._ids else "[MASK]")
        self.of_word = lru_cache(1 << 16)(self._of_word)
        self._frequent = lru_cache(1 << 15)(self._of_chunk)

    def _of_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of the pieces of a word; empty if nothing is left of it."""
        return tuple(i for part in self._parts(word) for i in self._of_part(part))

    def of_characters(self, text: str) -> tuple[list[int], Longs]:
        """Return the ids of the pieces of a text, and which of them each character is in.

        An int64[n, 3] has for each character the number of its piece, its place in there, and how
        many characters the piece has; -1 for blanks and what else has no piece.
        """
        ids: list[int] = []
        places = np.full((len(text), 3), -1)
        for chunk in _CHUNK.finditer(text):
            start, end = chunk.span()
            cut = self._frequent if end - start <= _FREQUENT else self._of_chunk
            new, places[start:end] = cut(chunk.group())
            places[start:end, 0] += len(ids)
            ids += new
        places[places[:, 1] < 0, 0] = -1
        return ids, places

    def _of_chunk(self, chunk: str) -> tuple[list[int], Longs]:
        """Return the pieces of a text without blanks and their characters, as `of_characters`."""
        ids: list[int] = []
        places = np.full((len(chunk), 3), -1)
        for part, owners in self._parts_of_chunk(chunk):
            for start, end, piece in self._spans(part):
                inside = dict.fromkeys(i for i in owners[start:end] if i >= 0)
                for place, i in enumerate(inside):
                    places[i] = len(ids), place, len(inside)
                ids.append(piece)
        return ids, places

    @abstractmethod
    def _parts(self, word: str) -> Iterable[str]:
        """Clean a word and split it."""

    @abstractmethod
    def _parts_of_chunk(self, chunk: str) -> Iterable[tuple[str, list[int]]]:
        """Clean a text without blanks and split it; with each character, the one it is made of."""

    def _of_part(self, part: str) -> list[int]:
        """Return the ids of the pieces of a part."""
        return [piece for *_, piece in self._spans(part)]

    @abstractmethod
    def _spans(self, part: str) -> list[tuple[int, int, int]]:
        """Return start, end and id of the pieces of a part."""

    @abstractmethod
    def necessary(self, words: Iterable[str]) -> list[int]:
        """Return the ids without which words could lose characters: specials, single characters."""
