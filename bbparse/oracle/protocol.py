"""What an oracle is: something that finds the best structure under changed scores.

A structure is a set of *coordinates*, numbered from 0, that are on: the arcs of a tree, the tags of
words. An oracle has scores of its own for structures, over more than single coordinates as a rule,
and answers for them plus any linear change. Bounds, elimination, branch and bound, proofs and
agreement between oracles need no more than this of it, and know nothing else.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import BBParseError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class OracleError(BBParseError):
    """An oracle was asked for what it cannot do; the message names the oracle."""


class Best(NamedTuple):
    """A structure, and no structure scores more than its value.

    Attributes
    ----------
    value : float
        -inf where there is no structure. Of an exact oracle, the score of `on`; of any other, at
        least the score of every structure.
    on : bool[C]
        The coordinates of the structure; none where there is no structure.
    """

    value: float
    on: Flags


class Oracle(Protocol):
    """Finds best structures over 0/1 coordinates under linear changes of their scores.

    All methods leave the oracle as it is, and the same question has the same answer.

    Attributes
    ----------
    n_coordinates : int
        C below.
    """

    n_coordinates: int

    def best(self, scores: Floats) -> Best:
        """The best structure, with `scores` float64[C] added to what its coordinates score.

        A score of -inf forbids its coordinate.
        """
        ...

    def with_each(self, scores: Floats) -> Floats:
        """For each coordinate, what no structure that has it on scores more than: float64[C].

        Exact where the oracle can (-inf: none has it on), else any upper bound.
        """
        ...

    def k_best(self, scores: Floats, k: int) -> list[Best]:
        """The k best structures, best first; all of them where fewer exist.

        Raises
        ------
        OracleError
            If the oracle cannot list structures.
        """
        ...

    def restrict(self, required: Flags, forbidden: Flags) -> Oracle:
        """The same oracle over the structures with some coordinates on and others off.

        Parameters
        ----------
        required, forbidden : bool[C]
            Beside what is fixed already. Coordinates keep their numbers.
        """
        ...
