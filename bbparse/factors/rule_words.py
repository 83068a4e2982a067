"""What rules read of words: numbers for texts and for answers of tests.

A *column* is a question to one word, such as its tag, or whether its tag is one of some. Words are
remembered by their fields, so that each distinct word is asked once. Texts have numbers, the same
for equal texts of any column; number 0 is the empty text.
"""

from __future__ import annotations

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
from bbparse.treebank.encode import RowMemory
from bbparse.treebank.sentence import Word

_NO_ROWS = np.zeros(1, np.int64)


class _Texts:
    """Numbers of texts, and rows of the answers of words."""

    def __init__(self, texts: Sequence[str], questions: Sequence[Any]) -> None:
        self.questions = questions
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}
        self.hashes = np.empty(512, np.uint64)
        for text in texts:
            self.number(text)

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

    def __call__(self, word: Word) -> list[int]:
        """The answers of a word; texts by their numbers."""
        form, *others = word
        fields = dict(zip(FIELDS, (form, form.lower(), *others)))
        answers = (answer(question, fields) for question in self.questions)
        return [self.number(a) if isinstance(a, str) else a for a in answers]


class RuleWords:
    """Words as rows of numbers, one for each question (see `answer`); for threads, too.

    The numbers of the texts given are their places, that of the empty one is 0.
    """

    def __init__(
        self, texts: Sequence[str], questions: Sequence[Any], relations: Sequence[Relation]
    ) -> None:
        self._relations = relations
        self._memory = RowMemory(lambda: _Texts(texts, questions), len(questions), np.int32)

    def __call__(self, view: FactorView) -> tuple[WordTable, list[str]]:
        """The words of a sentence, and what text each number stands for."""
        places, rows, made = self._memory([(ROOT,) * 5, *view.sentence.words, ("",) * 5])
        columns = rows.take(places, axis=0)
        return WordTable(columns, made.hashes, self._rows(view)), made.texts

    def _rows(self, view: FactorView) -> NDArray[np.int64]:
        if not self._relations:
            return _NO_ROWS
        found = [[n for row in relation(view) for n in row] for relation in self._relations]
        starts = accumulate(map(len, found), initial=len(found) + 1)
        return np.array([*starts, *(n for rows in found for n in rows)], np.int64)


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
