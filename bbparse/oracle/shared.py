"""Coordinates that several oracles have in common, by their names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from bbparse.options import check_type
from bbparse.oracle.protocol import Flags, Floats, Oracle, OracleError

Ints = NDArray[np.intp]
_METHODS = ("n_coordinates", "best", "with_each", "restrict")


class Shared:
    """Which coordinates of K oracles must have the same value: those of the same name.

    ``names`` has those that two oracles or more have, S of them; ``own[k]`` the coordinates of
    oracle k that are shared, ``number[k]`` their places in `names`, both int[M_k]; ``has``
    bool[K, S] whether an oracle has a name, and ``degree`` float64[S] how many have it. What is
    given is checked: see `bbparse.agree`.
    """

    def __init__(
        self, oracles: Sequence[Oracle], names: Sequence[Sequence[Hashable | None]]
    ) -> None:
        for what, items in (("oracles", oracles), ("shared", names)):
            check_type(what, items, Sequence, "a sequence", OracleError)
        if len(oracles) < 2 or len(names) != len(oracles):
            raise OracleError(
                f"{len(oracles)} oracles and names for {len(names)}, expected two or more of both"
            )
        found: list[dict[Hashable, int]] = []
        for k, (oracle, some) in enumerate(zip(oracles, names)):
            if not all(hasattr(oracle, name) for name in _METHODS):
                raise OracleError(
                    f"oracle {k + 1} is of type {type(oracle).__name__}, expected one with"
                    f" {', '.join(_METHODS)}"
                )
            kinds = (Sequence, np.ndarray)
            check_type(f"shared[{k}]", some, kinds, "a sequence of names", OracleError)
            if len(some) != oracle.n_coordinates:
                raise OracleError(
                    f"oracle {k + 1}: {len(some)} names, expected {oracle.n_coordinates},"
                    " one for each coordinate"
                )
            if isinstance(some, np.ndarray) and some.dtype.kind in "iu":
                pairs = [(int(name), c) for c, name in enumerate(some.tolist()) if name >= 0]
            else:
                pairs = [(name, c) for c, name in enumerate(some) if name is not None]
            try:
                places = dict(pairs)
            except TypeError as error:
                raise OracleError(f"oracle {k + 1}: a name cannot be one: {error}") from None
            if len(places) != len(pairs):
                twice = next(name for name, c in pairs if places[name] != c)
                raise OracleError(f"oracle {k + 1}: two coordinates have the name {twice!r}")
            found.append(places)
        count: dict[Hashable, int] = {}
        for places in found:
            for name in places:
                count[name] = count.get(name, 0) + 1
        self.names = [name for name, c in count.items() if c > 1]
        number = {name: s for s, name in enumerate(self.names)}
        self.own: list[Ints] = []
        self.number: list[Ints] = []
        self.has = np.zeros((len(oracles), len(self.names)), np.bool_)
        for k, places in enumerate(found):
            both = [(c, number[name]) for name, c in places.items() if name in number]
            self.own.append(np.array([c for c, _ in both], np.intp))
            self.number.append(np.array([s for _, s in both], np.intp))
            self.has[k, self.number[k]] = True
        self.degree = self.has.sum(0).astype(np.float64)

    def scores(self, k: int, multipliers: Floats, n: int) -> Floats:
        """Multipliers [S] as scores of the coordinates of oracle k, float64[n]."""
        out = np.zeros(n)
        out[self.own[k]] = multipliers[self.number[k]]
        return out

    def read(self, k: int, on: Flags) -> Flags:
        """A structure of oracle k on the shared coordinates, bool[S]; off where it has none."""
        out = np.zeros(len(self.names), np.bool_)
        out[self.number[k]] = on[self.own[k]]
        return out

    def restrict(self, k: int, oracle: Oracle, on: Flags, off: Flags) -> Oracle:
        """Oracle k with shared coordinates fixed, bool[S] each; itself if it has none of them."""
        if not (self.has[k] & (on | off)).any():
            return oracle
        required = np.zeros(oracle.n_coordinates, np.bool_)
        forbidden = np.zeros(oracle.n_coordinates, np.bool_)
        required[self.own[k]] = on[self.number[k]]
        forbidden[self.own[k]] = off[self.number[k]]
        return oracle.restrict(required, forbidden)
