"""What a search tells its observer, in the arcs of the problem that was given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.bounding.state import Incumbents
from bbparse.oracle.projective.build import Chart
from bbparse.search.nodes import Open
from bbparse.search.observer import (
    BranchEvent,
    CallEvent,
    Finished,
    NodeEvent,
    Observer,
    Started,
    State,
)

#: A record of :class:`bbparse.bounding.state.Record` with room for nothing.
NOT_RECORDED = (
    np.empty((0, 4)), np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(1, np.int64),
)  # fmt: skip


class Watch:
    """An observer, and the arc of the given problem at each place of the oracle."""

    def __init__(self, observer: Observer, given: NDArray[np.int32]) -> None:
        self._observer, self._given = observer, given

    def started(self, state: tuple[Any, ...], full_size: int, moved_factors: int) -> None:
        """The search begins."""
        self._observer.started(Started(self._given, full_size, n_factors(state), moved_factors))

    def record(self, calls: int) -> tuple[Any, ...]:
        """Room for what happens in a node, where that is asked for."""
        if not self._observer.wants_calls:
            return NOT_RECORDED
        rows, arcs = calls + 2, len(self._given)
        return (
            np.empty((rows, 4)), np.empty(rows, np.int64), np.zeros(arcs, np.int64),
            np.zeros(1, np.int64),
        )  # fmt: skip

    def bounded(
        self, node: Open, inherited: float, stays: bool, record: tuple[Any, ...],
        calls: int, best: Incumbents,
    ) -> None:  # fmt: skip
        """A node is bounded: call by call if that was asked for, then as a whole."""
        rows, factors, died, used = record
        for row in range(int(used[0])):
            calls_so_far, bound, known, size = rows[row].tolist()
            alive = self._given[died > row]
            state = State(int(calls_so_far), bound, known, alive, int(size), int(factors[row]))
            self._observer.called(CallEvent(node.number, state))
        lower = float(best.scores[0]) if best.found[0] else -np.inf
        last = State(
            calls, node.bound if stays else -np.inf, lower, self._given[node.state[2] > -np.inf],
            _size(node.state), n_factors(node.state),
        )  # fmt: skip
        arc, present = node.branched
        self._observer.bounded(
            NodeEvent(
                node.number, node.parent, node.depth, self._arc(arc), present, inherited,
                not stays, last,
            )
        )  # fmt: skip

    def branched(self, node: Open, arc: int, children: list[Open]) -> None:
        """A node has got children."""
        arc = -1 if node.tree is not None else arc
        numbers = tuple(child.number for child in children)
        self._observer.branched(BranchEvent(node.number, self._arc(arc), numbers))

    def finished(self, event: Finished) -> None:
        """The search is over."""
        self._observer.finished(event)

    def _arc(self, arc: int) -> int:
        return int(self._given[arc]) if arc >= 0 else -1


def n_factors(state: tuple[Any, ...]) -> int:
    """Factors and count factors that are alive in a node."""
    return int(state[4][-1][0] + state[5][-1][0])


def _size(state: tuple[Any, ...]) -> int:
    """Size of the oracle of a node."""
    if len(state[0]) != len(Chart._fields):
        return int((state[2] > -np.inf).sum())
    item_ptr, size = state[0][0], state[0][5]
    return int(item_ptr[size[0]])
