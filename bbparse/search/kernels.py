"""How nodes travel between kernels and Python, and the kernels that look for first trees.

Python keeps nodes as the plain tuples that `plain_node` makes, and hands them back as they are.
There is one kernel for each type of oracle, which says what the tuples are made of.
"""

from __future__ import annotations

from bbparse.bounding.lower import lower_bound_start
from bbparse.bounding.state import Incumbents, Limits, Node, NodeCounts, NodeFactors
from bbparse.jit import kernel
from bbparse.oracle.calls import plain_of
from bbparse.oracle.nonprojective.automata import Automata
from bbparse.oracle.projective.build import Chart


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
def named_node(oracle, node):
    """A node from such a tuple and its oracle."""
    _, arc_mod, base, constant, factors, counts = node
    return Node(oracle, arc_mod, base, constant, NodeFactors(*factors), NodeCounts(*counts))


@kernel
def start_projective(node, incumbents, limits, counters):
    """Look for first trees of a projective node: see `lower_bound_start`."""
    root = named_node(Chart(*node[0]), node)
    lower_bound_start(root, Incumbents(*incumbents), Limits(*limits), counters)


@kernel
def start_nonprojective(node, incumbents, limits, counters):
    """As `start_projective`, of a node whose oracle is of automata."""
    root = named_node(Automata(*node[0]), node)
    lower_bound_start(root, Incumbents(*incumbents), Limits(*limits), counters)
