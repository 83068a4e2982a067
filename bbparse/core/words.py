"""Arcs and constraints in words, for messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bbparse.core.parts import Constraint, ProblemArrays
from bbparse.runtime.arrays import Flags

#: Maximum number of arcs that a message names one by one.
_MOST_NAMED = 6


def head_name(word: int) -> str:
    """Name a head."""
    return str(word) if word else "root"


def listed(noun: str, items: Iterable[int | str]) -> str:
    """Join items as in `word 3`, `words 3 and 4`, `words 3, 4 and 9`."""
    names = [str(item) for item in items]
    if len(names) == 1:
        return f"{noun} {names[0]}"
    return f"{noun}s {', '.join(names[:-1])} and {names[-1]}"


def arc_names(p: ProblemArrays, arcs: Sequence[int]) -> str:
    """Name candidate arcs as in `the arcs 2 -> 1 and 2 -> 5`."""
    columns = [p.arc_head, p.arc_mod, *([] if p.arc_label is None else [p.arc_label])]
    return named_arc_names([tuple([int(column[a]) for column in columns]) for a in arcs])


def named_arc_names(arcs: Sequence[Sequence[int]]) -> str:
    """Name arcs (head, mod) or (head, mod, label)."""
    names = []
    for head, mod, *label in arcs[: _MOST_NAMED if len(arcs) > _MOST_NAMED + 1 else None]:
        names.append(f"{head} -> {mod}" + (f" (label {label[0]})" if label else ""))
    if len(names) < len(arcs):
        names.append(f"{len(arcs) - len(names)} more")
    return f"the {listed('arc', names)}"


def range_name(low: int, high: int | None) -> str:
    """Name the numbers low to high; None: no maximum."""
    if high is None:
        return f"at least {low}"
    if high == 0:
        return "no"
    if low == high:
        return f"exactly {low}"
    return f"{low} to {high}" if low else f"at most {high}"


def number_of_modifiers(word: int, number: str, what: str = "") -> str:
    """Say how many modifiers a word must have."""
    plural = "" if number.endswith(" 1") else "s"
    return f"{f'word {word}' if word else 'the root'} must have {number} modifier{plural}{what}"


def numbers_of_arcs(p: ProblemArrays, arcs: Sequence[int], number: str) -> str:
    """Say how many of some arcs must be in the tree."""
    if not len(arcs):
        return f"{number} of arcs that are no candidates must be in the tree"
    if number == "no" or len(arcs) == 1:
        return f"{arc_names(p, arcs)} must{' not' if number == 'no' else ''} be in the tree"
    return f"{number} of {arc_names(p, arcs)} must be in the tree"


def forbidden_arcs(p: ProblemArrays, chosen: Flags) -> list[Constraint]:
    """Return a constraint for each pair of words of forbidden arcs, or for each label of them."""
    found: dict[tuple[int, int], list[int]] = {}
    for a in chosen.nonzero()[0].tolist():
        found.setdefault((int(p.arc_mod[a]), int(p.arc_head[a])), []).append(a)
    constraints = []
    for (m, head), arcs in sorted(found.items()):
        text = f"word {m} must not have the head {head_name(head)}"
        labels = p.arc_label
        if labels is None or len(arcs) == ((p.arc_head == head) & (p.arc_mod == m)).sum():
            constraints.append(Constraint("arc", text, tuple([(a, -1) for a in arcs])))
        else:
            constraints += [
                Constraint("arc", f"{text} with label {labels[a]}", ((a, -1),)) for a in arcs
            ]
    return constraints
