"""Families that are written as rules and cost next to nothing; see `RuleFamily`.

What rules read of words are numbers. A *column* is a question to one word, such as its tag, or
whether its tag is one of some; words are remembered by their fields, so that each distinct word is
asked once. Texts have numbers, the same for equal texts of any column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import FactorError
from bbparse.factors.batch import FactorBatch
from bbparse.factors.family import FactorFamily, is_foreign, told_of
from bbparse.factors.rule_kernel import NO_ROOM, Kept, WordTable, run_rules
from bbparse.factors.rule_language import AnySentence
from bbparse.factors.rule_values import FIELDS
from bbparse.factors.table import CLOSE, OPEN, TEXT, FactorTable, token
from bbparse.factors.view import ROOT, FactorView
from bbparse.jit import plain
from bbparse.problem.parts import Factors
from bbparse.treebank.encode import RowMemory
from bbparse.treebank.sentence import Word

_NO_FEATURES = FactorTable(np.zeros(0, np.uint64))
_NO_ROWS = np.zeros(1, np.int64)


class RuleFamily(FactorFamily):
    '''A family whose method `rules` is run once, and is then a table that one kernel reads.

    It costs a few microseconds a sentence, a hundredth of what `factors` in Python would. Rules
    look like it, but speak of any sentence; this one says that a subject agrees with an auxiliary:

    >>> from bbparse.factors import RuleFamily
    >>> class Agreement(RuleFamily):
    ...     """He is, they are."""
    ...     name = "agreement"
    ...     summary = "a subject and the auxiliary of its verb"
    ...
    ...     def rules(self, s):
    ...         for x in s.words():
    ...             s.require(x.upos == "AUX")
    ...             for v in x.heads:
    ...                 for m in v.modifiers:
    ...                     s.require(m.upos.isin(("NOUN", "PRON")), m != x)
    ...                     yield [(v, m), (v, x)], ["any", (m < x, m.feats, x.feats)]

    `AnySentence` has what a sentence may be asked, `AnyWord` what a word, and `AnyValue` what can
    be made of the answers. What rules cannot say, a function in plain Python can: of a word
    (`AnyWord.ask`), or of a sentence (`AnySentence.tuples`). Features have the same keys as those
    of a family in Python, so a family may be rewritten as rules when its model is trained.
    '''

    def rules(
        self, s: AnySentence
    ) -> Iterable[tuple[Iterable[tuple[Any, Any]], Sequence[Any]]]:
        """Propose factors for any sentence.

        Yields
        ------
        arcs, features
            As `FactorFamily.factors`, of words and values that ``s`` gives, and constants.
        """
        raise NotImplementedError(f"{type(self).__name__}.rules")

    def propose(self, view: FactorView, table: FactorTable | None = None) -> FactorBatch:
        return self._alone.propose(view)[0]

    def score(self, view: FactorView, table: FactorTable) -> Factors:
        return self._alone.score(view, table)

    def name_features(self, view: FactorView) -> dict[int, str]:
        return self._alone.propose(view)[1]

    @cached_property
    def _alone(self) -> RuleSet:
        return RuleSet([self])


def is_compiled(family: FactorFamily) -> bool:
    """Whether a family leaves all that is to be done to `RuleFamily`."""
    own = type(family)
    return (
        isinstance(family, RuleFamily)
        and own.propose is RuleFamily.propose
        and own.score is RuleFamily.score
    )


class RuleSet:
    """Families that are run together, for threads, too; `FactorError` if one has no rules."""

    def __init__(self, families: Sequence[RuleFamily]) -> None:
        sentence = AnySentence()
        for family in families:
            with told_of(f"factor family {family.name!r}"):
                sentence.add(family.name, family.rules)
        self._program, texts = sentence.program()
        self._plain = plain(self._program)
        questions, self._relations = list(sentence.questions), list(sentence.relations)
        self._memory = RowMemory(lambda: _Texts(texts, questions), len(questions), np.int32)
        self._name = " and ".join(family.name for family in families)

    def score(self, view: FactorView, table: FactorTable) -> Factors:
        """The factors whose score is not 0, with it."""
        words, _ = self._words_of(view)
        return self._run(words, view, table, keep=False)[0]

    def propose(self, view: FactorView) -> tuple[FactorBatch, dict[int, str]]:
        """All factors with all features, and what the features say."""
        words, texts = self._words_of(view)
        found, kept = self._run(words, view, _NO_FEATURES, keep=True)
        places = np.arange(len(found.ptr))
        feat_ptr = kept.ptr[places]
        keys = kept.keys[: feat_ptr[-1]]
        gates = np.zeros(len(found.score), np.uint64)
        return FactorBatch(found.ptr, found.arcs, places, feat_ptr, keys, gates), {
            key: self._said(kept.said[kept.said_ptr[i] : kept.said_ptr[i + 1]].tolist(), texts)
            for i, key in enumerate(keys.tolist())
        }

    def _run(
        self, words: WordTable, view: FactorView, table: FactorTable, keep: bool
    ) -> tuple[Factors, Kept]:
        size, count = 256, NO_ROOM
        while count == NO_ROOM:
            room = np.zeros(size + 1, np.int64), np.empty(4 * size, np.int32), np.empty(size)
            kept = _kept(size) if keep else _NOT_KEPT
            count = run_rules(
                self._plain, tuple(words), view.arcs, table.index, keep, room, tuple(kept)
            )
            size *= 4
        ptr, arcs, score = room
        return Factors(ptr[: count + 1], arcs[: ptr[count]], score[:count]), kept

    def _said(self, said: list[int], texts: list[str]) -> str:
        """A feature as text, as `bbparse.factors.table.readable` gives it."""
        kinds = self._program.operands[said[0] + 1 :: 2].tolist()
        return " ".join(
            texts[value] if kind == TEXT else str(value)
            for kind, value in zip(kinds, said[1:])
            if kind not in (OPEN, CLOSE)
        )

    def _words_of(self, view: FactorView) -> tuple[WordTable, list[str]]:
        """The words of a sentence, and what text each number stands for."""
        with told_of(f"factor family {self._name}", view.sentence):
            places, rows, made = self._memory([(ROOT,) * 5, *view.sentence.words, ("",) * 5])
            columns = rows.take(places, axis=0)
            return WordTable(columns, made.hashes, self._rows(view)), made.texts

    def _rows(self, view: FactorView) -> NDArray[np.int64]:
        if not self._relations:
            return _NO_ROWS
        found = [[n for row in relation(view) for n in row] for relation in self._relations]
        starts = accumulate(map(len, found), initial=len(found) + 1)
        return np.array([*starts, *(n for rows in found for n in rows)], np.int64)


def _kept(n_factors: int) -> Kept:
    n_keys = 8 * n_factors
    return Kept(
        np.zeros(n_factors + 1, np.int64), np.empty(n_keys, np.uint64),
        np.zeros(n_keys + 1, np.int64), np.empty(8 * n_keys, np.int64),
    )  # fmt: skip


_NOT_KEPT = _kept(0)


def alive_factors(
    families: Iterable[FactorFamily], views: Sequence[FactorView], table: FactorTable
) -> list[Factors]:
    """The factors that have a score, of each of some sentences.

    Factors keep the order of the families. Two families may give the same set of arcs, each with
    its score. One family after the other sees all sentences: what it reads then stays in the
    caches. Raises what `FactorFamily.propose` does.
    """
    groups = _groups(tuple(families))
    found = [[_scored(group, view, table) for view in views] for group in groups]
    return [_joined([factors[i] for factors in found]) for i in range(len(views))]


def _scored(group: FactorFamily | RuleSet, view: FactorView, table: FactorTable) -> Factors:
    """The factors of a group, looked at where it is not the package that made them."""
    if isinstance(group, RuleSet) or not is_foreign(group.score):
        return group.score(view, table)
    with told_of(f"factor family {group.name!r}", view.sentence):
        found = group.score(view, table)
        if not isinstance(found, Factors):
            raise FactorError(f"score gave {found!r:.60}, expected Factors")
        places = np.arange(len(found.ptr))
        none = np.zeros(0, np.uint64), np.zeros(len(found.score), np.uint64)
        batch = FactorBatch(found.ptr, found.arcs, places, np.zeros_like(places), *none)
        if fault := batch.fault(view.n_arcs):
            raise FactorError(f"score: {fault}")
        if found.score.dtype != np.float64 or not np.isfinite(found.score).all():
            raise FactorError("score: a score is no finite float64")
    return found


@lru_cache(maxsize=64)
def _groups(families: tuple[FactorFamily, ...]) -> tuple[FactorFamily | RuleSet, ...]:
    """The families, compiled ones that follow each other together."""
    groups: list[FactorFamily | RuleSet] = []
    for together, members in groupby(families, is_compiled):
        if together:
            groups.append(RuleSet([m for m in members if isinstance(m, RuleFamily)]))
        else:
            groups += members
    return tuple(groups)


def _joined(groups: Sequence[Factors]) -> Factors:
    """All factors, one group after the other."""
    groups = [group for group in groups if len(group.score)]
    if len(groups) == 1:
        return groups[0]
    starts = accumulate((len(group.arcs) for group in groups), initial=0)
    ends = [group.ptr[1:] + start for group, start in zip(groups, starts)]
    return Factors(
        np.concatenate([np.zeros(1, np.int64), *ends]),
        np.concatenate([np.zeros(0, np.int32), *(group.arcs for group in groups)]),
        np.concatenate([np.zeros(0), *(group.score for group in groups)]),
    )


class _Texts:
    """Numbers of texts, of those given their places, and rows of the answers of words."""

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
