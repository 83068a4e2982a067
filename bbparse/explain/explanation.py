"""`explain`: everything that is to be said about the best trees of one sentence.

With what the best one is worth to lose: each of its arcs, and the rules that it breaks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bbparse.deadline import NO_DEADLINE, Deadline
from bbparse.errors import ProblemError
from bbparse.explain.terms import PARTS, Feature, Term, names_of, terms_of, with_features
from bbparse.explain.trace import Trace, trace_search
from bbparse.parsing.valid import rules_for
from bbparse.problem import Problem
from bbparse.solving.solve import solve
from bbparse.validity.check import RuledSentence
from bbparse.validity.rules import Rules

if TYPE_CHECKING:
    from bbparse.parsing.parser import Parser
    from bbparse.problem import Solution
    from bbparse.treebank import Sentence
    from bbparse.treebank.sentence import ScoredTree

K = TypeVar("K", str, tuple[str, str])


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
    deadline: Deadline = NO_DEADLINE,
    **limits: Any,
) -> list[ArcLoss]:
    """The loss of each arc of a tree, a row of `Solution.arcs`, with its score: one for each word.

    Limits are those of `bbparse.solve`, for each arc; after the deadline nothing is known of those
    that are left. `watch` goes through the list of arcs that are solved for, one by one, and may
    show progress.
    """
    found = []
    for m, arc in enumerate(watch(arcs.tolist()), start=1):
        head = int(problem.arc_head[arc])
        state = problem.arc_state.copy()
        state[(problem.arc_head == head) & (problem.arc_mod == m)] = -1  # whatever its label
        if problem.arc_state[arc] == 1:
            found.append(ArcLoss(head, m, np.inf, np.inf, True))
            continue
        if deadline.is_over():
            found.append(ArcLoss(head, m, np.inf, -np.inf, False))
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


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a tree is the best one of its sentence."""

    sentence: Sentence
    problem: Problem  #: Candidate arcs and scores.
    solution: Solution  #: Of the search for the k best trees.
    trees: list[ScoredTree]  #: The k best trees, with labels.
    terms: list[list[Term]]  #: What the score of each tree is made of.
    losses: list[ArcLoss]  #: One for each arc of the best tree.
    trace: Trace  #: The search for the best tree.
    backbone: str  #: The dynamic program.
    families: list[str]  #: Names of the factor families.
    rules: list[RuleCost] = field(default_factory=list)  #: Rules that the best tree breaks.

    @property
    def best(self) -> ScoredTree:
        """The best tree."""
        return self.trees[0]

    @property
    def close_calls(self) -> set[int]:
        """Words whose arc costs less to lose than a quarter of the median loss."""
        finite = [loss.loss for loss in self.losses if np.isfinite(loss.loss)]
        if len(finite) < 2:
            return set()
        limit = 0.25 * float(np.median(finite))
        return {loss.mod for loss in self.losses if loss.loss < limit}

    @property
    def eliminated(self) -> dict[tuple[int, int], int]:
        """DP calls after which each arc (head, modifier) was eliminated at the first node; 0:
        before the search. Arcs of the best tree are left out: they go last, as no tree is better.
        """
        best = {(head, m) for m, head in enumerate(self.best.heads, start=1)}
        return {arc: calls for arc, calls in self.trace.gone.items() if arc not in best}

    def changed(self, k: int) -> list[int]:
        """Words that have another head in tree k (from 0) than in the best."""
        pairs = zip(self.trees[k].heads, self.best.heads)
        return [m for m, (head, other) in enumerate(pairs, start=1) if head != other]

    @property
    def candidates(self) -> set[tuple[int, int]]:
        """Candidate arcs (head, modifier), whatever their labels."""
        return set(zip(self.problem.arc_head.tolist(), self.problem.arc_mod.tolist()))

    def in_words(self, term: Term) -> str:
        """The words of a term, as its kind reads them."""
        forms = ["root", *names_of(self.sentence)]
        if term.kind in ("sib", "gsib"):
            *above, inner, outer = term.words
            chain = " → ".join(forms[w] for w in above)
            beside = f"{forms[inner]}, " if inner >= 0 else "nearest: "
            return f"{chain} → {beside}{forms[outer]}"
        if term.kind in PARTS:
            return " → ".join(forms[w] for w in term.words)
        return ", ".join(f"{forms[h]} → {forms[m]}" for h, m in term.arcs)

    @property
    def by_network(self) -> bool:
        """Whether a network scores arcs and parts."""
        return any(term.without for terms in self.terms for term in terms)

    def feature_balance(self, k: int) -> list[tuple[tuple[str, str], float]]:
        """What each feature is worth in the best tree less what it is in tree k (from 0).

        Returns
        -------
        list of ((kind, feature), difference)
            The differences that are not 0, the largest magnitude first; they add up to the
            difference of the scores. A term without features, such as those of a network, counts
            as one, which is named by its words.
        """
        return _nets(
            ((term.kind, feature.text), sign * feature.weight)
            for sign, terms in ((1.0, self.terms[0]), (-1.0, self.terms[k]))
            for term in terms
            for feature in term.features or (Feature(self.in_words(term), term.value),)
        )

    def word_balance(self, k: int) -> list[Feature]:
        """How much less the best tree is ahead of tree k (from 0) where nothing is known of a word.

        By what the network scores; words that change nothing are left out, and the largest
        magnitude comes first.
        """
        nets = _nets(
            (word.text, sign * word.weight)
            for sign, terms in ((1.0, self.terms[0]), (-1.0, self.terms[k]))
            for term in terms
            for word in term.without
        )
        return [Feature(*entry) for entry in nets]


def _nets(weights: Iterable[tuple[K, float]]) -> list[tuple[K, float]]:
    """Sums by key that are not 0, the largest magnitude first."""
    sums: dict[K, list[float]] = {}
    for key, weight in weights:
        sums.setdefault(key, []).append(weight)
    nets = ((key, math.fsum(values)) for key, values in sums.items())
    return sorted(
        ((key, net) for key, net in nets if net), key=lambda entry: (-abs(entry[1]), entry[0])
    )


def explain(
    parser: Parser,
    sentence: Sentence,
    *,
    k_best: int = 3,
    prune: int | None = None,
    valid: str | Rules | None = None,
    watch: Callable[[list[int]], Iterable[int]] = iter,
    deadline: Deadline = NO_DEADLINE,
    **limits: Any,
) -> Explanation:
    """Parse a sentence and collect why its best tree is the best.

    Parameters
    ----------
    parser : Parser
    sentence : Sentence
        Its heads and labels are not looked at.
    k_best : int
        How many trees to show; all there are over the candidate arcs where fewer exist.
    prune : int, optional
        Most candidate heads of a word, instead of the model's; 0: all arcs.
    valid : str or Rules, optional
        What the best tree, which is the best whatever rules say, would have to keep: as for
        `Parser.parse`. The page has what each rule that it breaks would cost.
    watch : callable
        As for `arc_losses`, which take most of the time.
    deadline : Deadline
        Of all together: what there is no time for is told as not known, as are the features of
        arcs and parts where the searches took all of it.
    limits
        `node_limit` and `time_limit` of `bbparse.solve`, for each of the searches: one for the best
        trees, one that is traced, and one for each arc.

    Raises
    ------
    ProblemError
        If the sentence has no tree, or too many parts for memory.
    """
    problem = parser.problem(sentence, prune)
    backbone = parser.config.model.backbone
    method = {"backbone": backbone, "settings": parser.config.search, **limits}
    solution = parser.solve_problem(problem, k_best=k_best, **limits)
    if not len(solution):
        raise ProblemError(f"{sentence.name}: there is no tree to explain ({solution.status})")
    losses = arc_losses(
        problem, solution.arcs[0], float(solution.scores[0]), watch=watch, deadline=deadline,
        **method,
    )
    trace = trace_search(problem, **method)
    trees = parser.labelled(sentence, solution).trees
    rules = rule_costs(parser, sentence, trees[0], valid, prune=prune, **limits)
    terms = [terms_of(problem, arcs, parser, sentence) for arcs in solution.arcs]
    if not deadline.is_over():
        terms = with_features(parser, sentence, list(zip(solution.heads, terms)), deadline)
    return Explanation(
        sentence, problem, solution, trees, terms, losses, trace, backbone,
        [family.name for family in parser.maker.families], rules,
    )  # fmt: skip
