"""How a search is run: one frozen record, with the paper's choices and ours by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bbparse.bounding.node import MIXED, PAPER
from bbparse.errors import ConfigError

METHODS = {"paper": PAPER, "mixed": MIXED}
#: Methods of earlier versions, which `mixed` is made of.
_GONE = ("polyak", "max-marginal")
ORDERS = ("best-first", "level")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Choices of the branch and bound.

    Attributes
    ----------
    method : {"mixed", "paper"}
        Multiplier update: subgradient with the paper's step; or block coordinate descent on
        max-marginal differences where elimination finds them, and Polyak's step elsewhere.
    order : {"best-first", "level"}
        Which node next; ``level`` branches a whole level on the arc of its node with the highest
        lower bound (QL13 §3.3).
    lower_start : int
        DP calls given to the alternating lower-bound start (QL13 §3.4); 0: none.
    root_calls, node_calls : int
        Most DP calls at the root and at every other node.
    eliminate_every : int
        Arc elimination after the first and then every so many DP calls; 0: never.
    close_k : int
        Most trees listed to close a node before branching, where the oracle can list.
    precision : float
        Stop at a node when the bound falls by less.
    """

    method: str = "mixed"
    order: str = "best-first"
    lower_start: int = 0
    root_calls: int = 12
    node_calls: int = 8
    eliminate_every: int = 3
    close_k: int = 16
    precision: float = 1e-8

    def __post_init__(self) -> None:
        if self.method in _GONE:
            raise ConfigError(
                f"search.method {self.method!r} is no longer there: use 'mixed', which is made of"
                f" {' and '.join(map(repr, _GONE))}, or 'paper'"
            )
        if self.method not in METHODS:
            raise ConfigError(f"search.method is {self.method!r}, expected one of {list(METHODS)}")
        if self.order not in ORDERS:
            raise ConfigError(f"search.order is {self.order!r}, expected one of {list(ORDERS)}")
        for name, least in (
            ("lower_start", 0), ("root_calls", 1), ("node_calls", 1), ("eliminate_every", 0),
            ("close_k", 1),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(
                    f"search.{name} is {value!r}, expected a whole number >= {least}"
                )

        real = isinstance(self.precision, int | float) and not isinstance(self.precision, bool)
        if not real or not self.precision >= 0.0:
            raise ConfigError(f"search.precision is {self.precision!r}, expected 0 or more")

    def with_(self, **changes: Any) -> SearchSettings:
        return replace(self, **changes)


DEFAULT = SearchSettings()
#: QL13 as published: subgradient, level by level, no elimination, no listing.
AS_PUBLISHED = SearchSettings(
    method="paper", order="level", lower_start=10, root_calls=200, node_calls=200,
    eliminate_every=0, close_k=1,
)  # fmt: skip
