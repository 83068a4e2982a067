"""WordPiece: the pieces of words that BERT and its relatives read (Wu et al. 2016).

A word is cleaned and, if the model says so, lower-cased without accents; it is split at blanks,
punctuation and Chinese characters; and each part becomes the longest pieces from the left, those
after the first with ``##`` in front. A part that has no pieces is the unknown piece.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from bbparse.runtime.errors import EmbeddingsError

#: Categories of characters that are removed; unassigned ones are kept.
_CONTROL = frozenset(["Cc", "Cf", "Co", "Cs"])
#: Longer parts of words are the unknown piece.
MAX_CHARACTERS = 100
#: Ranges of characters that are parts of their own.
_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)


class WordPieces:
    """A vocabulary of pieces, and how words are prepared for it.

    The id of a piece is its index. Words are lower-cased if ``lower``, and lose their accents if
    ``strip``. The special pieces stand for what has no pieces, and before and after a sentence;
    `EmbeddingsError` if one is missing.
    """

    def __init__(
        self, pieces: Sequence[str], lower: bool, strip: bool, unknown: str = "[UNK]",
        start: str = "[CLS]", end: str = "[SEP]",
    ) -> None:
        self.pieces = list(pieces)
        self.lower, self.strip = lower, strip
        self.specials = (unknown, start, end)
        self._ids = {piece: i for i, piece in enumerate(self.pieces)}
        for special in self.specials:
            if special not in self._ids:
                raise EmbeddingsError(f"its pieces have no {special}")
        self.unknown, self.start, self.end = (self._ids[special] for special in self.specials)
        self.of_word = lru_cache(1 << 16)(self._of_word)

    @classmethod
    def read(cls, folder: Path) -> WordPieces | None:
        """Read ``tokenizer.json``; None if its pieces are of another kind."""
        data: dict[str, Any] = json.loads((folder / "tokenizer.json").read_text("utf-8"))
        model, normalizer = data["model"], data.get("normalizer") or {}
        known = (
            model.get("type", "WordPiece") == "WordPiece"
            and model.get("continuing_subword_prefix", "##") == "##"
            and normalizer.get("type") == "BertNormalizer"
            and normalizer.get("clean_text") and normalizer.get("handle_chinese_chars")
            and (data.get("pre_tokenizer") or {}).get("type") == "BertPreTokenizer"
        )
        if not known:
            return None
        pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
        lower, strip = bool(normalizer["lowercase"]), normalizer.get("strip_accents")
        return cls(pieces, lower, lower if strip is None else strip, model["unk_token"])

    def only(self, kept: Sequence[int]) -> WordPieces:
        """Return the vocabulary of some of the pieces, by ids in ascending order."""
        unknown, start, end = self.specials
        pieces = [self.pieces[i] for i in kept]
        return WordPieces(pieces, self.lower, self.strip, unknown, start, end)

    def necessary(self) -> list[int]:
        """Return the ids without which words could lose characters: specials, single characters."""
        return [
            i for i, piece in enumerate(self.pieces)
            if len(piece.removeprefix("##")) == 1 or piece in self.specials
        ]

    def _of_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of the pieces of a word; empty if nothing is left of it."""
        return tuple(i for part in self._parts(word) for i in self._of_part(part))

    def _parts(self, word: str) -> Iterator[str]:
        """Clean a word and split it."""
        part = ""
        for character in self._cleaned(word):
            alone = _is_punctuation(character) or _is_chinese(character)
            if alone or character == " ":
                if part:
                    yield part
                part = ""
                if alone:
                    yield character
            else:
                part += character
        if part:
            yield part

    def _cleaned(self, word: str) -> str:
        kept = [
            " " if c.isspace() else c for c in word
            if c in "\t\n\r" or not (c in "\0\ufffd" or unicodedata.category(c) in _CONTROL)
        ]
        text = "".join(kept)
        if self.strip:
            text = unicodedata.normalize("NFD", text)
            text = "".join([c for c in text if unicodedata.category(c) != "Mn"])
        return "".join([c.lower() for c in text]) if self.lower else text

    def _of_part(self, part: str) -> list[int]:
        if len(part) > MAX_CHARACTERS:
            return [self.unknown]
        found, at = [], 0
        while at < len(part):
            mark = "##" if at else ""
            for end in range(len(part), at, -1):
                piece = self._ids.get(mark + part[at:end])
                if piece is not None:
                    found.append(piece)
                    at = end
                    break
            else:
                return [self.unknown]
        return found


def _is_punctuation(character: str) -> bool:
    ascii_mark = character.isascii() and character.isprintable() and not character.isalnum()
    return (ascii_mark and character != " ") or unicodedata.category(character)[0] == "P"


def _is_chinese(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _CHINESE)
