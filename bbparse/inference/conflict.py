"""Infeasible problems: an irreducible set of constraints that no tree satisfies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import set_fields, set_rows
from bbparse.inference.trees import Options, find_trees
from bbparse.runtime.arrays import Ints
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

    ``kind``: "head" (states of a word's arcs), "arc" (other forbidden arcs), "count", "factor",
    "root" (`single_root`) or "crossing" (`projective`).
    """

    kind: str
    arcs: tuple[int, ...] = ()
    place: int = -1  # of a factor or count factor


#: Order of preference: of two constraints that explain a conflict, the earlier one is named. Flags
#: are last, as every problem has them. Then: order in messages.
_PREFERRED = ("arc", "factor", "count", "head", "crossing", "root")
_ORDER = ("head", "arc", "count", "factor", "root", "crossing")


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
        If an argument is invalid.

    Notes
    -----
    The set of constraints is halved repeatedly (QuickXplain, Junker 2004), which takes about
    2 k log(N / k) searches for k of N constraints. The result is irreducible, but not
    necessarily of minimum size.
    """
    check_type("problem", problem, Problem, "a Problem", ProblemError)
    check_options({"time_limit": time_limit}, ProblemError)
    check_number("node_limit", node_limit, Range(0), ProblemError)
    lost = _unreachable(problem)
    if lost:
        return [f"no candidate arcs lead from the root to {_listed('word', lost)}"]
    conflict = find_conflict(problem, time_limit, node_limit)
    conflict.sort(key=lambda c: (_ORDER.index(c.kind), c.arcs, c.place))
    return [_describe(problem, constraint) for constraint in conflict]


def find_conflict(
    problem: Problem, time_limit: float | None = None, node_limit: int = NODE_LIMIT
) -> list[Constraint]:
    """Return the conflict that `explain_infeasible` describes, if all words can be reached."""
    deadline = Deadline.after(time_limit)
    nodes = node_limit

    def impossible(kept: list[Constraint]) -> bool:
        """Return True if a search proves, within the limits, that no tree satisfies these."""
        nonlocal nodes
        if nodes <= 0 or deadline.is_over():
            return False
        options = Options(time_limit=deadline.limit(), node_limit=min(nodes, _ONE_SEARCH))
        found = find_trees(relaxed(problem, kept), "bb", options)
        nodes -= max(1, int(found.stats.get("nodes", 0)))
        return found.status == "infeasible"

    constraints = sorted(constraints_of(problem), key=lambda c: _PREFERRED.index(c.kind))
    return _smallest(constraints, impossible) if impossible(constraints) else []


def _smallest(
    items: list[T], holds: Callable[[list[T]], bool], needed: Sequence[T] = ()
) -> list[T]:
    """Return a minimal part of ``items`` that, with ``needed``, has a property that items keep."""
    if len(items) < 2:
        return items
    first, second = items[: len(items) // 2], items[len(items) // 2 :]
    if holds([*needed, *first]):
        return _smallest(first, holds, needed)
    late = _smallest(second, holds, [*needed, *first])
    if holds([*needed, *late]):
        return late
    return _smallest(first, holds, [*needed, *late]) + late


def _unreachable(problem: Problem) -> list[int]:
    """Return the words without a path of candidate arcs from the root."""
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
        p.n_words,
        p.arc_head,
        p.arc_mod,
        np.zeros_like(p.arc_score),
        arc_label=p.arc_label,
        arc_state=state,
        **set_fields("factor", never["factor"]),
        **set_fields("count", never["count"]),
        projective="crossing" in kinds,
        single_root="root" in kinds,
    )


def _describe(problem: Problem, constraint: Constraint) -> str:
    p, (kind, arcs, place) = problem, constraint
    if kind == "root":
        return "there must be exactly one root (single_root)"
    if kind == "crossing":
        return "arcs must not cross (projective)"
    if kind == "factor":
        return f"{_arcs(p, p.factors.members(place))} must not be in the tree together"
    if kind == "count":
        return _describe_count(p, place)
    required = [a for a in arcs if p.arc_state[a] == 1]
    arc = (required or arcs)[0]
    m, head = p.arc_mod[arc], _head(p.arc_head[arc])
    label = "" if p.arc_label is None else f" with label {p.arc_label[arc]}"
    if required:
        return f"word {m} must have the head {head}{label}"
    if kind == "head":
        allowed = p.arc_head[(p.arc_mod == m) & (p.arc_state != -1)]
        others = f" but {_head(allowed[0])}" if len(allowed) else ""
        return f"all candidate heads of word {m}{others} are forbidden"
    if np.count_nonzero((p.arc_mod == m) & (p.arc_head == p.arc_head[arc])) == len(arcs):
        label = ""
    return f"word {m} must not have the head {head}{label}"


def _head(word: int) -> str:
    return str(word) if word else "root"


def _listed(noun: str, items: Iterable[int | str]) -> str:
    """Join items as in `word 3`, `words 3 and 4`, `words 3, 4 and 9`."""
    names = [str(item) for item in items]
    if len(names) == 1:
        return f"{noun} {names[0]}"
    return f"{noun}s {', '.join(names[:-1])} and {names[-1]}"


def _arcs(problem: Problem, arcs: Ints) -> str:
    """Name arcs as in `the arcs 2 -> 1 and 2 -> 5`."""
    p = problem
    names = []
    for a in arcs[: _MOST_NAMED if len(arcs) > _MOST_NAMED + 1 else None]:
        label = "" if p.arc_label is None else f" (label {p.arc_label[a]})"
        names.append(f"{p.arc_head[a]} -> {p.arc_mod[a]}{label}")
    if len(names) < len(arcs):
        names.append(f"{len(arcs) - len(names)} more")
    return f"the {_listed('arc', names)}"


def _describe_count(p: Problem, c: int) -> str:
    """Describe the numbers that count factor c allows of its arcs."""
    arcs = p.counts.members(c)
    allowed = np.flatnonzero(p.counts.table(c) > -np.inf).tolist()
    heads = np.unique(p.arc_head[arcs])
    of_one = len(heads) == 1 and len(arcs) == np.count_nonzero(p.arc_head == heads[0])
    if not allowed:
        what = f"modifiers of {_head(heads[0])}" if of_one else _arcs(p, arcs)
        return f"the limits on {what} cannot all be met"
    low, high = allowed[0], allowed[-1]
    if high == 0:
        number = "no"
    elif len(allowed) <= high - low:
        number = " or ".join(map(str, allowed))
    elif low == high:
        number = f"exactly {low}"
    elif low == 0:
        number = f"at most {high}"
    else:
        number = f"at least {low}" if high == len(arcs) else f"{low} to {high}"
    if of_one:
        word = f"word {heads[0]}" if heads[0] else "the root"
        return f"{word} must have {number} modifier{'' if number.endswith(' 1') else 's'}"
    if high == 0 or len(arcs) == 1:
        return f"{_arcs(p, arcs)} must{'' if high else ' not'} be in the tree"
    return f"{number} of {_arcs(p, arcs)} must be in the tree"
