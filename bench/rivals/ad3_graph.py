"""AD3 (Martins et al. 2015), as TurboParser uses it: a relaxation, and a tree rounded from it.

A tree factor over the arcs (Chu-Liu-Edmonds), one root, at most one of two arcs that cross; on each
side of each head a path of variables through its modifiers (exactly one way in and out of each
that is there) for adjacent siblings; a pair factor for each grand-sibling and each factor of two
arcs, an AND with output for larger ones; a count factor is a chain of variables with the number of
arcs so far. Where the relaxation is not whole, the tree is the
projective one with the most of its arcs' posterior. The Python package offers no grand-sibling
automaton, which TurboParser has in C++.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rivals.common import Answer, crossing, parts_of, sides_of_siblings

from bbparse.core import Problem
from bbparse.core.parts import ANY, set_rows
from bbparse.inference.solve import solve as branch_and_bound

# the package's default
ITERATIONS = 1000
NEVER = -1e4


def solve(problem: Problem, time_limit: float) -> Answer:
    """One run of AD3; the time limit is not looked at, its iterations are limited."""
    import ad3.factor_graph
    from ad3.extensions import PFactorTree

    p = problem
    started = time.perf_counter()
    graph = ad3.factor_graph.PFactorGraph()
    # the step size of AD3 is made for scores of about 1
    scale = 1.0 / (float(p.arc_score.std()) or 1.0)

    def variable(score: float) -> Any:
        found = graph.create_binary_variable()
        found.set_log_potential(scale * score)
        return found

    arcs = [variable(score) for score in p.arc_score.tolist()]
    pairs = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
    index = {pair: a for a, pair in enumerate(pairs)}
    tree = PFactorTree()
    graph.declare_factor(tree, arcs)
    tree.initialize(p.n_words + 1, pairs)
    if p.single_root:
        graph.create_factor_logic("XOR", [arcs[a] for a, (h, _) in enumerate(pairs) if h == 0])
    for a, b in crossing(p):
        graph.create_factor_logic("ATMOSTONE", [arcs[a], arcs[b]])
    variables = {(h, ANY, m): arc for (h, m), arc in zip(pairs, arcs)}
    variables |= _siblings(p, graph, arcs, index, variable)
    for g, h, i, m, s in parts_of(p, "sib", "gc", "gsib"):
        own = variables.get((h, i, m))
        if own is not None and g in (ANY, -1):
            own.set_log_potential(own.get_log_potential() + scale * s)
        elif own is not None and (g, h) in index:
            graph.create_factor_pair([arcs[index[g, h]], own], scale * s)
    for of_factor, (s,) in set_rows(p, "factor"):
        members = [arcs[a] for a in of_factor]
        if s == -np.inf:
            graph.create_factor_logic("OR", members, [True] * len(members))
        elif len(members) == 2:
            graph.create_factor_pair(members, scale * s)
        else:
            graph.create_factor_logic("ANDOUT", [*members, variable(s)])
    for of_count, scores in set_rows(p, "count"):
        _count(graph, [arcs[a] for a in of_count], [scale * s for s in scores])
    building = time.perf_counter() - started
    started = time.perf_counter()
    _, posteriors, _, status = graph.solve(max_iter=ITERATIONS)
    chosen = np.array(posteriors[: len(arcs)])
    rounded = branch_and_bound(Problem(p.n_words, p.arc_head, p.arc_mod, chosen))
    seconds = time.perf_counter() - started
    return Answer(rounded.arcs[0], status == "integral", seconds, building)


def _siblings(
    p: Problem, graph: Any, arcs: list[Any], index: dict[tuple[int, int], int], variable: Any
) -> dict[tuple[int, int, int], Any]:
    """Variables of adjacent siblings (head, inner, outer), inner -1 for the nearest modifier."""
    adjacent: dict[tuple[int, int, int], Any] = {}
    for h, right in sorted(sides_of_siblings(p)):
        line = range(h + 1, p.n_words + 1) if right else range(h - 1, 0, -1)
        mods = [m for m in line if (h, m) in index]
        leaving: dict[int, list[Any]] = {i: [] for i in (-1, *mods)}
        for place, m in enumerate(mods):
            entering = []
            for i in (-1, *mods[:place]):
                step = adjacent[h, i, m] = variable(0.0)
                entering.append(step)
                leaving[i].append(step)
            graph.create_factor_logic("XOROUT", [*entering, arcs[index[h, m]]])
        for m in mods:
            graph.create_factor_logic("XOROUT", [*leaving[m], variable(0.0), arcs[index[h, m]]])
        if len(leaving[-1]) > 1:
            graph.create_factor_logic("ATMOSTONE", leaving[-1])
    return adjacent


def _count(graph: Any, arcs: list[Any], scores: list[float]) -> None:
    """The number of arcs so far, arc by arc, and the score of the last."""
    before = graph.create_multi_variable(1)
    for place, arc in enumerate(arcs):
        last = place + 1 == len(arcs)
        state = graph.create_multi_variable(2)
        # the second state is the arc: exactly one of it and of what is not the arc
        graph.create_factor_logic("XOR", [state.get_state(1), arc], [False, True])
        after = graph.create_multi_variable(place + 2)
        table = np.full((place + 1, 2, place + 2), NEVER)
        for k in range(place + 1):
            for bit in (0, 1):
                table[k, bit, k + bit] = max(scores[k + bit], NEVER) if last else 0.0
        graph.create_factor_dense([before, state, after], table.ravel().tolist())
        before = after
