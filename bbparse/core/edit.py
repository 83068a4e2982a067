"""Changed copies of problems: more factors, fixed heads, forbidden arcs.

The functions named with… and without… are methods of `Problem`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np

from bbparse.core.check import MAX_SCORE, as_count, as_floats, common_quantum, is_score
from bbparse.core.parts import Constraint, ProblemArrays, SetRow, set_fields
from bbparse.core.words import forbidden_arcs, head_name, named_arc_names
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_type

P = TypeVar("P", bound=ProblemArrays)


def arc_index(problem: ProblemArrays) -> dict[tuple[int, int], list[int]]:
    """Return arc indices by (head, mod)."""
    index: dict[tuple[int, int], list[int]] = {}
    for a, pair in enumerate(zip(problem.arc_head.tolist(), problem.arc_mod.tolist())):
        index.setdefault(pair, []).append(a)
    return index


def named_arcs(
    problem: ProblemArrays, index: dict[tuple[int, int], list[int]], place: str, arc: Any
) -> list[int]:
    """Return the indices of the candidate arcs that (head, mod) or (head, mod, label) names."""
    labelled = problem.arc_label is not None
    expected = "(head, mod) or (head, mod, label)" if labelled else "(head, mod)"
    try:
        values = tuple(arc)
    except TypeError:
        values = ()
    if len(values) != 2 and not (labelled and len(values) == 3):
        raise ProblemError(f"{place} is {arc!r}, expected {expected}")
    head = as_count(f"head of {place}", values[0], 0, problem.n_words)
    mod = as_count(f"mod of {place}", values[1], 1, problem.n_words)
    if head == mod:
        raise ProblemError(f"{place} is {arc!r}: word {mod} cannot be its own head")
    candidates = index.get((head, mod), [])
    if len(values) == 3 and problem.arc_label is not None:
        label = as_count(f"label of {place}", values[2], 0, np.iinfo(np.int32).max)
        candidates = [a for a in candidates if problem.arc_label[a] == label]
    return candidates


def named_set(
    problem: ProblemArrays,
    index: dict[tuple[int, int], list[int]],
    arcs: list[Any],
    place: str,
    each: str,
) -> list[list[int]]:
    """Return `named_arcs` of each arc of a set; ``each`` formats their places."""
    if not arcs:
        raise ProblemError(f"{place} names no arc")
    choices = [named_arcs(problem, index, each.format(i), arc) for i, arc in enumerate(arcs)]
    if len({tuple(arc) for arc in arcs}) < len(arcs):
        raise ProblemError(f"{place} names an arc twice: {arcs!r}")
    return choices


def as_weight(name: str, value: Any) -> float:
    """Return `value` as a finite number or -inf; ProblemError otherwise."""
    weight = as_floats(name, value, ndim=0)
    if not is_score(weight):
        raise ProblemError(
            f"{name} is {weight}, expected -inf or a number of magnitude <= {MAX_SCORE:g}"
        )
    return float(weight)


def _combinations(problem: ProblemArrays, choices: list[list[int]]) -> Iterator[list[int]]:
    """Yield the sets with one arc of each choice that can be in one tree; at most one set is."""
    for combination in product(*choices):
        arcs = sorted(set(combination))
        if len(np.unique(problem.arc_mod[arcs])) == len(arcs):
            yield arcs


def with_factors(problem: P, factors: Iterable[tuple[Sequence[Sequence[int]], float]]) -> P:
    """Return this problem with more factors.

    Parameters
    ----------
    factors : iterable of (arcs, weight)
        Arcs are (head, mod), or (head, mod, label) if arcs have labels; the weight is finite or
        -inf. In a problem with labels, (head, mod) stands for all labels. A factor with an arc that
        is not a candidate never fires and is dropped. A factor of one arc adds to the score of the
        arc (where the sum would lose digits, it becomes a count factor), or forbids it if the
        weight is -inf. A weight that is no multiple of the ``quantum`` sets that to 0.

    Raises
    ------
    ProblemError
        If a factor is invalid; the message has its index in `factors`.
    """
    check_type("factors", factors, Iterable, "pairs of (arcs, weight)", ProblemError)
    index = arc_index(problem)
    rows: list[SetRow] = []
    counts: list[SetRow] = []
    added: list[Constraint] = []
    arc_score = problem.arc_score.copy()
    arc_state = problem.arc_state.copy()
    quantum = problem.quantum
    for f, factor in enumerate(factors):
        place = f"factors[{f}]"
        try:
            arcs_named, value = factor
            named = list(arcs_named)
        except (TypeError, ValueError):
            raise ProblemError(f"{place} is {factor!r}, expected (arcs, weight)") from None
        weight = as_weight(f"weight of {place}", value)
        choices = named_set(problem, index, named, place, f"arc {{}} of {place}")
        quantum = common_quantum(quantum, np.array([weight]))
        first, forbidden = len(problem.factor_score) + len(rows), np.zeros_like(arc_state, np.bool_)
        for arcs in _combinations(problem, choices):
            if len(arcs) > 1:
                rows.append((arcs, [weight]))
            elif weight == -np.inf:
                forbid_arc(problem, arc_state, arcs[0], place)
                forbidden[arcs] = True
            elif _keeps_digits(float(arc_score[arcs[0]]), weight):
                arc_score[arcs[0]] += weight
            else:
                counts.append((arcs, [0.0, weight]))
        if weight == -np.inf:
            added += forbidden_arcs(problem, forbidden)
            places = range(first, len(problem.factor_score) + len(rows))
            if places:
                text = f"{named_arc_names(named)} must not be in the tree together"
                added.append(Constraint("factor", text, factors=tuple(places)))
    quantum = common_quantum(quantum, arc_score)
    extended = with_sets(with_sets(problem, "factor", rows), "count", counts)
    named_all = names_with(problem, added) if added else problem.named
    return extended.changed(
        arc_score=arc_score, arc_state=arc_state, quantum=quantum, named=named_all
    )


def _keeps_digits(score: float, weight: float) -> bool:
    """Return True if the sum of two scores is as exact as the smaller one is by itself."""
    total = score + weight
    part = total - score
    error = (score - (total - part)) + (weight - part)  # Knuth's TwoSum
    return abs(error) <= 2.0**-50 * min(abs(score), abs(weight)) and abs(total) <= MAX_SCORE


def names_with(problem: ProblemArrays, added: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Return the named constraints of a problem and more; the first is what it had before."""
    known = problem.named
    if not known:
        held = np.flatnonzero(problem.arc_state).tolist()
        known = (Constraint("", "", tuple([(a, int(problem.arc_state[a])) for a in held])),)
    return (*known, *added)


def with_sets(p: P, kind: str, rows: Sequence[SetRow]) -> P:
    """Return the problem with more factors or count factors (`set_fields`), without checks."""
    changes = {}
    for name, added in set_fields(kind, rows).items():
        existing = getattr(p, name)
        changes[name] = np.append(existing, added[1:] + existing[-1] if "ptr" in name else added)
    return p.changed(named=p.named, **changes)


def forbid_arc(problem: ProblemArrays, arc_state: Any, arc: int, place: str) -> None:
    """Forbid an arc in `arc_state`; ProblemError, naming `place`, if it is required."""
    if arc_state[arc] == 1:
        raise ProblemError(
            f"{place} forbids the arc {problem.arc_head[arc]} -> {problem.arc_mod[arc]},"
            " which is required"
        )
    arc_state[arc] = -1


def with_heads(problem: P, heads: Mapping[int, int]) -> P:
    """Return this problem with fixed heads for some words: {modifier: head}.

    Raises
    ------
    ProblemError
        If an arc is not a candidate or is forbidden, or if another head is already required.
    """
    if not isinstance(heads, Mapping):
        raise ProblemError(f"heads is {heads!r}, expected {{modifier: head}}")
    index = arc_index(problem)
    state = problem.arc_state.copy()
    added: list[Constraint] = []
    for mod, head in heads.items():
        place = f"heads[{mod!r}]"
        arcs = named_arcs(problem, index, f"arc of {place}", (head, mod))
        if not arcs:
            raise ProblemError(f"{place} is {head}: no candidate arc {head} -> {mod}")
        rivals = np.flatnonzero((problem.arc_mod == mod) & (problem.arc_head != head))
        required = rivals[state[rivals] == 1]
        if len(required):
            raise ProblemError(
                f"{place} is {head}: the head of word {mod} is required to be"
                f" {problem.arc_head[required[0]]}"
            )
        allowed = [a for a in arcs if state[a] != -1]
        if not allowed:
            raise ProblemError(f"{place} is {head}: the arc {head} -> {mod} is forbidden")
        state[rivals] = -1
        # Of several labels, any may be chosen.
        if len(allowed) == 1:
            state[allowed[0]] = 1
        states = [(a, -1) for a in rivals.tolist()] + [(a, 1) for a in arcs if len(arcs) == 1]
        text = f"word {mod} must have the head {head_name(head)}"
        added.append(Constraint("head", text, tuple(states)))
    return problem.changed(arc_state=state, named=names_with(problem, added))


def without_arcs(problem: P, arcs: Iterable[Sequence[int]]) -> P:
    """Return this problem with some arcs forbidden: (head, mod) or (head, mod, label) each.

    Arcs that are not candidates are ignored.

    Raises
    ------
    ProblemError
        If an arc does not join two words of the sentence, or is required.
    """
    check_type("arcs", arcs, Iterable, "arcs", ProblemError)
    index = arc_index(problem)
    state, chosen = problem.arc_state.copy(), np.zeros(len(problem.arc_state), np.bool_)
    for i, arc in enumerate(arcs):
        for a in named_arcs(problem, index, f"arcs[{i}]", arc):
            forbid_arc(problem, state, a, f"arcs[{i}]")
            chosen[a] = True
    named = names_with(problem, forbidden_arcs(problem, chosen))
    return problem.changed(arc_state=state, named=named)
