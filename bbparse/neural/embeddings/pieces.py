"""`Pieces`: a vocabulary of pieces of words, whatever the method that cuts words into them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from bbparse.runtime.archive import check_entry
from bbparse.runtime.errors import EmbeddingsError


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
        self.of_word = lru_cache(1 << 16)(self._of_word)

    def _of_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of the pieces of a word; empty if nothing is left of it."""
        return tuple(i for part in self._parts(word) for i in self._of_part(part))

    @abstractmethod
    def _parts(self, word: str) -> Iterable[str]:
        """Clean a word and split it."""

    @abstractmethod
    def _of_part(self, part: str) -> list[int]:
        """Return the ids of the pieces of a part."""

    @abstractmethod
    def necessary(self, words: Iterable[str]) -> list[int]:
        """Return the ids without which words could lose characters: specials, single characters."""
