"""What each arc of the best tree is worth: how much would be lost without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bbparse.oracle.projective.chart import Chart, build, parts_of
from bbparse.oracle.projective.recurrences import RECURRENCES, cheapest
from bbparse.problem import Problem
from bbparse.search.settings import DEFAULT, SearchSettings
from bbparse.solve import solve
from bbparse.solving.presolve import presolve

if TYPE_CHECKING:
    from bbparse.solving.presolve import PresolveInfo

__all__ = ["ArcLoss", "arc_losses"]

#: How a loss was found.
MAX_MARGINALS, SEARCH, NO_OTHER = "max-marginals", "search", "no other tree"


@dataclass(frozen=True, slots=True)
class ArcLoss:
    """The best tree without one arc of the best tree, under any label.

    Attributes
    ----------
    head, mod : int
        The arc.
    loss : float
        Score of the tree minus that of the best tree without the arc; inf where the candidate
        arcs hold no other tree. Where `exact` is False: minus that of the best one found, so that
        the true loss is between `least` and this.
    least : float
        The true loss is not smaller.
    exact : bool
        Whether the loss is proved.
    method : str
        How it was found: "max-marginals" (one inside-outside pass over the dynamic program, where
        no factor is left outside it), "search" (solved anew with the arc forbidden), or "no other
        tree".
    heads : tuple of int, length n
        The best tree without the arc; empty where there is none.
    """

    head: int
    mod: int
    loss: float
    least: float
    exact: bool
    method: str
    heads: tuple[int, ...] = ()

    @property
    def instead(self) -> int | None:
        """The head that the word has then."""
        return self.heads[self.mod - 1] if self.heads else None

    def others_changed(self, best: tuple[int, ...]) -> int:
        """How many other words have another head then."""
        pairs = enumerate(zip(best, self.heads), start=1)
        return sum(a != b for m, (a, b) in pairs if m != self.mod)


def arc_losses(
    problem: Problem,
    arcs: NDArray[np.int32],
    score: float,
    *,
    backbone: str | None = None,
    settings: SearchSettings = DEFAULT,
    node_limit: int | None = None,
    time_limit: float | None = None,
    watch: Callable[[list[int]], Iterable[int]] = iter,
) -> list[ArcLoss]:
    """The loss of each arc of a tree.

    Parameters
    ----------
    problem : Problem
    arcs : int32[n]
        The tree, a row of `Solution.arcs`.
    score : float
        Its score.
    backbone, settings, node_limit, time_limit : as for `bbparse.solve`
        The limits are for each arc.
    watch : callable
        Goes through the list of arcs that are solved for, one by one; may show progress.

    Returns
    -------
    list of ArcLoss
        One for each word.
    """
    if problem.projective:
        recurrence = cheapest(parts_of(problem)) if backbone is None else RECURRENCES[backbone]
        small, info = presolve(problem, recurrence.holds)
        if not len(small.factor_score) and not len(small.count_arcs):
            return _by_max_marginals(problem, build(small, recurrence), info, arcs, score)
    found = []
    for m, arc in enumerate(watch(arcs.tolist()), start=1):
        head = int(problem.arc_head[arc])
        if problem.arc_state[arc] == 1:
            found.append(ArcLoss(head, m, np.inf, np.inf, True, NO_OTHER))
            continue
        state = problem.arc_state.copy()
        state[(problem.arc_head == head) & (problem.arc_mod == m)] = -1  # whatever its label
        without = solve(
            problem.changed(arc_state=state), backbone=backbone if problem.projective else None,
            settings=settings, node_limit=node_limit, time_limit=time_limit, explain=False,
        )  # fmt: skip
        if len(without):
            found.append(
                ArcLoss(
                    head, m, score - float(without.scores[0]),
                    score - float(without.upper_bounds[0]), bool(without.proved[0]), SEARCH,
                    tuple(without.heads[0, 1:].tolist()),
                )
            )
        else:
            known = without.status == "infeasible"
            least = np.inf if known else -np.inf
            found.append(ArcLoss(head, m, np.inf, least, known, NO_OTHER if known else SEARCH))
    return found


def _by_max_marginals(
    problem: Problem,
    chart: Chart,
    info: PresolveInfo,
    arcs: NDArray[np.int32],
    score: float,
) -> list[ArcLoss]:
    """A tree without an arc has another arc into the same word: the best max-marginal of those."""
    best = np.full(len(problem.arc_head), -np.inf)
    best[info.arcs] = chart.max_marginals()
    place = np.full(len(problem.arc_head), -1)
    place[info.arcs[chart.order]] = np.arange(len(chart.order))
    found = []
    for m, arc in enumerate(arcs.tolist(), start=1):
        rivals = np.flatnonzero((problem.arc_mod == m) & (best > -np.inf))
        head = int(problem.arc_head[arc])
        rivals = rivals[problem.arc_head[rivals] != head]
        if not len(rivals):
            found.append(ArcLoss(head, m, np.inf, np.inf, True, NO_OTHER))
            continue
        chosen = int(rivals[np.argmax(best[rivals])])
        only = chart.arc_score.copy()
        into = place[np.flatnonzero((problem.arc_mod == m) & (place >= 0))]
        only[into[into != place[chosen]]] = -np.inf
        value, tree = replace(chart, arc_score=only).viterbi()
        heads = tuple(problem.arc_head[info.arcs[tree]].tolist())
        loss = score - value
        found.append(ArcLoss(head, m, loss, loss, True, MAX_MARGINALS, heads))
    return found
