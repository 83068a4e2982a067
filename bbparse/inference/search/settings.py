"""Settings of the search."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bbparse.runtime.options import Range, check_number


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of the branch and bound.

    Attributes
    ----------
    root_calls, node_calls : int
        Maximum number of DP calls at the root and at every other node.
    eliminate_every : int
        Eliminate arcs after the first DP call and then after every ``eliminate_every`` calls; 0:
        never.
    close_k : int
        Maximum number of trees to enumerate to close a node before branching, if the oracle can
        enumerate its k best trees.

    Raises
    ------
    ConfigError
        If a setting has an impossible value.
    """

    root_calls: int = 12
    node_calls: int = 8
    eliminate_every: int = 3
    close_k: int = 16

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            check_number(f"search.{name}", value, Range(int(name != "eliminate_every")))


DEFAULT = SearchSettings()
