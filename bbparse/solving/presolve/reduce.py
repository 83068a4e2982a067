"""Presolve: a smaller problem with the same trees and the same scores.

Arcs that are in no feasible tree are dropped; the only candidate of a word is fixed, and factors
shrink by fixed arcs; factors that cannot fire are dropped and those over one set of arcs merged;
count factors shrink likewise (see `bbparse.solving.presolve.counts`); what the backbone scores by
itself is moved there. The result does not depend on the order in which the factors are given. Cost:
O(passes · (A · fixed arcs + total size of the factors)), one sort of the factors, and one of the
parts of each kind that factors are moved to.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ProblemError
from bbparse.problem import Problem
from bbparse.problem.parts import KINDS, PART_NAMES, Factors, take_sets
from bbparse.solving.presolve.classify import Holds, classify
from bbparse.solving.presolve.counts import reduce_counts
from bbparse.solving.presolve.kernels import reduce_problem

PART_KINDS = frozenset(KINDS)


@dataclass(frozen=True)
class PresolveInfo:
    """What presolve did.

    Attributes
    ----------
    arcs : int32[A']
        Index in the original problem of each arc of the presolved one, ascending.
    dropped_arcs, dropped_factors, merged_factors, moved_factors : int
        Arcs in no feasible tree; factors that cannot fire, weigh nothing or became part of arc
        scores; factors added to another over the same arcs; factors that became backbone parts.
    dropped_counts, merged_counts : int
        Count factors that score all trees alike or became arc scores; count factors added to
        another over the same arcs.
    infeasible : bool
        No feasible tree exists, and the presolved problem has no arc. (False does not say that
        one does.)
    """

    arcs: NDArray[np.int32]
    dropped_arcs: int = 0
    dropped_factors: int = 0
    merged_factors: int = 0
    moved_factors: int = 0
    dropped_counts: int = 0
    merged_counts: int = 0
    infeasible: bool = False

    def original_arcs(self, arcs: NDArray[np.int32]) -> NDArray[np.int32]:
        """Indices in the original problem of arcs of the presolved one; any shape."""
        return self.arcs[arcs]


def _with_parts(
    problem: Problem, kind: str, words: NDArray[np.int32], scores: NDArray[np.float64]
) -> dict[str, Any]:
    """Fields of the parts of one kind after more were added to them; no new one is there twice."""
    *columns, old = getattr(problem.parts, kind)
    base = problem.n_words + 2
    new_keys = np.zeros(len(words), dtype=np.int64)
    old_keys = np.zeros(len(columns[0]), dtype=np.int64)
    for i, column in enumerate(columns):
        new_keys = new_keys * base + (words[:, i] + 1)
        old_keys = old_keys * base + (column + 1)
    order = np.argsort(old_keys)
    place = np.searchsorted(old_keys, new_keys, sorter=order)
    found = np.zeros(len(words), dtype=np.bool_)
    inside = place < len(order)
    found[inside] = old_keys[order[place[inside]]] == new_keys[inside]
    total = old.copy()
    total[order[place[found]]] += scores[found]
    added = [*words[~found].T[: len(columns)], scores[~found]]
    return {
        name: np.concatenate(pair)
        for name, *pair in zip(PART_NAMES[kind], [*columns, total], added)
    }


def presolve(problem: Problem, backbone_holds: Collection[str]) -> tuple[Problem, PresolveInfo]:
    """A smaller problem with the same feasible trees and the same score for each of them.

    Parameters
    ----------
    problem : Problem
    backbone_holds : collection of str
        Kinds of part that the backbone scores by itself ("sib", "gc", "ogc", "gsib"): factors that
        equal such a part are moved there, unless arcs have labels or the weight is -inf.

    Returns
    -------
    presolved : Problem
        Its arcs are free (`arc_state` is all 0): what the states said is in the choice of arcs.
        The very problem that was given, if there is nothing to do. Without arcs where no
        feasible tree exists and that was found out.
    info : PresolveInfo
        Its `original_arcs` leads back to the problem that was given.

    Raises
    ------
    ProblemError
        If a kind of part is unknown.
    """
    unknown = set(backbone_holds) - PART_KINDS
    if unknown:
        raise ProblemError(
            f"backbone_holds names {min(unknown)!r}, expected some of"
            f" {', '.join(sorted(PART_KINDS))}"
        )
    p = problem
    n_arcs, n_factors, n_counts = len(p.arc_head), len(p.factor_score), len(p.count_ptr) - 1
    if not n_arcs:
        return problem, PresolveInfo(np.zeros(0, dtype=np.int32), infeasible=True)
    arcs, counts = p.arcs, None
    while True:
        feasible, same, alive, gain, constant, left, merged = reduce_problem(
            p.n_words, arcs, p.factors, p.projective, p.single_root
        )
        if not feasible or not len(p.count_arcs):
            break
        counts = reduce_counts(p, alive)
        feasible = counts.feasible
        if not feasible or counts.alive.sum() == alive.sum():
            break
        # The count factors ruled out more arcs, which may say more about all others.
        state = np.where(counts.alive, arcs.state, np.int8(-1))
        state.setflags(write=False)  # as that of the problem: kernels are compiled for either
        arcs = arcs._replace(state=state)
    if not feasible:
        nothing = Problem.trusted(
            p.n_words, p.arc_head[:0], p.arc_mod[:0], p.arc_score[:0],
            arc_label=None if p.arc_label is None else p.arc_label[:0],
            projective=p.projective, single_root=p.single_root, quantum=p.quantum,
        )  # fmt: skip
        return nothing, PresolveInfo(
            np.zeros(0, dtype=np.int32), n_arcs, n_factors,
            dropped_counts=n_counts, infeasible=True,
        )  # fmt: skip
    kept = np.flatnonzero(alive).astype(np.int32)
    ptr, factor_arcs, score = left
    kind = np.zeros(0, dtype=np.int8)
    renumber = np.cumsum(alive, dtype=np.int32) - np.int32(1)
    if not same:
        factor_arcs = renumber[factor_arcs]
    arc_head, arc_mod = p.arc_head[kept], p.arc_mod[kept]
    if backbone_holds and p.arc_label is None and len(score):
        kind, words = classify(
            p.n_words, arc_head, arc_mod, Factors(ptr, factor_arcs, score),
            Holds(*(name in backbone_holds for name in KINDS)),
        )  # fmt: skip
    moved = int(np.count_nonzero(kind))
    if same and not moved and (counts is None or counts.same_as(p)):
        return problem, PresolveInfo(kept)
    gain = gain[kept]
    if counts is not None:
        gain += counts.gain[kept]
        constant += counts.constant
    if constant:
        gain[arc_mod == 1] += constant
    changes: dict[str, Any] = {
        "arc_head": arc_head,
        "arc_mod": arc_mod,
        "arc_score": p.arc_score[kept] + gain,
        "arc_label": None if p.arc_label is None else p.arc_label[kept],
        "arc_state": np.zeros(len(kept), dtype=np.int8),
    }
    if moved:
        for code, name in enumerate(KINDS, start=1):
            chosen = kind == code
            if chosen.any():
                changes.update(_with_parts(p, name, words[chosen], score[chosen]))
        stay = kind == 0
        ptr, factor_arcs = take_sets(ptr, factor_arcs, stay)
        score = score[stay]
    changes.update(factor_ptr=ptr, factor_arcs=factor_arcs, factor_score=score)
    if counts is not None:
        changes.update(
            count_ptr=counts.ptr,
            count_arcs=renumber[counts.arcs],
            count_score_ptr=counts.ptr + np.arange(len(counts.ptr)),
            count_score=counts.scores,
        )
    info = PresolveInfo(
        kept,
        dropped_arcs=n_arcs - len(kept),
        dropped_factors=n_factors - len(score) - merged - moved,
        merged_factors=merged,
        moved_factors=moved,
        dropped_counts=0 if counts is None else n_counts - len(counts.ptr) + 1 - counts.merged,
        merged_counts=0 if counts is None else counts.merged,
    )
    return p.changed(**changes), info
