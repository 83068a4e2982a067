"""Coordinates that several oracles share, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np

from bbparse.inference.oracles.protocol import Oracle, OracleError
from bbparse.runtime.arrays import Flags, Float64s, Longs
from bbparse.runtime.options import check_type

_METHODS = ("n_coordinates", "best", "max_marginals", "restrict")


class Shared:
    """Coordinates of K oracles that must have the same value: those of the same name.

    ``names`` has the S names that two oracles or more have. ``own[k]`` has the shared coordinates
    of oracle k, and ``number[k]`` their indices in `names`, both int[M_k]. ``has`` bool[K, S] is
    True if an oracle has a name, and ``degree`` float64[S] is the number of oracles that have it.
    Arguments are checked; for errors see `bbparse.agree`.
    """

    def __init__(
        self, oracles: Sequence[Oracle], names: Sequence[Sequence[Hashable | None]]
    ) -> None:
        for title, items in (("oracles", oracles), ("shared", names)):
            check_type(title, items, Sequence, "a sequence", OracleError)
        if len(oracles) < 2 or len(names) != len(oracles):
            raise OracleError(
                f"{len(oracles)} oracles and {len(names)} lists of names, expected two or more of"
                " each"
            )
        coordinates_of: list[dict[Hashable, int]] = []
        for k, (oracle, own_names) in enumerate(zip(oracles, names)):
            if not all(hasattr(oracle, name) for name in _METHODS):
                raise OracleError(
                    f"oracle {k + 1} is of type {type(oracle).__name__}, expected one with"
                    f" {', '.join(_METHODS)}"
                )
            kinds = (Sequence, np.ndarray)
            check_type(f"shared[{k}]", own_names, kinds, "a sequence of names", OracleError)
            if len(own_names) != oracle.n_coordinates:
                raise OracleError(
                    f"oracle {k + 1}: {len(own_names)} names, expected {oracle.n_coordinates},"
                    " one for each coordinate"
                )
            if isinstance(own_names, np.ndarray) and own_names.dtype.kind in "iu":
                pairs = [(int(name), c) for c, name in enumerate(own_names.tolist()) if name >= 0]
            else:
                pairs = [(name, c) for c, name in enumerate(own_names) if name is not None]
            try:
                coordinate_of = dict(pairs)
            except TypeError as error:
                raise OracleError(f"oracle {k + 1}: invalid name: {error}") from None
            if len(coordinate_of) != len(pairs):
                repeated = next(name for name, c in pairs if coordinate_of[name] != c)
                raise OracleError(f"oracle {k + 1}: two coordinates have the name {repeated!r}")
            coordinates_of.append(coordinate_of)
        count = Counter(chain.from_iterable(coordinates_of))
        self.names = [name for name, c in count.items() if c > 1]
        number = {name: s for s, name in enumerate(self.names)}
        self.own: list[Longs] = []
        self.number: list[Longs] = []
        self.has = np.zeros((len(oracles), len(self.names)), np.bool_)
        for k, coordinate_of in enumerate(coordinates_of):
            shared = [(c, number[name]) for name, c in coordinate_of.items() if name in number]
            self.own.append(np.array([c for c, _ in shared], np.int64))
            self.number.append(np.array([s for _, s in shared], np.int64))
            self.has[k, self.number[k]] = True
        self.degree = self.has.sum(0).astype(np.float64)

    def scores(self, k: int, multipliers: Float64s, n: int) -> Float64s:
        """Return multipliers [S] as scores of the coordinates of oracle k, float64[n]."""
        scores = np.zeros(n)
        scores[self.own[k]] = multipliers[self.number[k]]
        return scores

    def read(self, k: int, on: Flags) -> Flags:
        """Return a structure of oracle k on the shared coordinates, bool[S]; off for others."""
        shared_on = np.zeros(len(self.names), np.bool_)
        shared_on[self.number[k]] = on[self.own[k]]
        return shared_on

    def restrict(self, k: int, oracle: Oracle, on: Flags, off: Flags) -> Oracle:
        """Return oracle k with shared coordinates fixed, bool[S] each; itself if it has none."""
        if not (self.has[k] & (on | off)).any():
            return oracle
        required = np.zeros(oracle.n_coordinates, np.bool_)
        forbidden = np.zeros(oracle.n_coordinates, np.bool_)
        required[self.own[k]] = on[self.number[k]]
        forbidden[self.own[k]] = off[self.number[k]]
        return oracle.restrict(required, forbidden)
