"""Compiled families: a few lines of Python that cost next to nothing.

See `RuleFamily` for what they may contain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bbparse.factors.batch import FactorBatch, FactorBuffer
from bbparse.factors.family import FactorFamily
from bbparse.factors.rule_compiler import Program, compile_families
from bbparse.factors.rule_kernel import NO_ROOM, run_rules
from bbparse.factors.rule_words import RuleWords
from bbparse.factors.table import FactorTable
from bbparse.factors.view import FactorView

__all__ = ["RuleFamily", "RuleSet"]

_NO_KEYS = FactorTable(np.zeros(0, np.uint64))
_NO_SCORES = np.empty(0)
_NO_FEATURES = np.zeros(1, np.int64)
_NO_FEATURE_KEYS = np.empty(0, np.uint64)


class RuleFamily(FactorFamily):
    """A family whose `factors` is compiled: plain Python, written in a part of the language.

    What it proposes is what the method would yield if it were run, at a hundredth of the cost.
    When it is first used, its source is read, and an error names the first line that goes beyond:

    * values: words (numbers from 0 to ``view.n_words``), other whole numbers, truth values, texts,
      and tuples and lists of those;
    * ``view.upos[i + 1]`` and the other lists of a view, ``view.has_arc(h, m)``, slices of lists
      after ``in`` and in ``sum`` and ``any`` of a test;
    * ``for`` over ``range(…)``, ``enumerate(view.upos)``, ``view.heads_of(m)``,
      ``view.modifiers_of(h)``, over tuples, and over generators that are given the view;
      ``while``, ``if``, ``continue``, ``break``, ``return``;
    * comparisons, ``and``, ``or``, ``not``, ``x if test else y``; ``+``, ``-``, ``//``, ``min``,
      ``max``, ``abs``; sets of words (``taken = set()``, ``taken.add(i)``, ``i in taken``);
    * functions that are given the view and end with a ``return``; functions of the fields of *one*
      word (``ending(view.lower[i])``), which may do anything, and are asked once for each word;
    * ``yield arcs, features``, both written as lists.

    Where the source is not there (a package without its .py files), the method is run.
    """

    def propose(self, view: FactorView, table: FactorTable | None = None) -> FactorBatch:
        """As `FactorFamily.propose`."""
        return self._alone.propose(view)

    def score(self, view: FactorView, table: FactorTable, found: FactorBuffer) -> None:
        """As `FactorFamily.score`."""
        self._alone.score(view, table, found)

    @cached_property
    def _alone(self) -> RuleSet:
        return RuleSet([self])


class RuleSet:
    """Families that are compiled and run together.

    Parameters
    ----------
    families : sequence of RuleFamily

    Raises
    ------
    FactorError
        If one cannot be compiled, naming family and line.
    """

    def __init__(self, families: Sequence[RuleFamily]) -> None:
        self.families = list(families)
        self.program: Program | None = None
        try:
            self.program = compile_families(self.families)
        except OSError:  # no source
            return
        self._words = RuleWords(self.program.constants, self.program.questions)

    def score(self, view: FactorView, table: FactorTable, found: FactorBuffer) -> None:
        """Put the factors whose score is not 0 into a buffer."""
        if self.program is None or not self._run(self.program, view, table, found):
            for family in self.families:
                found.add(table.alive(FactorFamily.propose(family, view, table)))

    def _run(
        self, p: Program, view: FactorView, table: FactorTable, found: FactorBuffer
    ) -> bool:
        """Whether it could be done."""
        try:
            words = self._words(view.sentence)
        except Exception:  # a question went wrong: Python says how
            return False
        found.reserve(64, 256)
        while True:
            count = run_rules(
                p.code, p.args, p.registers, p.n_sets, *words, view.arc_mod, view.head_ptr,
                False, *table.index, table.pair_weights,
                found.n_factors, found.ptr, found.arcs, found.scores,
                _NO_FEATURES, _NO_FEATURE_KEYS,
            )  # fmt: skip
            if count != NO_ROOM:
                break
            found.reserve(2 * len(found.scores), 2 * len(found.arcs))
        if count < 0:
            return False
        found.n_factors = count
        return True

    def propose(self, view: FactorView) -> FactorBatch:
        """The factors of a single family, with all their features."""
        batch = None if self.program is None else self._batch(self.program, view)
        if batch is not None:
            return batch
        return FactorFamily.propose(self.families[0], view)

    def _batch(self, p: Program, view: FactorView) -> FactorBatch | None:
        try:
            words = self._words(view.sentence)
        except Exception:  # as above
            return None
        size = 256
        while True:
            ptr, feat_ptr = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
            arcs, keys = np.empty(4 * size, np.int32), np.empty(8 * size, np.uint64)
            count = run_rules(
                p.code, p.args, p.registers, p.n_sets, *words, view.arc_mod, view.head_ptr,
                True, *_NO_KEYS.index, _NO_KEYS.pair_weights, 0, ptr, arcs, _NO_SCORES, feat_ptr,
                keys,
            )  # fmt: skip
            if count != NO_ROOM:
                break
            size *= 4
        if count < 0:
            return None
        ptr, feat_ptr = ptr[: count + 1], feat_ptr[: count + 1]
        return FactorBatch(
            ptr, arcs[: ptr[-1]].copy(), feat_ptr, keys[: feat_ptr[-1]].copy(),
            np.zeros(count, np.uint64),
        )  # fmt: skip
