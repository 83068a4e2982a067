"""WordPiece: the pieces of words that BERT and its relatives read (Wu et al. 2016).

A word is cleaned and, if the model says so, lower-cased without accents; it is split at blanks,
punctuation and Chinese characters; and each part becomes the longest pieces from the left, those
after the first with ``##`` in front. A part that has no pieces is the unknown piece.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from bbparse.neural.embeddings.pieces import ForeignEncoder, Pieces, json_value, tokenizer_step
from bbparse.runtime.errors import EmbeddingsError

#: Categories of characters that are removed; unassigned ones are kept.
_CONTROL = frozenset(["Cc", "Cf", "Co", "Cs"])
#: Longer parts of words are the unknown piece.
MAX_CHARACTERS = 100
#: Ranges of characters that are parts of their own.
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPieces(Pieces):
    """Pieces of words that are lower-cased if ``lower``, and lose their accents if ``strip``."""

    def __init__(self, pieces: Sequence[str], lower: bool, strip: bool) -> None:
        ends = ("<s>", "</s>") if "<s>" in pieces else ("[CLS]", "[SEP]")  # MPNet has both
        self.specials = ("[UNK]", *ends)
        super().__init__(pieces, lower=lower, strip=strip)
        self.lower, self.strip = lower, strip
        self._of_character = lru_cache(1 << 16)(self._cleaned)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> WordPieces:
        """Make pieces from ``tokenizer.json``; `ForeignEncoder` if it does more than is known."""
        where = "tokenizer.json"
        model, normalizer = data["model"], tokenizer_step(where, data, "normalizer")
        known = (
            model.get("continuing_subword_prefix", "##") == "##"
            and normalizer.get("type") == "BertNormalizer"
            and normalizer.get("clean_text")
            and normalizer.get("handle_chinese_chars")
            and tokenizer_step(where, data, "pre_tokenizer").get("type") == "BertPreTokenizer"
            and model.get("unk_token") == "[UNK]"
        )
        if not known:
            raise ForeignEncoder("its tokenizer does not prepare words as that of BERT")
        vocabulary = json_value(where, model, "vocab", dict[str, int])
        pieces = {number: piece for piece, number in vocabulary.items()}
        for token in json_value(where, {"added_tokens": [], **data}, "added_tokens", list[dict]):
            if type(token.get("id")) is int:
                pieces.setdefault(token["id"], token.get("content"))  # it may be there only
        ids = range(max(vocabulary.values(), default=-1) + 1)
        missing = next((i for i in ids if not isinstance(pieces.get(i), str)), None)
        if missing is not None or min(pieces) < 0 or len({*vocabulary.values()}) < len(vocabulary):
            raise EmbeddingsError(
                f"{where}: the ids of vocab are not 0, 1, 2 and so on, each once"
                f"{'' if missing is None else f': there is no {missing}'}"
            )
        lower, strip = bool(normalizer.get("lowercase")), normalizer.get("strip_accents")
        return cls([pieces[i] for i in ids], lower, lower if strip is None else bool(strip))

    def necessary(self, words: Iterable[str]) -> list[int]:
        return [
            i
            for i, piece in enumerate(self.pieces)
            if len(piece.removeprefix("##")) == 1 or piece in self.specials
        ]

    def _parts(self, word: str) -> Iterator[str]:
        return (part for part, _ in self._parts_of_chunk(word))

    def _parts_of_chunk(self, chunk: str) -> Iterator[tuple[str, list[int]]]:
        part, owners = "", list[int]()
        for i, before in enumerate(chunk):
            for character in self._of_character(before):
                alone = _is_punctuation(character) or _is_chinese(character)
                if part and (alone or character == " "):
                    yield part, owners
                    part, owners = "", []
                if alone:
                    yield character, [i]
                elif character != " ":
                    part += character
                    owners.append(i)
        if part:
            yield part, owners

    def _cleaned(self, text: str) -> str:
        kept = [
            " " if c.isspace() else c
            for c in text
            if c in "\t\n\r" or not (c in "\0\ufffd" or unicodedata.category(c) in _CONTROL)
        ]
        text = "".join(kept)
        if self.strip:
            text = unicodedata.normalize("NFD", text)
            text = "".join([c for c in text if unicodedata.category(c) != "Mn"])
        return "".join([c.lower() for c in text]) if self.lower else text

    def _spans(self, part: str) -> list[tuple[int, int, int]]:
        if len(part) > MAX_CHARACTERS:
            return [(0, len(part), self.unknown)]
        spans, at = [], 0
        while at < len(part):
            mark = "##" if at else ""
            for end in range(len(part), at, -1):
                piece = self._ids.get(mark + part[at:end])
                if piece is not None:
                    spans.append((at, end, piece))
                    at = end
                    break
            else:
                return [(0, len(part), self.unknown)]
        return spans


def _is_punctuation(character: str) -> bool:
    ascii_mark = character.isascii() and character.isprintable() and not character.isalnum()
    return (ascii_mark and character != " ") or unicodedata.category(character)[0] == "P"


def _is_chinese(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _CHINESE)
