"""The arrays of a problem, and ways to make one of arrays that are known to be right.

`bbparse.problem.problem` adds the checks and all that users do with problems; what checks, edits,
scores and writes them is below it and knows them by this class.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bbparse.problem.parts import (
    KINDS,
    PART_NAMES,
    Arcs,
    Counts,
    Factors,
    Parts,
    Pointers,
    Scores,
    Words,
    names_of,
)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ProblemArrays:
    """All that a problem says, see `bbparse.Problem`: flat, and in groups that kernels take."""

    n_words: int
    arc_head: Words
    arc_mod: Words
    arc_score: Scores
    arc_label: Words | None
    arc_state: NDArray[np.int8]
    sib_head: Words
    sib_inner: Words
    sib_outer: Words
    sib_score: Scores
    gc_grand: Words
    gc_head: Words
    gc_mod: Words
    gc_score: Scores
    ogc_grand: Words
    ogc_head: Words
    ogc_mod: Words
    ogc_score: Scores
    gsib_grand: Words
    gsib_head: Words
    gsib_inner: Words
    gsib_outer: Words
    gsib_score: Scores
    factor_ptr: Pointers
    factor_arcs: Words
    factor_score: Scores
    count_ptr: Pointers
    count_arcs: Words
    count_score_ptr: Pointers
    count_score: Scores
    projective: bool
    single_root: bool
    quantum: float

    @cached_property
    def arcs(self) -> Arcs:
        return Arcs(self.arc_head, self.arc_mod, self.arc_score, self.arc_state)

    @cached_property
    def parts(self) -> Parts:
        """The parts, by kind: ``parts.sib.head`` is ``sib_head``."""
        values = self.__dict__
        return Parts(
            *(KINDS[kind](*[values[name] for name in names]) for kind, names in PART_NAMES.items())
        )

    @cached_property
    def factors(self) -> Factors:
        return Factors(self.factor_ptr, self.factor_arcs, self.factor_score)

    @cached_property
    def counts(self) -> Counts:
        return Counts(self.count_ptr, self.count_arcs, self.count_score_ptr, self.count_score)

    def plain(self) -> tuple[tuple[Any, ...], ...]:
        """`arcs`, `parts`, `factors` and `counts` for kernels (see `bbparse.jit.plain`)."""
        values = self.__dict__
        arcs, *parts, factors, counts = [group(values) for group in _GROUPS]
        return arcs, tuple(parts), factors, counts

    @classmethod
    def trusted(
        cls, n_words: int, arc_head: Words, arc_mod: Words, arc_score: Scores, **others: Any
    ) -> Self:
        """A problem whose arrays are known to be right: nothing is checked, copied or converted.

        The arrays must have the dtypes of the contract, be C-contiguous, and not be written to
        afterwards (they are made read-only). Fields that are not given are empty.
        """
        n_arcs = len(arc_head)
        states = _FREE[:n_arcs] if n_arcs <= len(_FREE) else np.zeros(n_arcs, np.int8)
        others.update(arc_head=arc_head, arc_mod=arc_mod, arc_score=arc_score)
        others.setdefault("arc_state", states)
        return cls._of({**_DEFAULTS, "n_words": n_words}, others)

    def changed(self, **changes: Any) -> Self:
        """This problem with some fields replaced by arrays known to be right."""
        return self._of({name: self.__dict__[name] for name in FIELDS}, changes)

    @classmethod
    def _of(cls, known: dict[str, Any], values: dict[str, Any]) -> Self:
        problem = object.__new__(cls)
        problem.__dict__.update(known)  # whose arrays are read-only already
        problem._fill(values)
        return problem

    def _fill(self, values: dict[str, Any]) -> None:
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        # The instance dictionary is written directly, as the class is frozen.
        self.__dict__.update(values)


#: The names of all fields of a problem.
FIELDS = tuple(field.name for field in fields(ProblemArrays))
_NAMES = [
    names_of(prefix, kind)
    for prefix, kind in {"arc": Arcs, **KINDS, "factor": Factors, "count": Counts}.items()
]
_GROUPS = [itemgetter(*names) for names in _NAMES]
#: Flat names of all arrays but the labels of arcs, by dtype.
DTYPES: dict[str, type] = {
    name: np.float64 if name.endswith("_score")
    else np.int64 if name.endswith("_ptr")
    else np.int8 if name == "arc_state"
    else np.int32
    for name in chain(*_NAMES)
}  # fmt: skip

_EMPTY: dict[type, NDArray[Any]] = {
    dtype: np.zeros(int(dtype is np.int64), dtype) for dtype in DTYPES.values()
}
_FREE = np.zeros(4096, dtype=np.int8)  # states of arcs that nothing is known of
_DEFAULTS: dict[str, Any] = {name: _EMPTY[dtype] for name, dtype in DTYPES.items()}
_DEFAULTS.update(arc_label=None, projective=True, single_root=True, quantum=0.0)
for _array in (*_EMPTY.values(), _FREE):
    _array.setflags(write=False)
