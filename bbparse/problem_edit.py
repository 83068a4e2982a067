"""Problems made from problems: more factors, fixed heads, forbidden arcs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from bbparse.errors import ProblemError
from bbparse.problem_check import as_count, as_floats, first_off_quantum

if TYPE_CHECKING:
    from bbparse.problem import Problem


def _arc_index(problem: Problem) -> dict[tuple[int, int], list[int]]:
    """Arc indices by (head, mod)."""
    index: dict[tuple[int, int], list[int]] = {}
    for a, pair in enumerate(zip(problem.arc_head.tolist(), problem.arc_mod.tolist())):
        index.setdefault(pair, []).append(a)
    return index


def _named_arcs(
    problem: Problem, index: dict[tuple[int, int], list[int]], place: str, arc: Any
) -> list[int]:
    """Indices of the candidate arcs that (head, mod) or (head, mod, label) names.

    Raises
    ------
    ProblemError
        If it can name no arc of a sentence of this length.
    """
    labelled = problem.arc_label is not None
    wanted = "(head, mod) or (head, mod, label)" if labelled else "(head, mod)"
    try:
        values = tuple(arc)
    except TypeError:
        values = ()
    if len(values) != 2 and not (labelled and len(values) == 3):
        raise ProblemError(f"{place} is {arc!r}, expected {wanted}")
    head = as_count(f"head of {place}", values[0], 0, problem.n_words)
    mod = as_count(f"mod of {place}", values[1], 1, problem.n_words)
    if head == mod:
        raise ProblemError(f"{place} is {arc!r}: word {mod} cannot be its own head")
    found = index.get((head, mod), [])
    if len(values) == 3 and problem.arc_label is not None:
        label = as_count(f"label of {place}", values[2], 0, np.iinfo(np.int32).max)
        found = [a for a in found if problem.arc_label[a] == label]
    return found


def _weight(place: str, value: Any) -> float:
    weight = float(as_floats(f"weight of {place}", value, ndim=0))
    if np.isnan(weight) or weight == np.inf:
        raise ProblemError(f"weight of {place} is {weight}, expected a finite number or -inf")
    return weight


def _combinations(problem: Problem, choices: list[list[int]]) -> Iterator[list[int]]:
    """Sets of arcs that take one arc of each choice and can be in one tree together.

    Arcs with different labels exclude each other, so at most one of these sets is in a tree.
    """
    for combination in product(*choices):
        arcs = sorted(set(combination))
        if len(np.unique(problem.arc_mod[arcs])) == len(arcs):
            yield arcs


def add_factors(
    problem: Problem, factors: Iterable[tuple[Sequence[Sequence[int]], float]]
) -> Problem:
    """See `Problem.with_factors`."""
    index = _arc_index(problem)
    arcs_of_new: list[list[int]] = []
    weights: list[float] = []
    arc_score = problem.arc_score.copy()
    arc_state = problem.arc_state.copy()
    quantum = problem.quantum
    for f, factor in enumerate(factors):
        place = f"factors[{f}]"
        try:
            named, value = factor
            named = list(named)
        except (TypeError, ValueError):
            raise ProblemError(f"{place} is {factor!r}, expected (arcs, weight)") from None
        weight = _weight(place, value)
        if not named:
            raise ProblemError(f"{place} names no arc")
        choices = [
            _named_arcs(problem, index, f"arc {i} of {place}", arc) for i, arc in enumerate(named)
        ]
        if len({tuple(arc) for arc in named}) < len(named):
            raise ProblemError(f"{place} names an arc twice: {named!r}")
        if quantum and first_off_quantum(np.array([weight]), quantum) == 0:
            quantum = 0.0
        for arcs in _combinations(problem, choices):
            if len(arcs) > 1:
                arcs_of_new.append(arcs)
                weights.append(weight)
            elif weight == -np.inf:
                _forbid(problem, arc_state, arcs[0], place)
            else:
                arc_score[arcs[0]] += weight
    lengths = np.array([len(arcs) for arcs in arcs_of_new], dtype=np.int64)
    end = problem.factor_ptr[-1:]
    new_arcs = np.array([a for arcs in arcs_of_new for a in arcs], dtype=np.int32)
    return problem._changed(
        arc_score=arc_score,
        arc_state=arc_state,
        factor_ptr=np.concatenate([problem.factor_ptr, end + np.cumsum(lengths)]),
        factor_arcs=np.concatenate([problem.factor_arcs, new_arcs]),
        factor_score=np.concatenate([problem.factor_score, np.array(weights, dtype=np.float64)]),
        quantum=quantum,
    )


def _forbid(problem: Problem, arc_state: Any, arc: int, place: str) -> None:
    if arc_state[arc] == 1:
        raise ProblemError(
            f"{place} forbids the arc {problem.arc_head[arc]} -> {problem.arc_mod[arc]},"
            " which is required"
        )
    arc_state[arc] = -1


def fix_heads(problem: Problem, heads: Mapping[int, int]) -> Problem:
    """See `Problem.with_heads`."""
    index = _arc_index(problem)
    state = problem.arc_state.copy()
    for mod, head in heads.items():
        place = f"heads[{mod!r}]"
        arcs = _named_arcs(problem, index, f"arc of {place}", (head, mod))
        if not arcs:
            raise ProblemError(f"{place} is {head}: no candidate arc {head} -> {mod}")
        allowed = [a for a in arcs if state[a] != -1]
        if not allowed:
            raise ProblemError(f"{place} is {head}: the arc {head} -> {mod} is forbidden")
        rivals = np.flatnonzero((problem.arc_mod == mod) & (problem.arc_head != head))
        required = rivals[state[rivals] == 1]
        if len(required):
            raise ProblemError(
                f"{place} is {head}: the head of word {mod} is required to be"
                f" {problem.arc_head[required[0]]}"
            )
        state[rivals] = -1
        # Which of several labels the arc has stays open.
        if len(allowed) == 1:
            state[allowed[0]] = 1
    return problem._changed(arc_state=state)


def forbid_arcs(problem: Problem, arcs: Iterable[Sequence[int]]) -> Problem:
    """See `Problem.without_arcs`."""
    index = _arc_index(problem)
    state = problem.arc_state.copy()
    for i, arc in enumerate(arcs):
        for a in _named_arcs(problem, index, f"arcs[{i}]", arc):
            _forbid(problem, state, a, f"arcs[{i}]")
    return problem._changed(arc_state=state)
