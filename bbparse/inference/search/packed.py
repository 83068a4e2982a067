"""`pack`: the arrays of several problems side by side, for kernels that solve them in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import (
    PART_NAMES,
    Arcs,
    Counts,
    Factors,
    Part,
    Parts,
    ProblemArrays,
    names_of,
)
from bbparse.runtime.arrays import Float64s, Ints, Longs
from bbparse.runtime.jit import kernel

#: Columns of ``Packed.ptr``: where the arrays of these names begin, trees, and heads of trees.
_POINTED = (
    "arc_head", "sib_head", "gc_head", "ogc_head", "gsib_head", "factor_ptr", "factor_arcs",
    "count_ptr", "count_arcs", "count_score",
)  # fmt: skip
TREES, HEADS = len(_POINTED), len(_POINTED) + 1

#: Seconds after which a call returns to Python, where signals are handled, between two problems.
TURN = 0.1

_ALWAYS = (*names_of("arc", Arcs), "factor_ptr", "count_ptr", "count_score_ptr")
_OF_COLUMN = {
    **{1 + i: names for i, names in enumerate(PART_NAMES.values())},
    6: ("factor_arcs", "factor_score"), 8: ("count_arcs", "count_score"),
}  # fmt: skip


class Size(NamedTuple):
    """Numbers of a problem: a row of ``Packed.sizes``."""

    n_words: int
    mode: int  # of the recurrence of its chart
    k_best: int
    labelled: int
    single_root: int
    projective: int


class Allowed(NamedTuple):
    """Limits of a problem: a row of ``Packed.allowed``."""

    work: float  # positions of the oracle
    seconds: float
    quantum: float


class Packed(NamedTuple):
    """Problems side by side, and where those of each begin.

    The arrays of problem s are rows ``ptr[s, c]`` to ``ptr[s + 1, c]`` of those of column c;
    numbers of arcs in factors, and pointers to these, count from the problem's first one.
    """

    sizes: Longs  # [S, 6]
    allowed: Float64s  # [S, 3]
    ptr: Longs  # [S + 1, 12]; [1, 12]: there is only one problem, which has all rows
    arcs: Arcs
    parts: Parts
    factors: Factors
    counts: Counts


class Written(NamedTuple):
    """Where a call writes of packed problems; trees begin where ``Packed.ptr`` says.

    The scores of a problem's trees are those of `rescore_trees`, float64[3, trees].
    """

    heads: Ints
    arcs: Ints
    scores: Float64s
    told: Float64s  # [S, 9]: a row of `Told` for each problem


class Told(NamedTuple):
    """What a call says of a root."""

    calls: float  # this and the next two: counters of `bound_node`
    work: float
    tried: float
    slack: float
    full_size: float  # size of the whole oracle; 0 if some word has no arc
    top: float  # the best score, as the search adds it up
    found: float  # number of trees, if the root is closed
    started: float
    ended: float


class Given(NamedTuple):
    """The records of one problem."""

    arcs: Arcs
    parts: Parts
    factors: Factors
    counts: Counts


@kernel
def named(packed):
    """Name the records of packed problems, given as a plain tuple."""
    (sizes, allowed, ptr), (arcs, parts, factors, counts) = packed
    sib, gc, ogc, gsib = parts
    return Packed(
        sizes, allowed, ptr, Arcs(*arcs),
        Parts(Part(*sib), Part(*gc), Part(*ogc), Part(*gsib)), Factors(*factors), Counts(*counts),
    )  # fmt: skip


@kernel
def _rows(part, a, z):
    """Return the parts from a to z."""
    return Part(part.grand[a:z], part.head[a:z], part.inner[a:z], part.mod[a:z], part.score[a:z])


@kernel
def problem_at(packed, s):
    """Return the records of problem s, which are views."""
    arcs, parts, factors, counts = packed.arcs, packed.parts, packed.factors, packed.counts
    if packed.ptr.shape[0] == 1:
        return Given(arcs, parts, factors, counts)
    a, z = packed.ptr[s], packed.ptr[s + 1]
    return Given(
        Arcs(
            arcs.head[a[0] : z[0]], arcs.mod[a[0] : z[0]], arcs.score[a[0] : z[0]],
            arcs.state[a[0] : z[0]],
        ),
        Parts(
            _rows(parts.sib, a[1], z[1]), _rows(parts.gc, a[2], z[2]),
            _rows(parts.ogc, a[3], z[3]), _rows(parts.gsib, a[4], z[4]),
        ),
        Factors(  # a problem has one score less than pointers
            factors.ptr[a[5] : z[5]], factors.arcs[a[6] : z[6]],
            factors.score[a[5] - s : z[5] - s - 1],
        ),
        Counts(
            counts.ptr[a[7] : z[7]], counts.arcs[a[8] : z[8]], counts.score_ptr[a[7] : z[7]],
            counts.score[a[9] : z[9]],
        ),
    )  # fmt: skip


@kernel
def alive_arcs(n, arcs):
    """Return the arcs that are neither forbidden nor rivals of required arcs."""
    required = np.full(n + 1, -1, np.int32)
    for a in range(arcs.state.shape[0]):
        if arcs.state[a] == 1:
            required[arcs.mod[a]] = a
    alive = np.empty(arcs.state.shape[0], np.int32)
    count = 0
    for a in range(arcs.state.shape[0]):
        only = required[arcs.mod[a]]
        if arcs.state[a] != -1 and (only < 0 or only == a):
            alive[count] = a
            count += 1
    return alive[:count].copy()


_WHOLE = np.zeros((1, len(_POINTED) + 2), np.int64)


def pack_one(problem: Problem, mode: int, k_best: int, allowed: Float64s) -> tuple[Any, ...]:
    """Return one problem as `pack` does."""
    p = problem
    sizes = np.array(
        [[p.n_words, mode, k_best, p.arc_label is not None, p.single_root, p.projective]]
    )
    return (sizes, allowed, _WHOLE), p.plain()


def pack(
    problems: Sequence[Problem], modes: Sequence[int], k_best: Sequence[int], allowed: Float64s
) -> tuple[Any, ...]:  # fmt: skip
    """Return `Packed` problems as a plain tuple."""
    sizes = np.array(
        [(p.n_words, mode, k, p.arc_label is not None, p.single_root, p.projective)
         for p, mode, k in zip(problems, modes, k_best)]
    )  # fmt: skip
    rows = [problem.__dict__ for problem in problems]
    ptr = np.zeros((len(rows) + 1, len(_POINTED) + 2), np.int64)
    ptr[1:, :TREES] = [[len(row[name]) for name in _POINTED] for row in rows]
    ptr[1:, TREES] = sizes[:, 2]
    ptr[1:, HEADS] = sizes[:, 2] * (sizes[:, 0] + 1)
    np.cumsum(ptr, axis=0, out=ptr)
    last = ptr[-1].tolist()
    names = [*_ALWAYS, *(n for column, ns in _OF_COLUMN.items() if last[column] for n in ns)]
    arrays = {name: np.concatenate([row[name] for row in rows]) for name in names}
    return (sizes, allowed, ptr), ProblemArrays.trusted(0, **arrays).plain()
