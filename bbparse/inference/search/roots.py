"""`roots_of`: the roots of the searches of problems, as many as possible in one jitted call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.inference.relaxation.state import Limits
from bbparse.inference.search.dense import call_dense
from bbparse.inference.search.lagrangian import OpenRoot
from bbparse.inference.search.packed import HEADS, TREES, Told, Written, pack, pack_one
from bbparse.inference.search.root import call_roots
from bbparse.runtime.arrays import Float64s, Ints


class Root(NamedTuple):
    """What became of the root of a problem's search: its best trees, or what is open."""

    told: Told
    heads: Ints  # [K, n + 1]: this and the next two are the trees of a closed root
    arcs: Ints  # [K, n]
    scores: Float64s  # [3, K], as `rescore_trees` writes them
    left: OpenRoot | None = None  # None: the root is closed


class Asked(NamedTuple):
    """What is asked of the roots of several problems."""

    modes: Sequence[int]  # of the recurrences
    k_best: Sequence[int]
    allowed: Float64s  # [S, 3], rows of `Allowed`
    waits: bool = False  # make the roots only


_NOTHING = np.empty((0, 0), np.int32), np.empty((0, 0), np.int32), np.empty((3, 0))


def root_of(
    problem: Problem, asked: Asked, limits: Limits | None, until: float = np.inf
) -> Root:
    """Return the root of a problem, as `roots_of`."""
    (mode,), (k,), allowed, waits = asked
    packed, n = pack_one(problem, mode, k, allowed), problem.n_words
    written = _room(k, k * (n + 1), 1)
    if limits is None:
        call_dense(packed, 0, until, tuple(written))
    else:
        for _, left in call_roots(problem.projective, packed, waits, limits, written):
            return Root(Told(*written.told[0].tolist()), *_NOTHING, left)
    return _closed(written, 0, 0, n, written.told[0].tolist())


def roots_of(
    problems: Sequence[Problem], asked: Asked, limits: Limits | None, until: float = np.inf
) -> Iterator[Root]:
    """Yield the root of each problem; all problems are projective, or none is.

    Without ``limits`` all are dense (`is_dense`), and their best trees are found without a chart.
    The upper bound of one is inf, and it has no tree, if the time ``until`` or its own is over.
    """
    packed = pack(problems, asked.modes, asked.k_best, asked.allowed)
    sizes, _, ptr = packed[0]
    trees, heads = ptr[-1, TREES:].tolist()
    written = _room(trees, heads, len(problems))
    places = zip(ptr[:, TREES].tolist(), ptr[:, HEADS].tolist(), sizes[:, 0].tolist())

    def closed(first: int, end: int) -> Iterator[Root]:
        for told, place in zip(written.told[first:end].tolist(), places):
            yield _closed(written, *place, told)

    done = at = 0
    if limits is None:
        while at < len(problems):
            at = call_dense(packed, at, until, tuple(written))
    else:
        for number, left in call_roots(
            problems[0].projective, packed, asked.waits, limits, written
        ):
            yield from closed(done, number)
            next(places)
            yield Root(Told(*written.told[number].tolist()), *_NOTHING, left)
            done = number + 1
    yield from closed(done, len(problems))


def _room(trees: int, heads: int, problems: int) -> Written:
    """Return room for the trees of packed problems."""
    return Written(
        np.empty(heads, np.int32), np.empty(heads - trees, np.int32), np.empty(3 * trees),
        np.empty((problems, len(Told._fields))),
    )  # fmt: skip


def _closed(written: Written, row: int, at: int, n: int, told: list[float]) -> Root:
    """Return a closed root of n words, whose trees and heads begin at these places."""
    k, place = int(told[6]), at - row
    return Root(
        Told(*told),
        written.heads[at : at + k * (n + 1)].reshape(k, n + 1),
        written.arcs[place : place + k * n].reshape(k, n),
        written.scores[3 * row : 3 * (row + k)].reshape(3, k),
    )
