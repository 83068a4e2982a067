"""Contracts of oracles: `Oracle` for the objects of `bbparse.agree`, `Calls` for search kernels.

A structure is a set of *coordinates*, numbered from 0, that are on: the arcs of a tree, the tags of
words. An oracle has its own scores of structures, usually over more than single coordinates, and
answers for them plus any linear change.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from bbparse.runtime.arrays import Flags, Float64s
from bbparse.runtime.errors import BBParseError


class OracleError(BBParseError):
    """An oracle cannot do what is requested; the message names the oracle."""


class Best(NamedTuple):
    """A structure with an upper bound on all structures."""

    value: float  #: At least every score, that of `on` if exact; -inf if there is no structure.
    on: Flags  #: bool[C], the coordinates of the structure; none if there is no structure.


class Oracle(Protocol):
    """Finder of best structures over 0/1 coordinates under linear changes of their scores.

    No method changes the oracle, and the same call has the same result. C is ``n_coordinates``.
    """

    n_coordinates: int

    def best(self, scores: Float64s) -> Best:
        """Find the best structure, with `scores` float64[C] added to those of its coordinates.

        A score of -inf forbids its coordinate.
        """
        ...

    def max_marginals(self, scores: Float64s) -> Float64s:
        """Bound the structures that have each coordinate on: float64[C].

        Exact max-marginals if the oracle can compute them (-inf: no structure), else any upper
        bound.
        """
        ...

    def restrict(self, required: Flags, forbidden: Flags) -> Oracle:
        """Return this oracle over the structures with some coordinates on and others off, bool[C].

        Earlier restrictions stay. Coordinates keep their numbers.
        """
        ...


class Calls(NamedTuple):
    """Kernels of one type of oracle over trees, or the constants that they would return.

    An oracle is a NamedTuple of arrays that belongs to a node; ``scratch`` is made once per node.
    Arcs are in the order of the oracle; ``arc_score`` float64[A] has the scores of all arcs, -inf
    for removed ones. An oracle that is not exact consists of components that have to agree, and
    has multipliers of its own; `best` is an upper bound, and the tree is that of one component.
    """

    #: ``(oracle)``: the arrays that the other calls write.
    scratch_of: Any
    #: ``(oracle)``: a number with which the work of a call grows.
    size_of: Any
    #: True if the bound is the score of the tree.
    is_exact: bool
    #: ``(oracle, scratch, arc_score, until)``: the best value; -inf if there is no tree; NaN if it
    #: is not found before the time ``until``.
    best: Any
    #: ``(oracle, scratch, arc_score, tree)``: write the tree of the last `best`; return the score
    #: of its parts.
    tree_of: Any
    #: ``(oracle, scratch, arc_score, marginals)``: after `best`, write an upper bound on the trees
    #: with each arc (-inf: removed, or in no tree).
    max_marginals: Any
    #: ``(oracle, scratch, arc_score, n_words, k, min_score, until)``: after `best`, return trees,
    #: values, part scores, and an upper bound on all trees that are not listed; the last one may
    #: score less than ``min_score``, and fewer than k are returned at the time ``until``, but at
    #: least one.
    k_best: Any
    #: ``(oracle, scratch, floor)``: after `max_marginals`, drop everything that is in no tree of at
    #: least this score; return False if no tree is left.
    eliminate: Any = True
    #: ``(oracle, scratch)``: the squared length of the subgradient of its multipliers.
    inner_norm: Any = 0.0
    #: ``(oracle, scratch, alpha)``: make one subgradient step.
    inner_step: Any = None
    #: ``(oracle, scratch, arc_gap)``: add to arcs the amounts by which the values of
    #: components exceed their scores of a tree.
    inner_gaps: Any = None
