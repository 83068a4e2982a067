"""Settings of the search: one frozen record, with named presets for the paper and the default."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bbparse.inference.relaxation.node import MIXED, PAPER
from bbparse.inference.relaxation.state import Limits
from bbparse.runtime.errors import ConfigError
from bbparse.runtime.options import Range, check_number

METHODS = {"paper": PAPER, "mixed": MIXED}
ORDERS = ("best-first", "level")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of the branch and bound.

    Attributes
    ----------
    method : {"mixed", "paper"}
        Multiplier update. ``paper``: subgradient steps of the paper's length. ``mixed``: block
        coordinate descent on max-marginal differences in calls that eliminate arcs, and Polyak
        steps in the others.
    order : {"best-first", "level"}
        Order of nodes. ``best-first`` takes the node with the highest bound. ``level`` branches a
        whole level on the arc of its node with the highest lower bound (QL13 §3.3).
    lower_start : int
        Number of DP calls for the alternating lower-bound start (QL13 §3.4); 0: none.
    root_calls, node_calls : int
        Maximum number of DP calls at the root and at every other node.
    eliminate_every : int
        Eliminate arcs after the first DP call and then after every ``eliminate_every`` calls; 0:
        never.
    close_k : int
        Maximum number of trees to enumerate to close a node before branching, if the oracle can
        enumerate its k best trees.
    precision : float
        Stop bounding a node when the bound falls by less, in units of scores.

    Raises
    ------
    ConfigError
        If a setting has an impossible value.
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
        if self.method not in METHODS:
            raise ConfigError(f"search.method is {self.method!r}, expected one of {list(METHODS)}")
        if self.order not in ORDERS:
            raise ConfigError(f"search.order is {self.order!r}, expected one of {list(ORDERS)}")
        for name, least in (
            ("lower_start", 0), ("root_calls", 1), ("node_calls", 1), ("eliminate_every", 0),
            ("close_k", 1),
        ):  # fmt: skip
            check_number(f"search.{name}", getattr(self, name), Range(least))
        check_number("search.precision", self.precision, Range(0, whole=False))

    def with_(self, **changes: Any) -> SearchSettings:
        return replace(self, **changes)

    def limits(
        self, calls: int, work: float, until: float, quantum: float, *scale: float
    ) -> Limits:
        """Return the limits of a node; ``scale`` are its last fields."""
        return Limits(
            METHODS[self.method], calls, work, until, self.eliminate_every, self.close_k,
            self.precision, quantum, *scale,
        )  # fmt: skip


DEFAULT = SearchSettings()
#: QL13 as published: subgradient, level by level, no elimination, no enumeration.
AS_PUBLISHED = SearchSettings(
    method="paper", order="level", lower_start=10, root_calls=200, node_calls=200,
    eliminate_every=0, close_k=1,
)  # fmt: skip
