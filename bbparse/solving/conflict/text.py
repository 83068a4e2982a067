"""Constraints in words: what `bbparse.solving.conflict` finds, as a person would put it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem

ONE_ROOT = "only one word may hang from the root (single_root)"
CROSSING = "arcs must not cross (projective)"

#: More arcs than this are not named one by one.
_MOST_NAMED = 6


def listed(noun: str, items: Iterable[int | str]) -> str:
    """`word 3`, `words 3 and 4`, `words 3, 4 and 9`."""
    names = [str(item) for item in items]
    if len(names) == 1:
        return f"{noun} {names[0]}"
    return f"{noun}s {', '.join(names[:-1])} and {names[-1]}"


def describe_arcs(problem: Problem, arcs: NDArray[np.int32]) -> str:
    """`the arcs 2 -> 1 and 2 -> 5`."""
    p = problem
    names = []
    for a in arcs[: _MOST_NAMED if len(arcs) > _MOST_NAMED + 1 else None]:
        label = "" if p.arc_label is None else f" (label {p.arc_label[a]})"
        names.append(f"{p.arc_head[a]} -> {p.arc_mod[a]}{label}")
    if len(names) < len(arcs):
        names.append(f"{len(arcs) - len(names)} more")
    return f"the {listed('arc', names)}"


def describe_count(problem: Problem, c: int) -> str:
    """What count factor c demands of the number of its arcs: `word 3 must have at most 2
    modifiers`, `words 2, 3 and 4 must be connected`, `at least 1 of the arcs … must be in the
    tree`."""
    p = problem
    arcs = p.count_arcs[p.count_ptr[c] : p.count_ptr[c + 1]]
    scores = p.count_score[p.count_score_ptr[c] : p.count_score_ptr[c + 1]]
    allowed = np.flatnonzero(scores > -np.inf).tolist()
    chosen = np.zeros(len(p.arc_head), dtype=np.bool_)
    chosen[arcs] = True
    words = np.unique(p.arc_mod[arcs])
    if allowed == [1] and np.array_equal(chosen, _entering(p, words)):
        return f"{listed('word', words)} must be connected"
    number = _number(allowed, len(arcs))
    whole = _modifiers_of(p, chosen)
    if not number:
        what = f"modifiers of {whole[0]}{whole[1]}" if whole else describe_arcs(p, arcs)
        return f"no number of {what} will do, as when more are asked for than there are candidates"
    if whole:
        if allowed == [0]:
            return f"{whole[0]} must have no modifiers{whole[1]}"
        noun = "modifier" if number.endswith(" 1") else "modifiers"
        return f"{whole[0]} must have {number} {noun}{whole[1]}"
    if allowed == [0]:
        return f"{describe_arcs(p, arcs)} must not be in the tree"
    return f"{number} of {describe_arcs(p, arcs)} must be in the tree"


def _number(allowed: list[int], most: int) -> str:
    """The allowed ones of the numbers 0..most; "" if there are none."""
    if not allowed:
        return ""
    low, high = allowed[0], allowed[-1]
    if len(allowed) <= high - low:
        return " or ".join(str(k) for k in allowed)
    if low == 0:
        return f"at most {high}"
    if high == most:
        return f"at least {low}"
    return f"exactly {low}" if low == high else f"{low} to {high}"


def _entering(problem: Problem, words: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Arcs into these words from elsewhere."""
    inside = np.zeros(problem.n_words + 1, dtype=np.bool_)
    inside[words] = True
    return ~inside[problem.arc_head] & inside[problem.arc_mod]


def _modifiers_of(problem: Problem, chosen: NDArray[np.bool_]) -> tuple[str, str] | None:
    """(head, which modifiers) where the chosen arcs are all arcs of a head that are of a kind."""
    p = problem
    heads = np.unique(p.arc_head[chosen])
    if len(heads) > 1:
        return None
    head = int(heads[0])
    name = f"word {head}" if head else "the root"
    of_head = p.arc_head == head
    sides = (
        (np.ones(len(of_head), dtype=np.bool_), ""),
        (p.arc_mod < head, " to its left"),
        (p.arc_mod > head, " to its right"),
    )
    labels = [(np.ones(len(of_head), dtype=np.bool_), "")]
    if p.arc_label is not None:
        labels += [(p.arc_label == x, f" with label {x}") for x in np.unique(p.arc_label[chosen])]
    for label, label_text in labels:
        for side, side_text in sides:
            if np.array_equal(chosen, of_head & side & label):
                return name, label_text + side_text
    return None
