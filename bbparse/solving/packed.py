"""`pack`: the arrays of several problems side by side, for kernels that solve them in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bbparse.arrays import Floats, Ints, Longs
from bbparse.jit import kernel
from bbparse.problem import Problem
from bbparse.problem.parts import (
    PART_NAMES,
    Arcs,
    Counts,
    Factors,
    Part,
    Parts,
    ProblemArrays,
    names_of,
)

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
    allowed: Floats  # [S, 3]
    ptr: Longs  # [S + 1, 12]; [1, 12]: there is only one problem, which has all rows
    order: Ints  # [A], number of each arc in its problem as it was given; empty: the same
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
    scores: Floats
    told: Floats  # [S, 9]: a row of `Told` for each problem


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
    (sizes, allowed, ptr, order), (arcs, parts, factors, counts) = packed
    sib, gc, ogc, gsib = parts
    return Packed(
        sizes, allowed, ptr, order, Arcs(*arcs),
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


_IN_ORDER = np.empty(0, np.int32)
_WHOLE = np.zeros((1, len(_POINTED) + 2), np.int64)


def pack_one(problem: Problem, mode: int, k_best: int, allowed: Floats) -> tuple[Any, ...]:
    """Return one problem as `pack` does; its arcs are sorted by (head, modifier), or dense."""
    p = problem
    sizes = np.array(
        [[p.n_words, mode, k_best, p.arc_label is not None, p.single_root, p.projective]]
    )
    return (sizes, allowed, _WHOLE, _IN_ORDER), p.plain()


def pack(
    problems: Sequence[Problem], modes: Sequence[int], k_best: Sequence[int], allowed: Floats,
    sorts: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Return `Packed` problems as a plain tuple.

    With ``sorts``, the arcs of each are sorted by (head, modifier), unless it has labels: then they
    are sorted already.
    """
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
    whole = ProblemArrays.trusted(0, **arrays)
    order = _IN_ORDER
    if sorts and not _are_sorted(ptr[1:-1, 0], whole.arc_head, whole.arc_mod):
        arcs, factor_arcs, count_arcs, order = sort_arcs(
            ptr, sizes, whole.plain()[0], whole.factor_arcs, whole.count_arcs
        )
        changes = dict(zip(names_of("arc", Arcs), arcs))
        whole = whole.changed(**changes, factor_arcs=factor_arcs, count_arcs=count_arcs)
    return (sizes, allowed, ptr, order), whole.plain()


@kernel
def _sort_stably(keys, before, after, first):
    """Write the rows ``before`` into ``after``, sorted by their keys; equal ones stay in order."""
    first[:] = 0
    for i in before:
        first[keys[i] + 1] += 1
    for key in range(1, first.shape[0]):
        first[key] += first[key - 1]
    for i in before:
        after[first[keys[i]]] = i
        first[keys[i]] += 1


def _are_sorted(begins: Longs, head: Ints, mod: Ints) -> bool:
    """Return True if the arcs of each problem are sorted by head and modifier."""
    fall = (head[1:] < head[:-1]) | ((head[1:] == head[:-1]) & (mod[1:] < mod[:-1]))
    fall[begins[(begins > 0) & (begins < len(head))] - 1] = False
    return not fall.any()


@kernel
def sort_arcs(ptr, sizes, arcs, factor_arcs, count_arcs):
    """Sort the arcs of each problem by head, then modifier, and number those of sets anew.

    Returns the arcs, those of factors and of count factors, and the order as `Packed` has it.
    """
    arc_head, arc_mod, arc_score, arc_state = arcs
    n_arcs = arc_head.shape[0]
    head, mod = np.empty(n_arcs, np.int32), np.empty(n_arcs, np.int32)
    score, state = np.empty(n_arcs), np.empty(n_arcs, np.int8)
    order, place = np.empty(n_arcs, np.int32), np.empty(n_arcs, np.int32)
    in_factors = np.empty(factor_arcs.shape[0], np.int32)
    in_counts = np.empty(count_arcs.shape[0], np.int32)
    for s in range(sizes.shape[0]):
        a, z = ptr[s, 0], ptr[s + 1, 0]
        own, by_mod = order[a:z], place[a:z]
        for i in range(z - a):
            own[i] = i
        first = np.empty(sizes[s, 0] + 2, np.int64)
        _sort_stably(arc_mod[a:z], own, by_mod, first)
        _sort_stably(arc_head[a:z], by_mod, own, first)
        for i in range(z - a):
            old = a + own[i]
            head[a + i], mod[a + i] = arc_head[old], arc_mod[old]
            score[a + i], state[a + i] = arc_score[old], arc_state[old]
        for i in range(z - a):
            place[a + own[i]] = i
        for i in range(ptr[s, 6], ptr[s + 1, 6]):
            in_factors[i] = place[a + factor_arcs[i]]
        for i in range(ptr[s, 8], ptr[s + 1, 8]):
            in_counts[i] = place[a + count_arcs[i]]
    return (head, mod, score, state), in_factors, in_counts, order
