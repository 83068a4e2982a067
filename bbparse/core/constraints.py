"""Constraints and scores that depend on the number of arcs of a set in the tree.

All of them are count factors (see `Problem`): a set of arcs and a score for each number of them,
-inf for a number that is not allowed. Valencies, "at most one of these", constituents and the
polynomial factors of QL13 §5.1 are of this kind. The functions named with… are methods of
`Problem`.

Arcs are given as for `Problem.with_factors`: (head, mod), or (head, mod, label) if arcs have
labels; without a label they stand for all labels. An arc that is not a candidate is never counted.
Constraints that no tree satisfies are not an error: `solve` returns that the problem is infeasible.
(Only direct contradictions are refused: a second head, forbidding a required arc.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bbparse.core.check import MAX_SCORE, as_count, as_floats, check_scores, common_quantum
from bbparse.core.edit import (
    P,
    arc_index,
    as_weight,
    forbid_arc,
    named_arcs,
    named_set,
    names_with,
    with_sets,
)
from bbparse.core.parts import Constraint, ProblemArrays
from bbparse.core.words import listed, number_of_modifiers, numbers_of_arcs, range_name
from bbparse.runtime.arrays import Flags, Float64s
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_type

_MAX_SETS = 200_000
_MAX_INT = int(np.iinfo(np.int32).max)


def _candidates(problem: ProblemArrays, arcs: Iterable[Sequence[int]]) -> tuple[list[int], int]:
    """Return the indices of the candidates that arcs name, and the number of named arcs."""
    check_type("arcs", arcs, Iterable, "arcs", ProblemError)
    named = list(arcs)
    choices = named_set(problem, arc_index(problem), named, "arcs", "arcs[{}]")
    return list(dict.fromkeys(chain(*choices))), len(named)


def _with_table(
    problem: P,
    arcs: Sequence[int],
    scores: Float64s,
    text: str = "",
    states: tuple[tuple[int, int], ...] = (),
) -> P:
    """Return the problem with one more count factor; its last score stands for larger numbers.

    A `text` names it, and what the arc `states` say, as a constraint.
    """
    table = scores[np.minimum(np.arange(len(arcs) + 1), len(scores) - 1)]
    if not len(problem.arc_head) or not table.any():
        return problem
    quantum = common_quantum(problem.quantum, table)
    if not len(arcs):  # what every tree scores, whichever set of arcs says so
        arcs, table = [0], np.full(2, table[0])
    named = problem.named
    if text:
        place = len(problem.count_ptr) - 1
        named = names_with(problem, [Constraint("count", text, states, (place,))])
    extended = with_sets(problem, "count", [(arcs, table)])
    return extended.changed(quantum=quantum, named=named)


def _with_bounds(
    problem: P,
    arcs: Sequence[int],
    low: int,
    high: int,
    text: str,
    states: tuple[tuple[int, int], ...] = (),
) -> P:
    """Return the problem with low to high of these arcs in the tree; `text` says so."""
    low, high = min(low, len(arcs) + 1), min(high, len(arcs))
    scores = np.full(high + 2, -np.inf)
    scores[low : high + 1] = 0.0
    return _with_table(problem, arcs, scores, text, states)


def with_count_scores(problem: P, arcs: Iterable[Sequence[int]], scores: ArrayLike) -> P:
    """Return this problem with a score for each number of these arcs in the tree.

    Parameters
    ----------
    arcs : iterable of (head, mod) or (head, mod, label)
    scores : float[number of arcs + 1]
        scores[k] is added if exactly k of them are in the tree; -inf forbids that number.

    Raises
    ------
    ProblemError
        If there are no arcs, an arc occurs twice, or the number of scores does not fit.
    """
    candidates, n_named = _candidates(problem, arcs)
    table = as_floats("scores", scores)
    if len(table) != n_named + 1:
        raise ProblemError(
            f"scores has {len(table)} elements, expected {n_named + 1}: one for each number of the"
            f" {n_named} arcs, from 0"
        )
    check_scores("scores", table, allow_minus_inf=True)
    return _with_table(problem, candidates, table)


def with_at_most(problem: P, arcs: Iterable[Sequence[int]], k: int = 1) -> P:
    """Return this problem with at most k of these arcs in the tree."""
    candidates, _ = _candidates(problem, arcs)
    text = numbers_of_arcs(problem, candidates, range_name(0, as_count("k", k, 0, _MAX_INT)))
    return _with_bounds(problem, candidates, 0, k, text)


def with_at_least(problem: P, arcs: Iterable[Sequence[int]], k: int = 1) -> P:
    """Return this problem with at least k of these arcs in the tree."""
    candidates, _ = _candidates(problem, arcs)
    text = numbers_of_arcs(problem, candidates, range_name(as_count("k", k, 0, _MAX_INT), None))
    return _with_bounds(problem, candidates, k, _MAX_INT, text)


def with_any(problem: P, sets: Iterable[Iterable[Sequence[int]]]) -> P:
    """Return this problem with all arcs of at least one of these sets in the tree.

    Words have one head each, so a decision tree over heads says which combinations of arcs leave no
    set: they become factors that forbid them, and single arcs become forbidden.

    Parameters
    ----------
    sets : iterable of sets of (head, mod) or (head, mod, label)
        A set with an arc that is not a candidate is never in the tree; an empty one always is.

    Raises
    ------
    ProblemError
        If an arc is invalid, or the sets leave more than 200,000 combinations to forbid.
    """
    check_type("sets", sets, Iterable, "sets of arcs", ProblemError)
    p, mod, left = problem, problem.arc_mod.tolist(), set[frozenset[int]]()
    index, n_sets = arc_index(p), 0
    for i, arcs in enumerate(sets):
        n_sets += 1
        check_type(f"sets[{i}]", arcs, Iterable, "arcs", ProblemError)
        named = list(arcs)
        places = [f"sets[{i}][{j}]" for j in range(len(named))]
        choices = [named_arcs(p, index, place, arc) for place, arc in zip(places, named)]
        usable = [[a for a in own if p.arc_state[a] != -1] for own in choices]
        combinations = map(frozenset, product(*usable))
        left |= {arcs for arcs in combinations if len({mod[a] for a in arcs}) == len(arcs)}
    into: dict[int, list[int]] = {}
    for a, m in enumerate(mod):
        if p.arc_state[a] != -1:
            into.setdefault(m, []).append(a)
    forbidden = list[tuple[int, ...]]()
    stack: list[tuple[tuple[int, ...], set[frozenset[int]]]] = [((), left)]
    while stack:
        chosen, open_sets = stack.pop()
        if not open_sets:
            forbidden.append(chosen)
            if len(forbidden) > _MAX_SETS:
                raise ProblemError(f"sets leave more than {_MAX_SETS:,} combinations to forbid")
        elif frozenset() not in open_sets:
            # the word that most sets have an arc into; the first of several
            words = Counter(m for arcs in open_sets for m in {mod[a] for a in arcs})
            word = min(words, key=lambda m: (-words[m], m))
            arcs_into = {*into[word]}
            free = {arcs for arcs in open_sets if not arcs & arcs_into}
            for a in into[word]:
                rest = {arcs - {a} for arcs in open_sets if a in arcs}
                stack.append(((*chosen, a), rest | free))
    single = [a for a, *others in filter(None, forbidden) if not others]
    text = f"the tree has one of {n_sets} sets of arcs"
    if () in forbidden or (p.arc_state[single] == 1).any():
        return _with_bounds(p, [], 1, 1, text)
    state, first = p.arc_state.copy(), len(p.factor_ptr) - 1
    state[single] = -1
    factors = [(sorted(arcs), [-np.inf]) for arcs in forbidden if len(arcs) > 1]
    numbers = tuple(range(first, first + len(factors)))
    said = Constraint("factor", text, tuple([(a, -1) for a in single]), (), numbers)
    p = with_sets(p.changed(named=names_with(p, [said])), "factor", factors)
    return p.changed(arc_state=state, named=p.named)


def with_valency(
    problem: P,
    head: int | Iterable[int],
    low: int = 0,
    high: int | None = None,
    *,
    side: Literal["left", "right"] | None = None,
    label: int | None = None,
) -> P:
    """Return this problem with limits on the number of modifiers of one or several words.

    Parameters
    ----------
    head : int or iterable of int
        A word (0 for the root), or several.
    low, high : int
        Minimum and maximum number of modifiers; None: no maximum.
    side : {"left", "right"}, optional
        Count only the modifiers on this side of the head.
    label : int, optional
        Count only the modifiers with this label. For at most one subject per verb:
        `with_valency(verbs, high=1, label=subject)`.

    Raises
    ------
    ProblemError
        If low > high, or if a label is given and arcs have no labels.
    """
    low = as_count("low", low, 0, _MAX_INT)
    most = _MAX_INT if high is None else as_count("high", high, 0, _MAX_INT)
    if low > most:
        raise ProblemError(f"low is {low}, expected at most high = {most}")
    if side not in (None, "left", "right"):
        raise ProblemError(f"side is {side!r}, expected 'left' or 'right'")
    fits = np.ones(len(problem.arc_head), np.bool_)
    if label is not None:
        if problem.arc_label is None:
            raise ProblemError(f"label is {label!r}, but the arcs have no labels")
        fits = problem.arc_label == as_count("label", label, 0, _MAX_INT)
    what = f" to the {side}" if side else ""
    what += f" with label {label}" if label is not None else ""
    for word in _words(problem, head):
        chosen = fits & (problem.arc_head == word)
        if side is not None:
            chosen &= (problem.arc_mod < word) == (side == "left")
        text = number_of_modifiers(word, range_name(low, high), what)
        problem = _with_bounds(problem, np.flatnonzero(chosen).tolist(), low, most, text)
    return problem


def _words(problem: ProblemArrays, head: int | Iterable[int]) -> list[int]:
    """Return one word as a list, and several as they are."""
    if not np.iterable(head) or isinstance(head, str | bytes):
        return [as_count("head", head, 0, problem.n_words)]
    return [as_count(f"head[{i}]", h, 0, problem.n_words) for i, h in enumerate(head)]


def with_subtree(
    problem: P, words: Iterable[int], *, complete: bool = True, weight: float | None = None
) -> P:
    """Return this problem with the constraint that some words form a connected subtree.

    They do if exactly one of them has its head outside.

    Parameters
    ----------
    words : iterable of int
        Any words, adjacent or not.
    complete : bool
        No other word attaches to them, as in a constituent: arcs from them to other words are
        forbidden.
    weight : float, optional
        Weight (at least 0) of a soft constraint: the cost of each arc into the words beyond the
        first one, and with ``complete`` of each arc out of them. By default such arcs are
        forbidden.

    Raises
    ------
    ProblemError
        If there are no words, the weight is invalid, or an arc to be forbidden is required.
    """
    p = problem
    inside = _word_mask(p, "words", words)
    if not inside.any():
        raise ProblemError("words is empty, expected at least one word")
    from_inside, into = inside[p.arc_head], inside[p.arc_mod]
    if weight is not None:
        cost = as_weight("weight", weight)
        if not 0.0 <= cost:
            raise ProblemError(f"weight is {weight}, expected at least 0")
        # Not added to the scores of arcs, whose digits a large weight would swallow.
        for fits, free in ((~from_inside & into, 1), (from_inside & ~into & complete, 0)):
            arcs = np.flatnonzero(fits).tolist()
            if cost * len(arcs) > MAX_SCORE:
                raise ProblemError(
                    f"weight is {weight}, expected at most {MAX_SCORE / len(arcs):g} for"
                    f" {len(arcs)} arcs"
                )
            table = 0.0 - cost * np.maximum(np.arange(len(arcs) + 1) - free, 0)
            p = _with_table(p, arcs, table)
        return p
    state = p.arc_state.copy()
    leaving = np.flatnonzero(from_inside & ~into & complete).tolist()
    for a in leaving:
        forbid_arc(p, state, a, "words")
    entering = np.flatnonzero(~from_inside & into).tolist()
    kind = "a complete subtree" if complete else "a subtree"
    text = f"the {listed('word', np.flatnonzero(inside).tolist())} must form {kind}"
    p = p.changed(arc_state=state, named=names_with(p, ()))
    return _with_bounds(p, entering, 1, 1, text, tuple([(a, -1) for a in leaving]))


def _word_mask(problem: ProblemArrays, name: str, words: Iterable[int]) -> Flags:
    """Return which of the root and the words 1..n are among `words`: bool[n + 1]."""
    check_type(name, words, Iterable, "words", ProblemError)
    mask = np.zeros(problem.n_words + 1, dtype=np.bool_)
    for i, word in enumerate(words):
        mask[as_count(f"{name}[{i}]", word, 1, problem.n_words)] = True
    return mask
