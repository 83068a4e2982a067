"""Infeasible problems: an irreducible set of constraints that no tree satisfies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.core.parts import Constraint, set_fields, set_rows
from bbparse.core.words import (
    arc_names,
    forbidden_arcs,
    head_name,
    listed,
    number_of_modifiers,
    numbers_of_arcs,
    range_name,
)
from bbparse.inference.methods import Options, find_trees
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import Range, check_number, check_options, check_type

T = TypeVar("T")

#: Maximum number of search nodes of all feasibility tests together, and of a single test.
NODE_LIMIT = 5000
_ONE_SEARCH = 1000
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
        return [f"no candidate arcs lead from the root to {listed('word', lost)}"]
    conflict = find_conflict(problem, time_limit, node_limit)
    conflict.sort(key=lambda c: (_ORDER.index(c.kind), _word(problem, c), c.counts, c.factors))
    return [constraint.text for constraint in conflict]


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
        solution = find_trees(relaxed(problem, kept), "bb", options)
        nodes -= max(1, int(solution.stats.get("nodes", 0)))
        return solution.status == "infeasible"

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


def _word(p: Problem, constraint: Constraint) -> int:
    """Return the word that the states of a constraint are about; -1: none."""
    return int(p.arc_mod[constraint.states[0][0]]) if constraint.states else -1


def constraints_of(problem: Problem) -> list[Constraint]:
    """Return all constraints that can be removed from a problem; candidate arcs are not.

    Those that methods of `Problem` have added are as these have named them.
    """
    p, named = problem, problem.named
    constraints = [c for c in named if c.kind]
    state = p.arc_state
    if named:  # what no method has named: states that the problem had before, or got otherwise
        state = np.where(state == _states(p, named), _states(p, named[:1]), state)
    constraints += _of_states(p, state)
    factors = {f for c in named for f in c.factors}
    for f in np.flatnonzero(p.factor_score == -np.inf).tolist():
        if f not in factors:
            text = f"{arc_names(p, p.factors.members(f).tolist())} must not be in the tree together"
            constraints.append(Constraint("factor", text, factors=(f,)))
    counts = {i for c in named for i in c.counts}
    for i in range(len(p.count_ptr) - 1):
        if i not in counts and (p.counts.table(i) == -np.inf).any():
            constraints.append(Constraint("count", _describe_count(p, i), counts=(i,)))
    if p.single_root:
        constraints.append(Constraint("root", "there must be exactly one root (single_root)"))
    if p.projective:
        constraints.append(Constraint("crossing", "arcs must not cross (projective)"))
    return constraints


def _states(p: Problem, constraints: Iterable[Constraint]) -> NDArray[np.int8]:
    """Return the states of arcs under some constraints."""
    state = np.zeros_like(p.arc_state)
    for constraint in constraints:
        for a, own in constraint.states:
            state[a] = own if state[a] >= 0 else -1
    return state


def _of_states(p: Problem, states: NDArray[np.int8]) -> list[Constraint]:
    """Return the constraints that states of arcs stand for, as a user may have set them."""
    constraints: list[Constraint] = []
    single = states == -1
    for m in np.unique(p.arc_mod[states != 0]).tolist():
        into = np.flatnonzero(p.arc_mod == m)
        heads, state = p.arc_head[into], states[into]
        allowed = np.unique(heads[state != -1])
        if not (state == 1).any() and len(allowed) > 1:
            continue
        held = tuple([(a, int(states[a])) for a in into[state != 0].tolist()])
        single[into] = False
        if (state == 1).any():
            a = int(into[state == 1][0])
            label = "" if p.arc_label is None else f" with label {p.arc_label[a]}"
            text = f"word {m} must have the head {head_name(p.arc_head[a])}{label}"
        else:
            others = f" but {head_name(allowed[0])}" if len(allowed) else ""
            text = f"all candidate heads of word {m}{others} are forbidden"
        constraints.append(Constraint("head", text, held))
    return constraints + forbidden_arcs(p, single)


def relaxed(problem: Problem, kept: list[Constraint]) -> Problem:
    """Return the problem with only the constraints ``kept``, and without scores."""
    p = problem
    never = {}
    for kind in ("factor", "count"):
        chosen = {i for c in kept for i in (c.factors if kind == "factor" else c.counts)}
        never[kind] = [
            (arcs, [-np.inf if score == -np.inf else 0.0 for score in scores])
            for i, (arcs, scores) in enumerate(set_rows(p, kind))
            if i in chosen
        ]
    kinds = {constraint.kind for constraint in kept}
    return Problem.trusted(
        p.n_words,
        p.arc_head,
        p.arc_mod,
        np.zeros_like(p.arc_score),
        arc_label=p.arc_label,
        arc_state=_states(p, kept),
        **set_fields("factor", never["factor"]),
        **set_fields("count", never["count"]),
        projective="crossing" in kinds,
        single_root="root" in kinds,
    )


def _describe_count(p: Problem, c: int) -> str:
    """Describe the numbers that count factor c allows of its arcs."""
    arcs = p.counts.members(c).tolist()
    allowed = np.flatnonzero(p.counts.table(c) > -np.inf).tolist()
    heads = np.unique(p.arc_head[arcs]).tolist()
    of_one = len(heads) == 1 and len(arcs) == np.count_nonzero(p.arc_head == heads[0])
    if not allowed:
        what = f"modifiers of {head_name(heads[0])}" if of_one else arc_names(p, arcs)
        return f"the limits on {what} cannot all be met"
    low, high = allowed[0], allowed[-1]
    if len(allowed) <= high - low:
        number = " or ".join(map(str, allowed))
    else:
        number = range_name(low, None if 0 < low < high == len(arcs) else high)
    return number_of_modifiers(heads[0], number) if of_one else numbers_of_arcs(p, arcs, number)
