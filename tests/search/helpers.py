"""Searches whose roots are made, and not bounded."""

from __future__ import annotations

import numpy as np

from bbparse.problem import Problem
from bbparse.problem.order import in_order
from bbparse.search.lagrangian import Lagrangian
from bbparse.search.settings import SearchSettings
from bbparse.solving.root import call_node
from bbparse.solving.trees import Options, make_root


def search_of(problem: Problem, k: int, settings: SearchSettings) -> Lagrangian:
    """The bounder of a problem; of one where a word has no arc, over no arcs at all."""
    ordered, order = in_order(problem)
    found = make_root(ordered, Options(k, settings=settings), waits=True)
    assert found.left is not None
    root = found.left
    if order is not None:
        root = root._replace(order=order[root.order].astype(np.int32))
    return Lagrangian(root, found, call_node, settings, problem.projective)
