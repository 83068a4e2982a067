"""`explain`: why the best tree of a sentence is the best.

An `Explanation` includes the max-marginal gap of each arc and the validity rules that are broken.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bbparse.apps.explain.terms import (
    PARTS,
    Feature,
    Term,
    by_magnitude,
    names_of,
    terms_of,
    with_features,
)
from bbparse.apps.explain.trace import Trace, trace_search
from bbparse.core import Problem, Solution
from bbparse.inference.solve import solve
from bbparse.models.factors.tree_family import TreeFamily
from bbparse.models.factors.tree_family import terms_of_tree as family_terms
from bbparse.models.factors.view import ROOT
from bbparse.models.scoring.problem_maker import Scored
from bbparse.parser.batch import with_graphs
from bbparse.parser.parse import AnyTreeFamily, Parse, ParseOptions, trees_of
from bbparse.parser.parser import Parser
from bbparse.parser.search import Search
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.rules import Rules, rules_for
from bbparse.runtime.deadline import NO_DEADLINE, Deadline
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import ScoredTree
from bbparse.treebank.trees import changed_words

K = TypeVar("K", str, tuple[str, str])


@dataclass(frozen=True, slots=True)
class ArcGap:
    """The best tree without one arc of the overall best tree, under any label."""

    head: int  #: Head of the arc.
    mod: int
    #: Score of the best tree minus that of the best tree without the arc; inf if none was found.
    #: If `exact` is False, minus that of the best one found: the true gap is at most this.
    gap: float
    exact: bool  #: True if the gap is proved.
    #: length n: heads of the best tree without the arc; empty if there is none.
    heads: tuple[int, ...] = ()

    @property
    def forced(self) -> bool:
        """True if every tree over the candidate arcs has the arc."""
        return self.exact and not self.heads


def arc_gaps(
    problem: Problem,
    arcs: NDArray[np.int32],
    score: float,
    *,
    backbone: str | None = None,
    deadline: Deadline = NO_DEADLINE,
    **limits: Any,
) -> list[ArcGap]:
    """Find the max-marginal gap of each arc of a tree: int32[n], a row of `Solution.arcs`.

    Gaps for which no time is left are unknown; `limits` are options of `solve` for each search.
    """
    gaps = []
    for m, arc in enumerate(watched(arcs.tolist(), "arcs", ""), start=1):
        head = int(problem.arc_head[arc])
        state = problem.arc_state.copy()
        state[(problem.arc_head == head) & (problem.arc_mod == m)] = -1  # whatever its label
        known = bool(problem.arc_state[arc] == 1)  # a required arc: there is no tree without it
        if not known and not deadline.is_over():
            without = solve(
                problem.changed(arc_state=state),
                backbone=backbone if problem.projective else None,
                explain=False,
                **limits,
            )
            if len(without):
                gap, proved = float(score - without.scores[0]), bool(without.proved[0])
                gaps.append(ArcGap(head, m, gap, proved, (*without.heads[0, 1:].tolist(),)))
                continue
            known = without.status == "infeasible"
        gaps.append(ArcGap(head, m, np.inf, known))
    return gaps


def broken_rules(
    parser: Parser,
    sentence: Sentence,
    best: ScoredTree,
    valid: str | Rules | None = None,
    **limits: Any,
) -> tuple[list[str], ScoredTree | None]:
    """Return the validity rules that the best tree breaks, in words, and the best valid tree."""
    rules = rules_for(valid, parser.model.labeller)
    if rules is None:
        return [], None
    faults = RuledSentence(rules, sentence).faults(best.heads, best.labels)
    texts = [fault.text(sentence, best.heads, best.labels) for fault in faults]
    return texts, parser.parse(sentence, k_best=1, valid=rules, **limits)[0] if texts else None


def _tree_terms(
    parser: Parser,
    scored: Scored,
    families: Sequence[TreeFamily],
    arcs: NDArray[np.int32],
    heads: NDArray[np.int32],
) -> list[Term]:
    """Return all terms of a tree, with those of tree families, whose texts are its features."""
    terms = terms_of(scored, arcs, parser)
    if families:
        view = parser.model.maker.view_of(scored)
        labels = parser.model.labels_of(scored, heads)
        labels = [ROOT, *labels] if labels else []
        for family in families:
            texts = by_magnitude(
                Feature(*term) for term in family_terms(family, view, heads, labels)
            )
            if value := math.fsum(text.weight for text in texts):
                terms.append(Term(family.name, (), (), value, texts))
    return terms


@dataclass(frozen=True, slots=True)
class Explanation:
    """The best trees of a sentence, with the reasons why the first is the best."""

    sentence: Sentence
    problem: Problem  #: Candidate arcs and scores.
    solution: Solution  #: Result of the search for the k best trees.
    trees: list[ScoredTree]  #: The k best trees, with labels.
    terms: list[list[Term]]  #: The summands of the score of each tree.
    gaps: list[ArcGap]  #: One for each arc of the best tree.
    trace: Trace  #: The search for the best tree; without nodes if whole trees have scores.
    backbone: str  #: The dynamic program.
    families: list[str]  #: Names of the factor families.
    faults: list[str] = field(default_factory=list)  #: Validity rules the best tree breaks.
    valid: ScoredTree | None = None  #: The best tree that keeps all rules, if it is another.

    @property
    def best(self) -> ScoredTree:
        """The best tree."""
        return self.trees[0]

    @property
    def close_calls(self) -> set[int]:
        """Words whose arc has a gap below a quarter of the median gap."""
        finite = [gap.gap for gap in self.gaps if np.isfinite(gap.gap)]
        if len(finite) < 2:
            return set()
        limit = 0.25 * float(np.median(finite))
        return {gap.mod for gap in self.gaps if gap.gap < limit}

    def changed(self, k: int) -> list[int]:
        """Return the words whose head in tree k differs from that in the best tree."""
        return changed_words(self.trees[k].heads, self.best.heads)

    @property
    def candidates(self) -> set[tuple[int, int]]:
        """Candidate arcs (head, modifier), without labels."""
        return set(zip(self.problem.arc_head.tolist(), self.problem.arc_mod.tolist()))

    def in_words(self, term: Term) -> str:
        """Format the words of a term according to its kind."""
        forms = ["root", *names_of(self.sentence)]
        if term.kind in ("sib", "gsib"):
            *above, inner, outer = term.words
            chain = " → ".join(forms[w] for w in above)
            beside = f"{forms[inner]}, " if inner >= 0 else "nearest: "
            return f"{chain} → {beside}{forms[outer]}"
        if term.kind in PARTS:
            return " → ".join(forms[w] for w in term.words)
        if not term.arcs:
            return "the whole tree"
        return ", ".join(f"{forms[h]} → {forms[m]}" for h, m in term.arcs)

    @property
    def by_network(self) -> bool:
        """True if a network scores arcs and parts."""
        return any(term.without for terms in self.terms for term in terms)

    def _balance(
        self, k: int, entries: Callable[[Term], Iterable[tuple[K, float]]]
    ) -> list[tuple[K, float]]:
        """Return the non-zero differences by key, best tree less tree k, largest first."""
        sums: dict[K, list[float]] = defaultdict(list)
        for sign, terms in ((1.0, self.terms[0]), (-1.0, self.terms[k])):
            for term in terms:
                for key, weight in entries(term):
                    sums[key].append(sign * weight)
        nets = [(key, math.fsum(weights)) for key, weights in sums.items()]
        return sorted(
            [(key, net) for key, net in nets if net], key=lambda entry: (-abs(entry[1]), entry[0])
        )

    def feature_balance(self, k: int) -> list[tuple[tuple[str, str], float]]:
        """Return the difference in weight, best tree less tree k, by kind and feature.

        They add up to the difference of the scores. A network's term counts as one feature.
        """
        return self._balance(
            k,
            lambda term: [
                ((term.kind, feature.text), feature.weight)
                for feature in term.features or (Feature(self.in_words(term), term.value),)
            ],
        )

    def word_balance(self, k: int) -> list[Feature]:
        """Return how much of the lead over tree k is lost if the network does not know a word."""
        nets = self._balance(k, lambda term: [(word.text, word.weight) for word in term.without])
        return [Feature(*entry) for entry in nets]


def explain(
    parser: Parser,
    sentence: Sentence,
    *,
    k_best: int = 3,
    prune: int | None = None,
    valid: str | Rules | None = None,
    deadline: Deadline = NO_DEADLINE,
    tree_score: AnyTreeFamily | None = None,
    **limits: Any,
) -> Explanation:
    """Parse a sentence and explain why its best tree is the best.

    Parameters
    ----------
    parser : Parser
    sentence : Sentence
        Its heads and labels are ignored.
    k_best, prune, tree_score
        As in `Parser.parse`.
    valid : str or Rules, optional
        Validity rules. The best tree is found without them; the page shows which of them it breaks,
        and the best valid tree.
    deadline : Deadline
        Gaps and features for which no time is left are omitted.
    limits
        `node_limit` and `time_limit` of each search: one for the best trees, one for the trace, one
        for each arc, and one for the best valid tree if rules are broken.
    """
    options = ParseOptions(k_best=k_best, valid="none", **limits)
    parser = parser.with_options(options, tree_score=tree_score)
    search, families = Search(parser, sentence), parser.families
    scored = search.score(prune, None)
    problem, backbone = scored.problem, parser.model.config.model.backbone
    method = {"backbone": backbone, "settings": parser.model.config.search, **limits}
    solution = search.solver(scored)(problem)
    if not len(solution):
        raise ProblemError(f"{sentence.name}: there is no tree to explain ({solution.status})")
    gaps = arc_gaps(
        problem,
        solution.arcs[0],
        float(solution.scores[0]),
        deadline=deadline,
        **method,
        **search.whole_trees(scored),
    )
    trees = trees_of(sentence, search.label(scored, solution))
    (parse,) = with_graphs(parser, [Parse(sentence, trees, solution.status, solution.stats)])
    trees = parse.trees
    terms = [
        _tree_terms(parser, scored, families, *tree) for tree in zip(solution.arcs, solution.heads)
    ]
    if families:
        trace = Trace(
            status=solution.status,
            upper=solution.upper_bound,
            lower=float(solution.scores[0]),
            dp_calls=int(solution.stats["dp_calls"]),
        )
    else:
        trace = trace_search(problem, **method)
    broken = broken_rules(parser, sentence, trees[0], valid, prune=prune)
    if not deadline.is_over():
        terms = with_features(parser, sentence, list(zip(solution.heads, terms)), deadline)
    names = dict.fromkeys(family.name for family in (*parser.model.maker.families, *families))
    return Explanation(
        sentence, problem, solution, trees, terms, gaps, trace, backbone, [*names], *broken
    )
