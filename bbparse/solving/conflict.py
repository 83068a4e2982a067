"""Infeasible problems: an irreducible set of constraints that no tree satisfies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.deadline import Deadline
from bbparse.errors import ProblemError
from bbparse.options import Range, check_number, check_options, check_type
from bbparse.problem import Problem
from bbparse.problem.parts import take_sets
from bbparse.solving.trees import Options, find_trees

#: Maximum number of search nodes of all feasibility tests together, and of a single test.
NODE_LIMIT = 5000
_ONE_SEARCH = 1000
#: Maximum number of arcs that a message names one by one.
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint that can be removed from a problem.

    ``kind`` is "head" (states of a word's arcs that leave it at most one head), "arc" (other
    forbidden arcs), "count", "factor", "root" (`single_root`) or "crossing" (`projective`).
    """

    kind: str
    arcs: tuple[int, ...] = ()
    index: int = -1


#: Order of removal: constraints that are tried first are removed first. Flags are last, as every
#: problem has them. Then: order in messages.
_REMOVAL = ("arc", "factor", "count", "head", "crossing", "root")
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
    The method is a deletion filter on halves, quarters and so on down to single constraints. It
    takes about 2 k log(N / k) searches for k out of N constraints. It runs in two orders, and the
    smaller result is returned. The result is irreducible, but not necessarily of minimum size.
    """
    check_type("problem", problem, Problem, "a Problem", ProblemError)
    check_options({"time_limit": time_limit}, ProblemError)
    check_number("node_limit", node_limit, Range(0), ProblemError)
    lost = _unreachable(problem)
    if lost:
        return [f"no candidate arcs lead from the root to {listed('word', lost)}"]
    conflict = find_conflict(problem, time_limit, node_limit)
    conflict.sort(key=lambda c: (_TELLING.index(c.kind), c.arcs, c.index))
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

    constraints = sorted(constraints_of(problem), key=lambda c: _REMOVAL.index(c.kind))
    if not impossible(constraints):
        return []
    conflict = _irreducible(constraints, impossible)
    if len(conflict) > 2:
        other = _irreducible(constraints[::-1], impossible)
        conflict = min(conflict, other, key=len)
    return conflict


def _irreducible(
    constraints: list[Constraint], impossible: Callable[[list[Constraint]], bool]
) -> list[Constraint]:
    """Remove constraints as long as there is no tree; without any constraint there is one."""
    kept = constraints
    size = len(kept)
    while size > 1:
        size = (size + 1) // 2
        start = 0
        while start < len(kept):
            rest = kept[:start] + kept[start + size :]
            if rest and impossible(rest):
                kept = rest
            else:
                start += size
        # fewer constraints than a half may be left
        size = min(size, len(kept))
    return list(kept)


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
        held = into[p.arc_state[into] != 0]
        allowed = into[p.arc_state[into] != -1]
        if (p.arc_state[into] == 1).any() or (
            len(held) and len(np.unique(p.arc_head[allowed])) <= 1
        ):
            found.append(Constraint("head", tuple(held.tolist())))
            continue
        for head in np.unique(p.arc_head[held]):
            pair = held[p.arc_head[held] == head]
            if len(pair) == np.count_nonzero(p.arc_head[into] == head):
                found.append(Constraint("arc", tuple(pair.tolist())))
            else:
                found.extend(Constraint("arc", (int(a),)) for a in pair)
    for f in np.flatnonzero(p.factor_score == -np.inf).tolist():
        found.append(Constraint("factor", index=f))
    for c in range(len(p.count_ptr) - 1):
        if (p.counts.table(c) == -np.inf).any():
            found.append(Constraint("count", index=c))
    if p.single_root:
        found.append(Constraint("root"))
    if p.projective:
        found.append(Constraint("crossing"))
    return found


def relaxed(problem: Problem, kept: list[Constraint]) -> Problem:
    """Return the problem with only the constraints ``kept``, and without scores."""
    p = problem
    state = np.zeros_like(p.arc_state)
    for constraint in kept:
        held = list(constraint.arcs)
        state[held] = p.arc_state[held]
    kinds = {constraint.kind for constraint in kept}
    factors = np.zeros(len(p.factor_score), dtype=np.bool_)
    factors[[c.index for c in kept if c.kind == "factor"]] = True
    counts = np.zeros(len(p.count_ptr) - 1, dtype=np.bool_)
    counts[[c.index for c in kept if c.kind == "count"]] = True
    factor_ptr, factor_arcs = take_sets(p.factor_ptr, p.factor_arcs, factors)
    count_ptr, count_arcs = take_sets(p.count_ptr, p.count_arcs, counts)
    count_score_ptr, scores = take_sets(p.count_score_ptr, p.count_score, counts)
    return Problem.trusted(
        p.n_words, p.arc_head, p.arc_mod, np.zeros_like(p.arc_score),
        arc_label=p.arc_label, arc_state=state,
        factor_ptr=factor_ptr, factor_arcs=factor_arcs,
        factor_score=np.full(factors.sum(), -np.inf),
        count_ptr=count_ptr, count_arcs=count_arcs, count_score_ptr=count_score_ptr,
        count_score=np.where(scores == -np.inf, -np.inf, 0.0),
        projective="crossing" in kinds, single_root="root" in kinds,
    )  # fmt: skip


def _describe(problem: Problem, constraint: Constraint) -> str:
    p = problem
    if constraint.kind == "root":
        return "only one word may hang from the root (single_root)"
    if constraint.kind == "crossing":
        return "arcs must not cross (projective)"
    if constraint.kind == "factor":
        arcs = p.factors.members(constraint.index)
        return f"{describe_arcs(p, arcs)} must not be in the tree together"
    if constraint.kind == "count":
        return describe_count(p, constraint.index)
    arcs = np.array(constraint.arcs)
    m = int(p.arc_mod[arcs[0]])
    required = arcs[p.arc_state[arcs] == 1]
    if len(required):
        a = int(required[0])
        label = "" if p.arc_label is None else f" with label {p.arc_label[a]}"
        return f"word {m} must hang from {_head(int(p.arc_head[a]))}{label}"
    if constraint.kind == "head":
        allowed = (p.arc_mod == m) & (p.arc_state != -1)
        if not allowed.any():
            return f"all candidate arcs into word {m} are forbidden"
        head = _head(int(p.arc_head[allowed][0]))
        return f"word {m} must hang from {head}: all its other candidate arcs are forbidden"
    parent = int(p.arc_head[arcs[0]])
    label = ""
    if p.arc_label is not None and np.count_nonzero(
        (p.arc_mod == m) & (p.arc_head == parent)
    ) > len(arcs):
        label = f" with label {p.arc_label[arcs[0]]}"
    return f"word {m} must not hang from {_head(parent)}{label}"


def _head(word: int) -> str:
    return f"word {word}" if word else "the root"


def listed(noun: str, items: Iterable[int | str]) -> str:
    """Join items as in `word 3`, `words 3 and 4`, `words 3, 4 and 9`."""
    names = [str(item) for item in items]
    if len(names) == 1:
        return f"{noun} {names[0]}"
    return f"{noun}s {', '.join(names[:-1])} and {names[-1]}"


def describe_arcs(problem: Problem, arcs: NDArray[np.int32]) -> str:
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


def _entering(problem: Problem, words: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the arcs (bool[A]) into these words from other words."""
    inside = np.zeros(problem.n_words + 1, dtype=np.bool_)
    inside[words] = True
    return ~inside[problem.arc_head] & inside[problem.arc_mod]


def _modifiers_of(problem: Problem, chosen: NDArray[np.bool_]) -> tuple[str, str] | None:
    """Name the head and the kind of modifiers if the chosen arcs are all of one kind.

    The kinds are all arcs of a head, and those to one side or with one label; None otherwise.
    """
    p = problem
    heads = np.unique(p.arc_head[chosen])
    if len(heads) > 1:
        return None
    head = int(heads[0])
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
                return _head(head), label_text + side_text
    return None
