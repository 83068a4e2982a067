"""Joint decoding by agreement: Lagrangian relaxation, then branch and bound (RSCJ10).

For structures y_1 … y_K that must agree on shared coordinates s,

    L(u) = Σ_k max over y_k of [ θ_k(y_k) + Σ_s u_ks·y_ks ],   Σ_k u_ks = 0 for each s,

is an upper bound on the score of every joint structure. If the K maximizers agree, L(u) is the
score of the best joint structure: that is the certificate. A subgradient step lowers u_ks by the
difference of y_ks and the mean of the other structures.

The paper gives up if no certificate is found. This module then branches on a coordinate, which is
on in one child and off in the other; both children start with the multipliers of their parent.
Three things keep the search short. Structures are completed to joint ones if possible, which gives
a value to beat. A node is closed when its bound does not beat that value. A coordinate is
eliminated when the sum of its `max_marginals` over the oracles does not beat it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from bbparse.inference.oracles.protocol import Best, Oracle, OracleError
from bbparse.inference.oracles.shared import Shared
from bbparse.inference.search.search import Bounder, Node, Search, SearchLimits
from bbparse.runtime.arrays import NEG, Flags, Float64s
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import ConfigError
from bbparse.runtime.options import OPTIONS, Range, check_number

#: Bounds closer than this fraction of the score of the joint structure count as equal.
TOLERANCE = 1e-10
#: Rounding errors of a bound stay below this fraction of the magnitudes that it sums.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Agreement:
    """The best joint structure found, with its bound."""

    #: "optimal", "time_limit", "node_limit", or "infeasible": no joint structure exists.
    status: str
    value: float  #: Sum of the oracles' scores of `on`; -inf without a structure.
    bound: float  #: Upper bound on the score of every joint structure.
    #: bool[C_k] for each oracle: the coordinates of its structure; empty without a structure.
    on: tuple[Flags, ...]
    names: tuple[Hashable, ...]  #: Names of the shared coordinates that are on.
    calls: int  #: Number of calls of every oracle.
    root_calls: int  #: Number of these calls before the first branching.
    #: Number of nodes; 1 if the oracles agreed, or the bound met the value, at the root.
    nodes: int

    @property
    def proved(self) -> bool:
        """True if no joint structure is better."""
        return self.status == "optimal"

    @property
    def gap(self) -> float:
        """Difference of bound and value, at least 0; inf without a structure."""
        return max(0.0, self.bound - self.value) if self.on else float("inf")


@dataclass(eq=False, slots=True, kw_only=True)
class _Node(Node):
    """A node: restricted oracles, their multipliers, and the coordinates in dispute."""

    oracles: list[Oracle]
    multipliers: Float64s  # [K, S]
    dispute: Float64s  # [S], number of calls in which the oracles disagreed
    fixed: Flags  # [S]
    noise: float = 0.0  # maximum rounding error of the bound


def agree(
    oracles: Sequence[Oracle],
    shared: Sequence[Sequence[Hashable | None]],
    *,
    step: float = 0.5,
    root_calls: int = 50,
    node_calls: int = 20,
    node_limit: int | None = None,
    time_limit: float | None = None,
) -> Agreement:
    """Find the best structures of several oracles that agree on their shared coordinates.

    The method is dual decomposition (RSCJ10), made exact by branch and bound.

    Parameters
    ----------
    oracles : sequence of Oracle
        At least two exact oracles (`inference.oracles.protocol`): the value of `best` is the score
        of its structure.
    shared : sequence of sequences
        For each oracle, one entry per coordinate: a name (any hashable), or None for a coordinate
        that is not shared. Or an array of integers, of which negative ones stand for None.
        Coordinates with the same name must have the same value in all oracles.
    step : float
        First step, in units of scores; smaller if the best scores of all oracles add up to less.
        Steps are step·2^−η, where η counts the calls at which the bound rose (RSCJ10, Appendix B).
    root_calls, node_calls : int
        Maximum number of calls of every oracle at the root and at every other node.
    node_limit : int, optional
        Maximum number of nodes; 1: no branching, as in the paper.
    time_limit : float, optional
        Time limit in seconds.

    Returns
    -------
    Agreement
        The best joint structure found, its score, and an upper bound. Proved is that no structure
        scores more by over 1e-10 of that score, also if larger scores of the oracles cancel out;
        the rounding in the scores themselves is the oracles'.

    Raises
    ------
    OracleError
        If names and coordinates do not match, or if an oracle's best value is no number.
    ConfigError
        If an argument has an impossible value.
    """
    for name, number, within in (
        ("step", step, Range(0, whole=False)),
        ("root_calls", root_calls, Range(1)),
        ("node_calls", node_calls, Range(1)),
        ("node_limit", node_limit, OPTIONS["node_limit"]),
        ("time_limit", time_limit, OPTIONS["time_limit"]),
    ):
        check_number(name, number, within)
    if not step > 0:
        raise ConfigError(f"step is {step}, expected more than 0")
    limits = SearchLimits.of(Deadline.after(time_limit), node_limit)
    return _Agreeing(oracles, shared, step, (root_calls, node_calls), limits).run()


class _Agreeing(Bounder[_Node]):
    """Lagrangian bounds of nodes, and the best joint structure so far."""

    def __init__(
        self,
        oracles: Sequence[Oracle],
        shared: Sequence[Sequence[Hashable | None]],
        step: float,
        calls: tuple[int, int],
        limits: SearchLimits,
    ) -> None:
        self.shared = Shared(oracles, shared)  # checks them
        self.oracles = list(oracles)
        self.step = step
        self.most_calls = calls  # at the root, and at other nodes
        self.limits = limits
        self.value, self.on = NEG, tuple[Flags, ...]()
        self.tolerance = 0.0
        self.calls = self.root_calls = 0
        self.seen: set[tuple[int, bytes]] = set()

    def run(self) -> Agreement:
        """Search until no open node can beat the best joint structure, or until a limit."""
        n_shared = len(self.shared.names)
        root = _Node(
            oracles=self.oracles,
            multipliers=np.zeros((len(self.oracles), n_shared)),
            dispute=np.zeros(n_shared),
            fixed=np.zeros(n_shared, np.bool_),
        )
        search = Search(self)
        bound, status = NEG, "optimal"
        if search.bound(root):
            bound, status = search.run(root)
        if not self.on and status == "optimal":
            status = "infeasible"
        names = self.shared.read(0, self.on[0]) if self.on else np.zeros(n_shared, np.bool_)
        for k, on in enumerate(self.on):
            names |= self.shared.read(k, on)
        return Agreement(
            status,
            self.value,
            max(bound, self.value),
            self.on,
            tuple(self.shared.names[s] for s in np.flatnonzero(names)),
            self.calls,
            self.root_calls,
            search.n_nodes,
        )

    @property
    def worst(self) -> float:
        return self.value

    def matters(self, node: _Node) -> bool:
        return node.bound + self._rounding(node) > self.value + self.tolerance

    def _rounding(self, node: _Node) -> float:
        """Return the rounding error to add to a node's bound; 0 if it is negligible."""
        return node.noise if node.noise > self.tolerance else 0.0

    def _call_oracles(self, node: _Node) -> tuple[float, list[Flags]]:
        """Call every oracle under a node's multipliers; return the bound and the maximizers."""
        self.calls += 1
        total, size, structures = 0.0, 0.0, []
        for k, oracle in enumerate(node.oracles):
            scores = self.shared.scores(k, node.multipliers[k], oracle.n_coordinates)
            best = _best(k, oracle, scores)
            if best.value == NEG:
                return NEG, []
            total += best.value
            size += abs(best.value) + float(np.abs(scores[best.on]).sum())
            structures.append(best.on)
        if self.calls == 1 and size > 0.0:
            self.step = min(self.step, size)
        node.noise = max(node.noise, _ROUNDING * size)
        return total, structures

    def bound(self, node: _Node) -> None:
        """Lower a node's bound, repeatedly as long as disputed coordinates are eliminated."""
        while True:
            best = self._descend(node, self.most_calls[node.depth > 0])
            if node.depth == 0:
                self.root_calls = self.calls
            if not self.matters(node) or self.limits.deadline.is_over():
                return
            node.multipliers = best
            gone = self._eliminated(node)
            if not (gone & (node.dispute > 0)).any():
                return
            node.oracles = self._restricted(node.oracles, np.zeros_like(gone), gone)

    def _descend(self, node: _Node, calls: int) -> Float64s:
        """Take subgradient steps; return the multipliers of the best bound."""
        shared = self.shared
        last, lowest, best = np.inf, np.inf, node.multipliers
        node.multipliers = best.copy()
        node.dispute = np.zeros(len(shared.names))
        step = np.inf
        for call in range(1, calls + 1):
            bound, structures = self._call_oracles(node)
            step = min(step, self.step)
            if bound == NEG:
                node.bound = NEG
                return best
            y = np.array([shared.read(k, on) for k, on in enumerate(structures)], np.float64)
            excess = np.where(shared.has, y - y.sum(0) / shared.degree, 0.0)
            if bound < lowest:
                lowest, best = bound, node.multipliers.copy()
            agreed = not excess.any()
            if agreed:
                self._offer_agreed(np.asarray(y.any(0)))
            elif call & (call - 1) == 0:
                self._complete(structures)
            node.bound = min(node.bound, lowest)
            if agreed and (node.noise <= self.tolerance or node.fixed.all()):
                # no joint structure of the node is better
                node.bound, node.noise = min(node.bound, self.value), 0.0
            elif agreed:
                node.dispute[:] = 0.0
            if agreed or not self.matters(node) or self.limits.deadline.is_over():
                return best
            node.dispute += excess.any(0)
            step /= 2 if bound > last else 1
            # y minus the mean of the others: with two oracles, their difference
            node.multipliers -= step * excess * (shared.degree / (shared.degree - 1))
            last = bound
        return best

    def _offer_agreed(self, on: Flags) -> None:
        """Offer the best structures whose shared coordinates are ``on``, without multipliers."""
        best = []
        for k, whole in enumerate(self.oracles):
            oracle = self.shared.restrict(k, whole, on, ~on)
            best.append(_best(k, oracle, np.zeros(oracle.n_coordinates)))
        self._offer([choice.on for choice in best], [choice.value for choice in best])

    def _offer(self, structures: list[Flags], scores: list[float]) -> None:
        """Keep a joint structure if the oracles' own scores make it the best so far."""
        value = math.fsum(scores)
        if value > self.value:
            self.value, self.on = value, tuple(structures)
            self.tolerance = TOLERANCE * abs(value)

    def _complete(self, structures: list[Flags]) -> None:
        """Complete each oracle's structure to a joint one if possible, and offer that."""
        for k, structure in enumerate(structures):
            on = self.shared.read(k, structure)
            key = (k, on.tobytes())
            if key in self.seen:
                continue
            self.seen.add(key)
            fixed = self.shared.has[k].copy()
            joint, scores = list(structures), [NEG] * len(structures)
            for j in [k] + [j for j in range(len(structures)) if j != k]:
                oracle = self.shared.restrict(j, self.oracles[j], on & fixed, ~on & fixed)
                best = _best(j, oracle, np.zeros(oracle.n_coordinates))
                if best.value == NEG:
                    break
                joint[j], scores[j] = best.on, best.value
                on |= self.shared.read(j, best.on)
                fixed |= self.shared.has[j]
            else:
                self._offer(joint, scores)

    def _eliminated(self, node: _Node) -> Flags:
        """Return the shared coordinates (bool[S]) that no better joint structure of a node has."""
        total = np.zeros(len(self.shared.names))
        for k, oracle in enumerate(node.oracles):
            scores = self.shared.scores(k, node.multipliers[k], oracle.n_coordinates)
            marginals = np.full(len(total), _best(k, oracle, scores).value)
            marginals[self.shared.number[k]] = oracle.max_marginals(scores)[self.shared.own[k]]
            total += marginals
        return total + self._rounding(node) <= self.value + self.tolerance

    def _restricted(self, oracles: list[Oracle], on: Flags, off: Flags) -> list[Oracle]:
        return [self.shared.restrict(k, oracle, on, off) for k, oracle in enumerate(oracles)]

    def divide(self, node: _Node) -> list[_Node]:
        """Branch on the coordinate that is most in dispute: on in one child, off in the other.

        Disputes are weighted by their number and by the size of the multipliers. If there is no
        dispute, the multipliers are so large that rounding matters: branch on a free coordinate and
        restart the multipliers at 0.
        """
        size = np.abs(node.multipliers).max(0)
        chosen = np.zeros(len(size), np.bool_)
        dispute = node.dispute * (size + 1e-6)
        multipliers = node.multipliers
        if not dispute.any():
            dispute = np.where(node.fixed, -1.0, size)
            multipliers = np.zeros_like(multipliers)
        chosen[np.argmax(dispute)] = True
        none = np.zeros_like(chosen)
        node.bound += self._rounding(node)  # which the parts inherit
        return [
            _Node(
                oracles=self._restricted(node.oracles, on, off),
                multipliers=multipliers,
                dispute=node.dispute,
                fixed=node.fixed | chosen,
            )
            for on, off in ((chosen, none), (none, chosen))
        ]


def _best(k: int, oracle: Oracle, scores: Float64s) -> Best:
    """Return the best structure of oracle k; `OracleError` if it is none."""
    best = oracle.best(scores)
    if not best.value < np.inf:
        raise OracleError(f"oracle {k + 1}: its best value is {best.value}, expected a number")
    if np.shape(best.on) != (oracle.n_coordinates,):
        raise OracleError(
            f"oracle {k + 1}: its best structure has shape {np.shape(best.on)}, expected"
            f" ({oracle.n_coordinates},)"
        )
    return best
