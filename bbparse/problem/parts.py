"""What scores trees, kind by kind: arcs, the four kinds of part, factors and count factors.

Each kind is declared here and nowhere else. The arrays of one kind are the fields of a NamedTuple,
which kernels take whole; a `Problem` has them under flat names (``sib_head`` is the head of
``parts.sib``) and in groups: ``problem.arcs``, ``.parts``, ``.factors``, ``.counts``. What the
arrays mean is said at `bbparse.Problem`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int32]
Pointers = NDArray[np.int64]
Scores = NDArray[np.float64]


class Arcs(NamedTuple):
    """Candidate arcs, int32[A] and float64[A]; state int8[A]: 1 required, -1 forbidden."""

    head: Words
    mod: Words
    score: Scores
    state: NDArray[np.int8]


class Siblings(NamedTuple):
    """Adjacent siblings; inner -1: outer is its head's modifier nearest to it on its side."""

    head: Words
    inner: Words
    outer: Words
    score: Scores


class Grandchildren(NamedTuple):
    """Grandchildren, any or the outermost: grand → head and head → mod."""

    grand: Words
    head: Words
    mod: Words
    score: Scores


class OuterGrandchildren(NamedTuple):
    """Grandchildren whose mod is the outermost modifier of head on its side."""

    grand: Words
    head: Words
    mod: Words
    score: Scores


class GrandSiblings(NamedTuple):
    """Adjacent siblings with the head of their head; grand -1: head is the root."""

    grand: Words
    head: Words
    inner: Words
    outer: Words
    score: Scores


class Parts(NamedTuple):
    """All parts of a problem by kind."""

    sib: Siblings
    gc: Grandchildren
    ogc: OuterGrandchildren
    gsib: GrandSiblings


class Factors(NamedTuple):
    """Sets of arcs: factor f has ``arcs[ptr[f] : ptr[f + 1]]`` and scores if all are in a tree."""

    ptr: Pointers
    arcs: Words
    score: Scores


class Counts(NamedTuple):
    """Sets of arcs with a score for each number of them: ``score[score_ptr[c] + number]``."""

    ptr: Pointers
    arcs: Words
    score_ptr: Pointers
    score: Scores


#: The class of each kind of part, by the name that its arrays begin with.
KINDS: dict[str, type] = {
    "sib": Siblings,
    "gc": Grandchildren,
    "ogc": OuterGrandchildren,
    "gsib": GrandSiblings,
}


def names_of(prefix: str, kind: type) -> tuple[str, ...]:
    """The flat names that the arrays of a kind have in a problem."""
    return tuple(f"{prefix}_{field}" for field in kind._fields)  # type: ignore[attr-defined]


#: Flat names of the arrays of each kind of part: words, then scores.
PART_NAMES = {prefix: names_of(prefix, kind) for prefix, kind in KINDS.items()}


def take_sets(
    ptr: Pointers, values: NDArray[Any], chosen: NDArray[np.bool_]
) -> tuple[Pointers, NDArray[Any]]:
    """Those of the sets ``values[ptr[i] : ptr[i + 1]]`` that are chosen bool[F]."""
    lengths = np.diff(ptr)
    new_ptr = np.concatenate([ptr[:1], np.cumsum(lengths[chosen])])
    return new_ptr, values[np.repeat(chosen, lengths)]


def rows_of(part: Iterable[NDArray[Any]]) -> list[tuple[Any, ...]]:
    """The parts of a kind, each as plain numbers: its words and its score."""
    return list(zip(*(column.tolist() for column in part)))
