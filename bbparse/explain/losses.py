"""What the best tree is worth to lose: each of its arcs, and the rules that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.parsing.valid import rules_for
from bbparse.problem import Problem
from bbparse.solving.solve import solve
from bbparse.validity.check import RuledSentence
from bbparse.validity.rules import Rules

if TYPE_CHECKING:
    from bbparse.parsing.parser import Parser
    from bbparse.treebank import Sentence
    from bbparse.treebank.sentence import ScoredTree


@dataclass(frozen=True, slots=True)
class ArcLoss:
    """The best tree without one arc of the best tree, under any label."""

    head: int  #: The arc.
    mod: int
    #: Score of the tree minus that of the best tree without the arc; inf where none was found.
    #: Where `exact` is False: minus that of the best one found, so that the true loss is between
    #: `least` and this.
    loss: float
    least: float  #: The true loss is not smaller.
    exact: bool  #: Whether the loss is proved.
    #: length n: the best tree without the arc; empty where there is none.
    heads: tuple[int, ...] = ()

    @property
    def forced(self) -> bool:
        """Whether every tree over the candidate arcs has the arc."""
        return self.exact and not self.heads

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
    watch: Callable[[list[int]], Iterable[int]] = iter,
    **limits: Any,
) -> list[ArcLoss]:
    """The loss of each arc of a tree, a row of `Solution.arcs`, with its score: one for each word.

    Limits are those of `bbparse.solve`, for each arc. `watch` goes through the list of arcs that
    are solved for, one by one, and may show progress.
    """
    found = []
    for m, arc in enumerate(watch(arcs.tolist()), start=1):
        head = int(problem.arc_head[arc])
        state = problem.arc_state.copy()
        state[(problem.arc_head == head) & (problem.arc_mod == m)] = -1  # whatever its label
        if problem.arc_state[arc] == 1:
            found.append(ArcLoss(head, m, np.inf, np.inf, True))
            continue
        without = solve(
            problem.changed(arc_state=state), backbone=backbone if problem.projective else None,
            explain=False, **limits,
        )  # fmt: skip
        if len(without):
            loss, least = score - without.scores[0], score - without.upper_bounds[0]
            heads = tuple(without.heads[0, 1:].tolist())
            found.append(
                ArcLoss(head, m, float(loss), float(least), bool(without.proved[0]), heads)
            )
        else:
            known = without.status == "infeasible"
            found.append(ArcLoss(head, m, np.inf, np.inf if known else -np.inf, known))
    return found


class RuleCost(NamedTuple):
    """What keeping a rule costs."""

    name: str  #: Of the rule; "all rules" for all together.
    faults: tuple[str, ...]  #: Where the best tree breaks it, in words.
    cost: float  #: How much less the best tree that keeps it scores.
    tree: ScoredTree  #: That tree; it may break other rules.


def rule_costs(
    parser: Parser, sentence: Sentence, best: ScoredTree, valid: str | Rules | None = None,
    **limits: Any,
) -> list[RuleCost]:  # fmt: skip
    """Of each rule that trees should keep and the best tree breaks, and of all of them.

    `best` is the best tree, whatever rules say; `valid`, and the limits `prune`, `time_limit` and
    `node_limit`, are as for `Parser.parse`.
    """
    rules = rules_for(valid, parser.labeller)
    if rules is None:
        return []
    texts: dict[str, list[str]] = {}
    ruled = RuledSentence(rules, sentence)
    for fault in ruled.faults(best.heads, best.labels):
        text = fault.text(sentence, best.heads, best.labels)
        texts.setdefault(fault.name, []).append(text.partition(": ")[2])

    def cost(name: str, kept: Rules) -> RuleCost:
        (tree, *_) = parser.parse(sentence, valid=kept, **limits)
        return RuleCost(name, tuple(texts.get(name, ())), best.score - tree.score, tree)

    costs = [cost(name, Rules(r for r in rules.rules if r.name == name)) for name in texts]
    if len(costs) > 1 or (costs and ruled.faults(costs[0].tree.heads, costs[0].tree.labels)):
        costs.append(cost("all rules", rules))
    return costs
