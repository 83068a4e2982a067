"""Infeasible problems: an irreducible set of constraints that no tree satisfies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import set_fields, set_rows
from bbparse.inference.trees import Options, find_trees
from bbparse.runtime.arrays import Flags, Ints
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import Range, check_number, check_options, check_type

T = TypeVar("T")

#: Maximum number of search nodes of all feasibility tests together, and of a single test.
NODE_LIMIT = 5000
_ONE_SEARCH = 1000
#: Maximum number of arcs that a message names one by one.
_MOST_NAMED = 6


class Constraint(NamedTuple):
    """A constraint that can be removed from a problem.

    ``kind`` is "head" (states of a word's arcs that leave it at most one head), "arc" (other
    forbidden arcs), "count", "factor", "root" (`single_root`) or "crossing" (`projective`).
    """

    kind: str
    arcs: tuple[int, ...] = ()
    place: int = -1  # of a factor or count factor


#: Order of preference: of two constraints that will do, the earlier one is told. Flags are last, as
#: every problem has them. Then: order in messages.
_PREFERRED = ("arc", "factor", "count", "head", "crossing", "root")
_TELLING = ("head", "arc", "count", "factor", "root", "crossing")


def explain_infeasible(
    problem: Problem, *, time_limit: float | None = None, node_limit: int = NODE_LIMIT
) -> list[str]:
    """Explain in words why a problem has no tree.

    Parameters
    ----------
    problem : Problem
        The infeasible problem.
    time_limit : float, optional
        Time limit in seconds.
    node_limit : int
        Maximum number of search nodes of all searches together; each search takes at least one.

    Returns
    -------
    list of str
        One line for each constraint of an irreducible infeasible subset: required and forbidden
        arcs, factors of weight -inf, count factors with scores of -inf, the single root, no
        crossing arcs. Without any one of them there is a tree, unless a limit was reached. The list
        is empty if the problem has a tree, or if a limit was reached before infeasibility was
        proved.

    Raises
    ------
    ProblemError
        If an argument is impossible.

    Notes
    -----
    The constraints are halved again and again (QuickXplain, Junker 2004), which takes about
    2 k log(N / k) searches for k out of N constraints. This is done in two orders, and the smaller
    result is returned. It is irreducible, but not necessarily of minimum size.
    """
    check_type("problem", problem, Problem, "a Problem", ProblemError)
    check_options({"time_limit": time_limit}, ProblemError)
    check_number("node_limit", node_limit, Range(0), ProblemError)
    lost = _unreachable(problem)
    if lost:
        return [f"no candidate arcs lead from the root to {listed('word', lost)}"]
    conflict = find_conflict(problem, time_limit, node_limit)
    conflict.sort(key=lambda c: (_TELLING.index(c.kind), c.arcs, c.place))
    return [_describe(problem, constraint) for constraint in conflict]


def find_conflict(
    problem: Problem, time_limit: float | None = None, node_limit: int = NODE_LIMIT
) -> list[Constraint]:
    """Return the conflict that `explain_infeasible` describes, if all words can be reached."""
    deadline = Deadline.after(time_limit)
    nodes = node_limit

    def impossible(kept: list[Constraint]) -> bool:
        """Return True if it is proved, within the limits, that no tree satisfies these."""
        nonlocal nodes
        if nodes <= 0 or deadline.is_over():
            return False
        options = Options(time_limit=deadline.limit(), node_limit=min(nodes, _ONE_SEARCH))
        found = find_trees(relaxed(problem, kept), "bb", options)
        nodes -= max(1, int(found.stats.get("nodes", 0)))
        return found.status == "infeasible"

    constraints = sorted(constraints_of(problem), key=lambda c: _PREFERRED.index(c.kind))
    if not impossible(constraints):
        return []
    conflict = smallest(constraints, impossible)
    if len(conflict) > 2:
        conflict = min(conflict, smallest(constraints[::-1], impossible), key=len)
    return conflict


def smallest(
    items: list[T], holds: Callable[[list[T]], bool], needed: Sequence[T] = ()
) -> list[T]:
    """Return a minimal part of a list that has a property, together with what else is ``needed``.

    The whole list has it, nothing of the list has not, and lists keep it with more items. Of parts
    that will do, earlier items are preferred (QuickXplain, Junker 2004).
    """
    if len(items) < 2:
        return items
    first, second = items[: len(items) // 2], items[len(items) // 2 :]
    if holds([*needed, *first]):
        return smallest(first, holds, needed)
    late = smallest(second, holds, [*needed, *first])
    if holds([*needed, *late]):
        return late
    return smallest(first, holds, [*needed, *late]) + late


def _unreachable(problem: Problem) -> list[int]:
    """Return the words without a path of candidate arcs from the root.

    If there are none, and no constraints, the problem has a tree.
    """
    reached = np.zeros(problem.n_words + 1, dtype=np.bool_)
    reached[0] = True
    for _ in range(problem.n_words):
        reached[problem.arc_mod[reached[problem.arc_head]]] = True
    return np.flatnonzero(~reached).tolist()


def constraints_of(problem: Problem) -> list[Constraint]:
    """Return all constraints that can be removed from a problem; candidate arcs are not."""
    p = problem
    found: list[Constraint] = []
    for m in range(1, p.n_words + 1):
        into = np.flatnonzero(p.arc_mod == m)
        heads, state = p.arc_head[into], p.arc_state[into]
        held = into[state != 0]
        if (state == 1).any() or (len(held) and len(np.unique(heads[state != -1])) <= 1):
            found.append(Constraint("head", tuple(held.tolist())))
            continue
        for head in np.unique(p.arc_head[held]):
            pair = held[p.arc_head[held] == head]
            is_whole = len(pair) == np.count_nonzero(heads == head)
            groups = pair[np.newaxis] if is_whole else pair[:, np.newaxis]
            found += [Constraint("arc", tuple(arcs)) for arcs in groups.tolist()]
    for f in np.flatnonzero(p.factor_score == -np.inf).tolist():
        found.append(Constraint("factor", place=f))
    for c in range(len(p.count_ptr) - 1):
        if (p.counts.table(c) == -np.inf).any():
            found.append(Constraint("count", place=c))
    if p.single_root:
        found.append(Constraint("root"))
    if p.projective:
        found.append(Constraint("crossing"))
    return found


def relaxed(problem: Problem, kept: list[Constraint]) -> Problem:
    """Return the problem with only the constraints ``kept``, and without scores."""
    p = problem
    held = [arc for constraint in kept for arc in constraint.arcs]
    state = np.zeros_like(p.arc_state)
    state[held] = p.arc_state[held]
    never = {}
    for kind in ("factor", "count"):
        rows, chosen = set_rows(p, kind), [c.place for c in kept if c.kind == kind]
        never[kind] = [
            (arcs, [-np.inf if score == -np.inf else 0.0 for score in scores])
            for arcs, scores in (rows[i] for i in sorted(chosen))
        ]
    kinds = {constraint.kind for constraint in kept}
    return Problem.trusted(
        p.n_words, p.arc_head, p.arc_mod, np.zeros_like(p.arc_score), arc_label=p.arc_label,
        arc_state=state, **set_fields("factor", never["factor"]),
        **set_fields("count", never["count"]),
        projective="crossing" in kinds, single_root="root" in kinds,
    )  # fmt: skip


def _describe(problem: Problem, constraint: Constraint) -> str:
    p, (kind, arcs, place) = problem, constraint
    if kind == "root":
        return "only one word may hang from the root (single_root)"
    if kind == "crossing":
        return "arcs must not cross (projective)"
    if kind == "factor":
        return f"{describe_arcs(p, p.factors.members(place))} must not be in the tree together"
    if kind == "count":
        return describe_count(p, place)
    required = [a for a in arcs if p.arc_state[a] == 1]
    arc = (required or arcs)[0]
    m, head = p.arc_mod[arc], p.arc_head[arc]
    label = "" if p.arc_label is None else f" with label {p.arc_label[arc]}"
    if required:
        return f"word {m} must hang from {_head(head)}{label}"
    if kind == "head":
        allowed = p.arc_head[(p.arc_mod == m) & (p.arc_state != -1)]
        if not len(allowed):
            return f"all candidate arcs into word {m} are forbidden"
        head = _head(allowed[0])
        return f"word {m} must hang from {head}: all its other candidate arcs are forbidden"
    if np.count_nonzero((p.arc_mod == m) & (p.arc_head == head)) == len(arcs):
        label = ""
    return f"word {m} must not hang from {_head(head)}{label}"


def _head(word: int) -> str:
    return f"word {word}" if word else "the root"


def listed(noun: str, items: Iterable[int | str]) -> str:
    """Join items as in `word 3`, `words 3 and 4`, `words 3, 4 and 9`."""
    names = [str(item) for item in items]
    if len(names) == 1:
        return f"{noun} {names[0]}"
    return f"{noun}s {', '.join(names[:-1])} and {names[-1]}"


def describe_arcs(problem: Problem, arcs: Ints) -> str:
    """Name arcs as in `the arcs 2 -> 1 and 2 -> 5`."""
    p = problem
    names = []
    for a in arcs[: _MOST_NAMED if len(arcs) > _MOST_NAMED + 1 else None]:
        label = "" if p.arc_label is None else f" (label {p.arc_label[a]})"
        names.append(f"{p.arc_head[a]} -> {p.arc_mod[a]}{label}")
    if len(names) < len(arcs):
        names.append(f"{len(arcs) - len(names)} more")
    return f"the {listed('arc', names)}"


def describe_count(problem: Problem, c: int) -> str:
    """Describe the constraint of count factor c on the number of its arcs.

    Examples are `word 3 must have at most 2 modifiers`, `words 2, 3 and 4 must be connected`, `at
    least 1 of the arcs … must be in the tree`.
    """
    p = problem
    arcs = p.counts.members(c)
    allowed = np.flatnonzero(p.counts.table(c) > -np.inf).tolist()
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
    """Describe the allowed numbers among 0..most; "" if there are none."""
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


def _entering(problem: Problem, words: Ints) -> Flags:
    """Return the arcs (bool[A]) into these words from other words."""
    inside = np.zeros(problem.n_words + 1, dtype=np.bool_)
    inside[words] = True
    return ~inside[problem.arc_head] & inside[problem.arc_mod]


def _modifiers_of(problem: Problem, chosen: Flags) -> tuple[str, str] | None:
    """Name the head and the kind of modifiers if the chosen arcs are all of one kind.

    The kinds are all arcs of a head, and those to one side or with one label; None otherwise.
    """
    p = problem
    heads = np.unique(p.arc_head[chosen])
    if len(heads) > 1:
        return None
    head = int(heads[0])
    of_head = p.arc_head == head
    sides = {
        "": of_head, " to its left": of_head & (p.arc_mod < head),
        " to its right": of_head & (p.arc_mod > head),
    }  # fmt: skip
    labels = {"": of_head}
    if p.arc_label is not None:
        labels |= {f" with label {x}": p.arc_label == x for x in np.unique(p.arc_label[chosen])}
    for (label, has_label), (side, on_side) in product(labels.items(), sides.items()):
        if np.array_equal(chosen, on_side & has_label):
            return _head(head), label + side
    return None
