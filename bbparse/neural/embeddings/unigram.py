"""Unigram: the pieces of words that XLM-R and its relatives read (Kudo 2018).

A word is normalised by a table of SentencePiece, split at blanks, and begins with ``▁``. Its pieces
are those with the largest sum of log probabilities; what has no pieces is one unknown piece.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings.pieces import ForeignEncoder, Pieces, json_value, tokenizer_step
from bbparse.runtime.archive import fits
from bbparse.runtime.arrays import Float64s
from bbparse.runtime.errors import EmbeddingsError

_BLANK = "▁"
#: An unknown character costs as much more than the rarest piece.
_UNKNOWN_COST = 10.0


class UnigramPieces(Pieces):
    """Pieces and their scores, log probabilities; pieces with the score 0 are not found in words.

    `charsmap` is SentencePiece's table for normalisation, as bytes; empty if there is none.
    """

    specials = ("<unk>", "<s>", "</s>")

    def __init__(
        self, pieces: Sequence[str], scores: Float64s, charsmap: NDArray[np.uint8]
    ) -> None:
        super().__init__(pieces)
        if not np.isfinite(scores).all():
            raise EmbeddingsError("the pieces have scores that are not finite")
        self.fields |= {"encoder_scores": scores, "encoder_charsmap": charsmap}
        self._of_text = {
            piece: (i, score)
            for i, (piece, score) in enumerate(zip(self.pieces, scores.tolist()))
            if score < 0.0
        }
        self._longest = max(map(len, self._of_text), default=1)
        self._unknown_piece = (self.unknown, float(scores.min()) - _UNKNOWN_COST)
        # the table is the size of a trie, the trie, and texts that end with a zero
        size = 4 + int(charsmap[:4].view("<u4")[0]) if len(charsmap) else 0
        self._trie: list[int] = charsmap[4:size].view("<u4").tolist()
        self._texts = charsmap[size:].tobytes()
        self._of_character = lru_cache(1 << 16)(lambda c: "".join(self._normalised(c).split()))

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> UnigramPieces:
        """Make pieces from ``tokenizer.json``; `ForeignEncoder` if it does more than is known."""
        where, model = "tokenizer.json", data["model"]
        rows, unknown = (
            json_value(where, model, "vocab", list),
            json_value(where, model, "unk_id", int),
        )
        for row in rows:
            if not fits(row, list) or len(row) != 2 or not fits(row[1], float):
                raise EmbeddingsError(f"{where}: vocab has {row!r:.60}, expected piece and score")
        if not 0 <= unknown < len(rows):
            raise EmbeddingsError(f"{where}: unk_id is {unknown}, expected the id of a piece")
        pieces, scores = zip(*rows)
        normalizers = _steps(tokenizer_step(where, data, "normalizer"), "normalizers")
        splits = _steps(tokenizer_step(where, data, "pre_tokenizer"), "pretokenizers")
        for each in (*normalizers, *splits):
            if not _is_known(each):
                raise ForeignEncoder(f"its tokenizer has an unknown step: {each!s:.60}")
        if not splits or splits[-1]["type"] != "Metaspace":
            raise ForeignEncoder("its tokenizer does not mark the beginning of words")
        if model.get("byte_fallback") or pieces[unknown] != "<unk>":
            raise ForeignEncoder("its unknown piece is not <unk>")
        key = "precompiled_charsmap"
        table_step = next((s for s in normalizers if s["type"] == "Precompiled"), {key: ""})
        table = np.frombuffer(b64decode(json_value(where, table_step, key, str)), np.uint8)
        return cls(pieces, np.array(scores, np.float64), table)

    def necessary(self, words: Iterable[str]) -> list[int]:
        seen = {c for word in words for part in self._parts(word) for c in part}
        return sorted(self._ids[piece] for piece in seen.union(self.specials) & self._ids.keys())

    def _parts(self, word: str) -> list[str]:
        return [_BLANK + part for part in self._normalised(word).replace(_BLANK, " ").split()]

    def _normalised(self, word: str) -> str:
        """Replace the longest key of the table, a double-array trie (Aoe 1989), at each place."""
        text, trie = word.encode("utf-8", "replace"), self._trie
        out, at = bytearray(), 0
        while at < len(text):
            end, new = at + 1, text[at : at + 1]
            node = _child(trie[0]) if trie else 0
            for place in range(at, len(text)):
                node ^= text[place]
                if node >= len(trie) or trie[node] & 0x800000FF != text[place]:
                    break
                unit = trie[node]
                node ^= _child(unit)
                if unit >> 8 & 1 and node < len(trie):  # a key ends here
                    end, first = place + 1, trie[node] & 0x7FFFFFFF
                    new = self._texts[first : self._texts.find(b"\0", first)]
            out += new
            at = end
        return out.decode("utf-8", "replace")

    def _parts_of_chunk(self, chunk: str) -> Iterator[tuple[str, list[int]]]:
        part, owners = _BLANK, [-1]
        for i, character in enumerate(chunk):
            new = self._of_character(character)
            part += new
            owners += [i] * len(new)
        if len(part) > 1:
            yield part, owners

    def _of_part(self, part: str) -> list[int]:
        """Return the ids of the pieces of a part; several unknown ones are one."""
        ids = super()._of_part(part)
        return [i for i, before in zip(ids, [None, *ids]) if not i == before == self.unknown]

    def _spans(self, part: str) -> list[tuple[int, int, int]]:
        """Return start, end and id of the pieces with the largest sum of scores (Viterbi 1967)."""
        best = [0.0] + [-np.inf] * len(part)
        last = [(0, 0)] * len(best)  # start and id of the last piece up to here
        for start in range(len(part)):
            for end in range(start + 1, min(start + self._longest, len(part)) + 1):
                piece = self._of_text.get(part[start:end])
                if piece is None and end == start + 1:
                    piece = self._unknown_piece
                if piece is not None and best[start] + piece[1] > best[end]:
                    best[end], last[end] = best[start] + piece[1], (start, piece[0])
        spans: list[tuple[int, int, int]] = []
        end = len(part)
        while end:
            start, piece_id = last[end]
            spans.append((start, end, piece_id))
            end = start
        return spans[::-1]


def _child(unit: int) -> int:
    """Return what leads from the place of a unit of the trie to its children, by exclusive or."""
    return unit >> 10 << ((unit & 0x200) >> 6)


def _steps(one: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the steps of a sequence, whose field they are, or a single step."""
    steps: list[dict[str, Any]] = [one] if one else []
    if one.get("type") == "Sequence":
        steps = json_value("tokenizer.json", one, name, list[dict])
    for each in steps:
        json_value("tokenizer.json", each, "type", str)
    return steps


def _is_known(step: Mapping[str, Any]) -> bool:
    """Return whether a step does what `UnigramPieces` does to a word."""
    kind = step["type"]
    if kind == "Replace":
        return step.get("pattern") == {"Regex": " {2,}"}
    if kind == "Metaspace":
        marks = step.get("prepend_scheme", step.get("add_prefix_space", True))
        return step.get("replacement") == _BLANK and marks not in ("never", False)
    return kind in ("Precompiled", "Strip", "WhitespaceSplit")
