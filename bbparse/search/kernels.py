"""The kernels that a search calls for each node, and how nodes travel between them and Python.

Python keeps nodes as the plain tuples that `plain_node` makes, and hands them back as they are.
There is one kernel for each type of oracle, which says what the tuples are made of.
"""

from __future__ import annotations

import numpy as np

from bbparse.bounding.incumbents import margin_of
from bbparse.bounding.lower import lower_bound_start
from bbparse.bounding.node import OPEN, SOLVED, bound_node
from bbparse.bounding.state import (
    Incumbents,
    Limits,
    Node,
    NodeCounts,
    NodeFactors,
    Record,
    copy_node,
)
from bbparse.jit import kernel
from bbparse.oracle.calls import plain_of
from bbparse.oracle.nonprojective.automata import Automata
from bbparse.oracle.projective.build import Chart

NEG = -np.inf


@kernel
def plain_node(node):
    """A node as a tuple of arrays and tuples of arrays."""
    f, c = node.factors, node.counts
    return (
        plain_of(node.oracle), node.arc_mod, node.base, node.constant,
        (f.ptr, f.arcs, f.weight, f.lam, f.size),
        (c.ptr, c.arcs, c.score_ptr, c.score, c.lam, c.size),
    )  # fmt: skip


@kernel
def _named(oracle, node):
    _, arc_mod, base, constant, factors, counts = node
    return Node(oracle, arc_mod, base, constant, NodeFactors(*factors), NodeCounts(*counts))


@kernel
def _bound(parent, dead, incumbents, limits, counters, record):
    node = copy_node(parent)
    for a in dead:
        node.base[a] = NEG
    best = Incumbents(*incumbents)
    verdict = bound_node(node, best, Limits(*limits), counters, Record(*record))
    if verdict.status == OPEN or verdict.status == SOLVED:
        node = copy_node(node)  # what waits in the queue is no larger than it has to be
    margin = margin_of(limits[6], verdict.slack)
    return (
        verdict.status, verdict.bound, verdict.arc, verdict.lower, verdict.tree, margin,
        plain_node(node),
    )  # fmt: skip


@kernel
def bound_projective(parent, dead, incumbents, limits, counters, record):
    """Bound the part of a projective node in which some arcs are dead.

    Parameters
    ----------
    parent : tuple
        From `plain_node`; stays as it is.
    dead : int32[]
        Arcs that die.
    incumbents, limits, record : tuples
        Fields of the records of :mod:`bbparse.bounding.state`.
    counters : float64[3]
        As `bound_node` takes them.

    Returns
    -------
    status, bound, arc, lower, tree
        Fields of a :class:`bbparse.bounding.node.Verdict`.
    margin : float
        By how much a tree must be better than the k-th one to change the k best.
    node : tuple
        What is left of the node.
    """
    node = _named(Chart(*parent[0]), parent)
    return _bound(node, dead, incumbents, limits, counters, record)


@kernel
def start_projective(node, incumbents, limits, counters):
    """Look for first trees of a projective node: see `lower_bound_start`."""
    root = _named(Chart(*node[0]), node)
    lower_bound_start(root, Incumbents(*incumbents), Limits(*limits), counters)


@kernel
def bound_nonprojective(parent, dead, incumbents, limits, counters, record):
    """As `bound_projective`, of a node whose oracle is of automata."""
    node = _named(Automata(*parent[0]), parent)
    return _bound(node, dead, incumbents, limits, counters, record)


@kernel
def start_nonprojective(node, incumbents, limits, counters):
    """As `start_projective`, of a node whose oracle is of automata."""
    root = _named(Automata(*node[0]), node)
    lower_bound_start(root, Incumbents(*incumbents), Limits(*limits), counters)
