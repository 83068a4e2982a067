"""The oracle protocol: oracles find the best structure under changed scores.

A structure is a set of *coordinates*, numbered from 0, that are on: the arcs of a tree, the tags of
words. An oracle has its own scores of structures, usually over more than single coordinates, and
answers for them plus any linear change. Bounds, elimination, branch and bound, proofs and agreement
between oracles need nothing else.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

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

    def with_each(self, scores: Float64s) -> Float64s:
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
