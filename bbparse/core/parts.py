"""Scored elements of trees by kind: arcs, the four kinds of part, factors and count factors.

Each kind is declared here and nowhere else. The arrays of one kind are the fields of a NamedTuple,
which kernels take as a whole. A `Problem` has them under flat names (``sib_head`` is the head of
``parts.sib``) and in groups: ``problem.parts``, ``.factors``, ``.counts``. For their meaning see
`bbparse.Problem`.

`ProblemArrays` has all of them, and can be made from trusted arrays. `bbparse.core.problem` adds
the checks and all operations of users; the modules that check, edit, score and write problems are
below it and use this class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import Flags, Float64s, Ints, Longs


class Part(NamedTuple):
    """Parts of one kind: head → mod, the head of head, and the next modifier towards it.

    Words of a tree that a kind does not look at are `ANY`. Otherwise grand is -1 if head is the
    root, and inner is -1 if mod is the modifier nearest to head on its side.
    """

    grand: Ints
    head: Ints
    inner: Ints
    mod: Ints
    score: Float64s


#: Stands for any word, or none.
ANY = -2


class Parts(NamedTuple):
    """All parts of a problem, by kind; those of `ogc` fire if mod is the outermost on its side."""

    sib: Part
    gc: Part
    ogc: Part
    gsib: Part


#: The kinds of part, in the order of `Parts`, and the number of the one of outermost modifiers.
KINDS = Parts._fields
OUTERMOST = KINDS.index("ogc")


class Factors(NamedTuple):
    """Sets of arcs: factor f has ``arcs[ptr[f] : ptr[f + 1]]`` and scores if all are in a tree."""

    ptr: Longs
    arcs: Ints
    score: Float64s

    def members(self, f: int) -> Ints:
        """Return the arcs of one factor."""
        return self.arcs[self.ptr[f] : self.ptr[f + 1]]


class Counts(NamedTuple):
    """Sets of arcs with a score for each number of them: ``score[score_ptr[c] + number]``."""

    ptr: Longs
    arcs: Ints
    score_ptr: Longs
    score: Float64s

    def members(self, c: int) -> Ints:
        """Return the arcs of one count factor."""
        return self.arcs[self.ptr[c] : self.ptr[c + 1]]

    def table(self, c: int) -> Float64s:
        """Return the scores of one count factor, by the number of its arcs."""
        return self.score[self.score_ptr[c] : self.score_ptr[c + 1]]


#: Flat names of the arrays of factors and of count factors.
SET_NAMES = (
    "factor_ptr",
    "factor_arcs",
    "factor_score",
    "count_ptr",
    "count_arcs",
    "count_score_ptr",
    "count_score",
)
#: Flat names of the arrays of each kind of part: words, then scores.
PART_NAMES = {
    "sib": ("sib_head", "sib_inner", "sib_outer", "sib_score"),
    "gc": ("gc_grand", "gc_head", "gc_mod", "gc_score"),
    "ogc": ("ogc_grand", "ogc_head", "ogc_mod", "ogc_score"),
    "gsib": ("gsib_grand", "gsib_head", "gsib_inner", "gsib_outer", "gsib_score"),
}


def pair_keys(n_words: int, head: NDArray[Any], mod: NDArray[Any]) -> Longs:
    """Return a number for each pair of words, in 64 bits: pairs sort as (head, mod)."""
    return head.astype(np.int64) * (n_words + 1) + mod


def take_sets(ptr: Longs, values: NDArray[Any], chosen: Flags) -> tuple[Longs, NDArray[Any]]:
    """Select sets ``values[ptr[i] : ptr[i + 1]]`` by a mask, bool[F]."""
    lengths = np.diff(ptr)
    new_ptr = np.concatenate([ptr[:1], np.cumsum(lengths[chosen])])
    return new_ptr, values[np.repeat(chosen, lengths)]


def rows_of(part: Iterable[NDArray[Any]]) -> list[tuple[Any, ...]]:
    """Return parts as plain numbers: the columns of a `Part`, row by row."""
    return list(zip(*(column.tolist() for column in part)))


#: Arcs and score of a factor, or arcs and scores of a count factor.
SetRow = tuple[Sequence[int], Iterable[float]]


def set_fields(kind: str, rows: Sequence[SetRow]) -> dict[str, NDArray[Any]]:
    """Return the fields of a problem with these factors or count factors, by kind."""
    ptr = np.cumsum([0, *(len(arcs) for arcs, _ in rows)])
    fields: dict[str, NDArray[Any]] = {
        f"{kind}_ptr": ptr,
        f"{kind}_arcs": np.array([a for arcs, _ in rows for a in arcs], np.int32),
        f"{kind}_score": np.array([s for _, scores in rows for s in scores], np.float64),
    }
    if kind == "count":
        fields["count_score_ptr"] = ptr + np.arange(len(ptr))
    return fields


def set_rows(problem: ProblemArrays, kind: str) -> list[tuple[list[int], list[float]]]:
    """Return the factors or count factors of a problem: the reverse of `set_fields`."""
    ptr, arcs, scores = (problem.__dict__[f"{kind}_{x}"].tolist() for x in ("ptr", "arcs", "score"))
    score_ptr = problem.count_score_ptr.tolist() if kind == "count" else range(len(ptr))
    return [(arcs[a:b], scores[c:d]) for (a, b), (c, d) in zip(pairwise(ptr), pairwise(score_ptr))]


class Constraint(NamedTuple):
    """A constraint that can be removed from a problem."""

    #: "head" and "arc" (states of arcs into a word), "count", "factor", "root" (`single_root`) or
    #: "crossing" (`projective`).
    kind: str
    text: str  #: What it says, in words.
    states: tuple[tuple[int, int], ...] = ()  #: Arcs, and 1 or -1 for each, as in `arc_state`.
    counts: tuple[int, ...] = ()  #: Count factors
    factors: tuple[int, ...] = ()


#: Fields whose change leaves the numbers of arcs, factors and counts as they are.
_SAME_PLACES = {"arc_score", "arc_state", "quantum", "projective", "single_root", "named"}


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ProblemArrays:
    """All arrays of a problem, flat and in groups that kernels take; see `bbparse.Problem`."""

    #: Constraints that methods have added, by the names that they have given them. Not saved.
    named: ClassVar[tuple[Constraint, ...]] = ()

    n_words: int
    arc_head: Ints
    arc_mod: Ints
    arc_score: Float64s
    arc_label: Ints | None
    arc_state: NDArray[np.int8]
    sib_head: Ints
    sib_inner: Ints
    sib_outer: Ints
    sib_score: Float64s
    gc_grand: Ints
    gc_head: Ints
    gc_mod: Ints
    gc_score: Float64s
    ogc_grand: Ints
    ogc_head: Ints
    ogc_mod: Ints
    ogc_score: Float64s
    gsib_grand: Ints
    gsib_head: Ints
    gsib_inner: Ints
    gsib_outer: Ints
    gsib_score: Float64s
    factor_ptr: Longs
    factor_arcs: Ints
    factor_score: Float64s
    count_ptr: Longs
    count_arcs: Ints
    count_score_ptr: Longs
    count_score: Float64s
    projective: bool
    single_root: bool
    quantum: float

    @cached_property
    def parts(self) -> Parts:
        """Parts by kind: ``parts.sib.mod`` is ``sib_outer``."""
        p = self
        return Parts(
            Part(np.full_like(p.sib_head, ANY), p.sib_head, p.sib_inner, p.sib_outer, p.sib_score),
            Part(p.gc_grand, p.gc_head, np.full_like(p.gc_head, ANY), p.gc_mod, p.gc_score),
            Part(p.ogc_grand, p.ogc_head, np.full_like(p.ogc_head, ANY), p.ogc_mod, p.ogc_score),
            Part(p.gsib_grand, p.gsib_head, p.gsib_inner, p.gsib_outer, p.gsib_score),
        )

    @cached_property
    def factors(self) -> Factors:
        """Factors."""
        return Factors(self.factor_ptr, self.factor_arcs, self.factor_score)

    @cached_property
    def counts(self) -> Counts:
        """Count factors."""
        return Counts(self.count_ptr, self.count_arcs, self.count_score_ptr, self.count_score)

    @cached_property
    def part_table(self) -> tuple[Ints, Float64s, Longs]:
        """All parts as three arrays for kernels that Python calls.

        They are words int32[4, P] (grand, head, inner, mod) and scores float64[P], and where each
        kind of `Parts` begins and ends, int64[5].
        """
        sizes = [len(getattr(self, names[-1])) for names in PART_NAMES.values()]
        if not any(sizes):
            return _NO_PARTS
        kind_ptr = np.cumsum([0, *sizes])
        words = np.full((4, kind_ptr[-1]), ANY, np.int32)
        for names, lo, hi in zip(PART_NAMES.values(), kind_ptr[:-1], kind_ptr[1:]):
            for name in names[:-1]:
                words[_ROW_OF[name.partition("_")[2]], lo:hi] = getattr(self, name)
        return words, np.concatenate([getattr(self, n[-1]) for n in PART_NAMES.values()]), kind_ptr

    @classmethod
    def trusted(
        cls, n_words: int, arc_head: Ints, arc_mod: Ints, arc_score: Float64s, **others: Any
    ) -> Self:
        """Make a problem from valid arrays: nothing is checked, copied or converted.

        The arrays must have the dtypes of the contract, be C-contiguous, and not be written to
        afterwards (they are made read-only). Fields that are left out are empty. The `part_table`
        may be given, too, which is faster for a batch.
        """
        others.update(arc_head=arc_head, arc_mod=arc_mod, arc_score=arc_score)
        others.setdefault("arc_state", np.zeros(len(arc_head), np.int8))
        return cls._of({**DEFAULTS, "n_words": n_words}, others)

    def changed(self, **changes: Any) -> Self:
        """Return this problem with some fields replaced by valid arrays."""
        existing = {name: self.__dict__[name] for name in FIELDS}
        if self.named and changes.keys() <= _SAME_PLACES:
            existing["named"] = self.named
        return self._of(existing, changes)

    @classmethod
    def _of(cls, existing: dict[str, Any], values: dict[str, Any]) -> Self:
        problem = object.__new__(cls)
        problem.__dict__.update(existing)  # its arrays are already read-only
        problem._fill(values)
        return problem

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Copied arrays are writable, and kernels take read-only ones.
        self._fill({name: state[name] for name in (*FIELDS, "named") if name in state})

    def _fill(self, values: dict[str, Any]) -> None:
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        # The instance dictionary is written directly, because the class is frozen.
        self.__dict__.update(values)


#: Rows of ``part_table``, by the name of the word.
_ROW_OF = {"grand": 0, "head": 1, "inner": 2, "mod": 3, "outer": 3}
_NO_PARTS = np.empty((4, 0), np.int32), np.empty(0), np.zeros(5, np.int64)


#: Names of all fields of a problem.
FIELDS = tuple(field.name for field in fields(ProblemArrays))
_DTYPES_BY_ENDING = {"score": np.float64, "ptr": np.int64, "state": np.int8}
#: Flat name → dtype, for all arrays except the labels of arcs.
DTYPES: dict[str, type] = {
    name: _DTYPES_BY_ENDING.get(name.rpartition("_")[2], np.int32)
    for name in FIELDS
    if name not in ("n_words", "arc_label", "projective", "single_root", "quantum")
}

_EMPTY: dict[type, NDArray[Any]] = {
    dtype: np.zeros(int(dtype is np.int64), dtype) for dtype in DTYPES.values()
}
#: Flat name → value, for all fields that may be left out.
DEFAULTS: dict[str, Any] = {name: _EMPTY[dtype] for name, dtype in DTYPES.items()}
DEFAULTS.update(arc_label=None, projective=True, single_root=True, quantum=0.0)
for _array in _EMPTY.values():
    _array.setflags(write=False)
