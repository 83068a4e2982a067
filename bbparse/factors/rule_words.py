"""What compiled families read of words: numbers for texts and for answers of tests.

A *column* is a question to one word, such as its tag, or whether its tag is one of some. Words are
remembered by their fields, so that each distinct word is asked once. Texts have numbers, the same
for equal texts of any column, and their canonical form (`bbparse.factors.family.feature_key`) lies
in one long array.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bbparse.factors.family import canonical
from bbparse.factors.view import ROOT

if TYPE_CHECKING:
    from bbparse.treebank import Sentence

__all__ = ["FIELDS", "Question", "RuleWords"]

#: Fields of a word, by the names of a view's lists.
FIELDS = ("forms", "lower", "lemmas", "upos", "xpos", "feats")

Question = Callable[[dict[str, str]], "str | int"]
"""What a column asks: from the fields of a word, by name, to text or a number."""

_MAX_WORDS = 100_000
_MAX_KEYS = 1 << 15


class _Memory:
    """Words and texts seen so far; only ever added to, so that readers need no lock."""

    def __init__(self, n_columns: int) -> None:
        self.index: dict[tuple[str, ...], int] = {}
        self.rows = np.empty((256, n_columns), np.int32)
        self.numbers: dict[str | bytes, int] = {}
        self.text = np.empty(4096, np.uint8)
        self.text_ptr = np.zeros(512, np.int64)
        # What no feature's number fits: entries of the kernel's memory of keys.
        self.known = np.zeros((_MAX_KEYS, 2), np.uint64)
        self.known[:, 0] = np.arange(1, _MAX_KEYS + 1)

    def number(self, piece: str | bytes) -> int:
        """Of a text that features may have as their own, or of a literal piece of one."""
        found = self.numbers.get(piece)
        if found is not None:
            return found
        number = len(self.numbers)
        raw = canonical(piece).encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece
        end = int(self.text_ptr[number])
        if number + 2 > len(self.text_ptr):
            self.text_ptr = np.concatenate([self.text_ptr, np.zeros_like(self.text_ptr)])
        if end + len(raw) > len(self.text):
            grown = np.empty(2 * (end + len(raw)), np.uint8)
            grown[:end] = self.text[:end]
            self.text = grown
        self.text[end : end + len(raw)] = np.frombuffer(raw, np.uint8)
        self.text_ptr[number + 1] = end + len(raw)
        self.numbers[piece] = number
        return number


class RuleWords:
    """Words as rows of numbers; safe to share between threads.

    Parameters
    ----------
    constants : sequence of str or bytes
        Texts (str) and literal pieces of texts (bytes), each once. The number of each is its place.
    questions : sequence of Question
        One for each column.
    """

    def __init__(self, constants: Sequence[str | bytes], questions: Sequence[Question]) -> None:
        self._constants = list(constants)
        self._questions = list(questions)
        self._lock = threading.Lock()
        self._memory = self._new()

    def _new(self) -> _Memory:
        memory = _Memory(len(self._questions))
        for piece in self._constants:
            memory.number(piece)
        self._add(memory, (ROOT,) * 5, dict.fromkeys(FIELDS, ROOT))
        return memory

    def __call__(
        self, sentence: Sentence
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint64], NDArray[np.int32]]:
        """Texts and columns.

        Returns
        -------
        text_ptr : int64[more than the number of texts]
        text : uint8[...]
            Text i is the bytes ``text[text_ptr[i]:text_ptr[i + 1]]``.
        known : uint64[a power of 2, 2]
            Keys of features over these texts, for `bbparse.factors.rule_kernel.run_rules`.
        cols : int32[n + 1, number of columns]
            Row w is word w, row 0 the root.
        """
        s = sentence
        memory = self._memory  # one look: another thread may replace it
        try:
            known = memory.index
            places = [0, *[known[k] for k in zip(s.forms, s.lemmas, s.upos, s.xpos, s.feats)]]
        except KeyError:
            memory, places = self._learn(
                list(zip(s.forms, s.lemmas, s.upos, s.xpos, s.feats))
            )
        return memory.text_ptr, memory.text, memory.known, memory.rows.take(places, axis=0)

    def _learn(self, keys: list[tuple[str, ...]]) -> tuple[_Memory, list[int]]:
        with self._lock:
            if len(self._memory.index) + len(keys) > _MAX_WORDS:
                self._memory = self._new()
            memory = self._memory
            for key in keys:
                if key not in memory.index:
                    form, lemma, upos, xpos, feats = key
                    self._add(memory, key, dict(
                        zip(FIELDS, (form, form.lower(), lemma, upos, xpos, feats))
                    ))  # fmt: skip
            return memory, [0, *[memory.index[key] for key in keys]]

    def _add(self, memory: _Memory, key: tuple[str, ...], fields: dict[str, str]) -> None:
        answers: list[Any] = [question(fields) for question in self._questions]
        place = len(memory.index)
        if place == len(memory.rows):
            grown = np.empty((2 * place, memory.rows.shape[1]), np.int32)
            grown[:place] = memory.rows
            memory.rows = grown
        memory.rows[place] = [
            memory.number(answer) if isinstance(answer, str) else answer for answer in answers
        ]
        memory.index[key] = place  # last: who finds the place also finds the row
