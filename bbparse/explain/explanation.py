"""`explain`: everything that is to be said about the best trees of one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bbparse.errors import ProblemError
from bbparse.explain.losses import ArcLoss, RuleCost, arc_losses, rule_costs
from bbparse.explain.terms import Feature, Term, terms_of, with_features
from bbparse.explain.trace import Trace, trace_search

if TYPE_CHECKING:
    from bbparse.parsing.parser import Parser, ScoredTree
    from bbparse.problem import Problem, Solution
    from bbparse.treebank import Sentence
    from bbparse.validity.rules import Rules


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

    def feature_balance(self, k: int) -> list[tuple[tuple[str, str], float]]:
        """What each feature is worth in the best tree less what it is in tree k (from 0).

        Returns
        -------
        list of ((kind, feature), difference)
            The differences that are not 0, the largest magnitude first; they add up to the
            difference of the scores. A term without known features counts as one feature.
        """
        sums: dict[tuple[str, str], list[float]] = {}
        for sign, terms in ((1.0, self.terms[0]), (-1.0, self.terms[k])):
            for term in terms:
                features = term.features or (Feature("score of " + str(term.words), term.value),)
                for feature in features:
                    key = (term.kind, feature.text)
                    sums.setdefault(key, []).append(sign * feature.weight)
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
    terms = with_features(
        parser,
        sentence,
        [
            (heads, terms_of(problem, arcs, parser, sentence))
            for arcs, heads in zip(solution.arcs, solution.heads)
        ],
        prune,
    )
    losses = arc_losses(
        problem, solution.arcs[0], float(solution.scores[0]), watch=watch, **method
    )
    trace = trace_search(problem, **method)
    trees = parser.labelled(sentence, solution).trees
    rules = rule_costs(parser, sentence, trees[0], valid, prune=prune, **limits)
    return Explanation(
        sentence, problem, solution, trees, terms, losses, trace, backbone,
        [family.name for family in parser.maker.families], rules,
    )  # fmt: skip
