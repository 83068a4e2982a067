"""What rules read of words: numbers for texts and for answers of tests.

A *column* is a question to one word, such as its tag, or whether its tag is one of some. Words are
remembered by their fields, so that each distinct word is asked once. Texts have numbers, the same
for equal texts of any column; number 0 is the empty text.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.factors.keys import token
from bbparse.factors.rule_kernel import WordTable
from bbparse.factors.rule_language import Relation
from bbparse.factors.rule_values import FIELDS
from bbparse.factors.view import ROOT, FactorView
from bbparse.treebank import Sentence

__all__ = ["RuleWords"]

_MAX_WORDS = 100_000
_NO_ROWS = np.zeros(1, np.int64)


class _Memory:
    """Words and texts seen so far; only ever added to, so that readers need no lock."""

    def __init__(self, n_columns: int) -> None:
        self.index: dict[tuple[str, ...], int] = {}
        self.rows = np.empty((256, n_columns), np.int32)
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}
        self.hashes = np.empty(512, np.uint64)

    def number(self, text: str) -> int:
        """Of a text."""
        number = self.numbers.get(text)
        if number is None:
            number = len(self.texts)
            if number == len(self.hashes):
                self.hashes = np.concatenate([self.hashes, self.hashes])
            self.hashes[number] = token(text)
            self.texts.append(text)
            self.numbers[text] = number
        return number


class RuleWords:
    """Words as rows of numbers; safe to share between threads.

    Parameters
    ----------
    texts : sequence of str
        Texts whose numbers are their places, the empty one first.
    questions : sequence
        One for each column, see `answer`.
    relations : sequence of Relation
    """

    def __init__(
        self, texts: Sequence[str], questions: Sequence[Any], relations: Sequence[Relation]
    ) -> None:
        self._texts = list(texts)
        self._questions = list(questions)
        self._relations = list(relations)
        self._lock = threading.Lock()
        self._memory = self._new()

    def _new(self) -> _Memory:
        memory = _Memory(len(self._questions))
        for text in self._texts:
            memory.number(text)
        self._add(memory, (ROOT,) * 5)
        self._add(memory, ("",) * 5)
        return memory

    def __call__(self, view: FactorView) -> tuple[WordTable, list[str]]:
        """The words of a sentence, and what text each number stands for."""
        memory = self._memory  # one look: another thread may replace it
        try:
            places = _places(memory, view.sentence)
        except KeyError:
            memory = self._learn(view.sentence)
            places = _places(memory, view.sentence)
        columns = memory.rows.take(places, axis=0)
        return WordTable(columns, memory.hashes, self._rows(view)), memory.texts

    def _rows(self, view: FactorView) -> NDArray[np.int64]:
        if not self._relations:
            return _NO_ROWS
        found = [[n for row in relation(view) for n in row] for relation in self._relations]
        starts = accumulate(map(len, found), initial=len(found) + 1)
        return np.array([*starts, *(n for rows in found for n in rows)], np.int64)

    def _learn(self, sentence: Sentence) -> _Memory:
        s = sentence
        with self._lock:
            if len(self._memory.index) + s.n_words > _MAX_WORDS:
                self._memory = self._new()
            for word in zip(s.forms, s.lemmas, s.upos, s.xpos, s.feats):
                if word not in self._memory.index:
                    self._add(self._memory, word)
            return self._memory

    def _add(self, memory: _Memory, word: tuple[str, ...]) -> None:
        form, *others = word
        fields = dict(zip(FIELDS, (form, form.lower(), *others)))
        answers = [answer(question, fields) for question in self._questions]
        place = len(memory.index)
        if place == len(memory.rows):
            memory.rows = np.concatenate([memory.rows, np.empty_like(memory.rows)])
        memory.rows[place] = [memory.number(a) if isinstance(a, str) else a for a in answers]
        memory.index[word] = place  # last: who finds the place also finds the row


def _places(memory: _Memory, s: Sentence) -> list[int]:
    known = memory.index
    return [0, *[known[w] for w in zip(s.forms, s.lemmas, s.upos, s.xpos, s.feats)], 1]


def answer(question: Any, fields: dict[str, str]) -> Any:
    """What a word answers.

    Questions are ("field", name), ("in", question, set), ("has", question, text),
    ("not", question, None) and ("ask", function, names of fields…).
    """
    match question:
        case ("field", name):
            return fields[name]
        case ("in", inner, wanted):
            return answer(inner, fields) in wanted
        case ("has", inner, wanted):
            return wanted in answer(inner, fields)
        case ("not", inner, _):
            return not answer(inner, fields)
        case (_, function, *names):
            return function(*(fields[name] for name in names))
