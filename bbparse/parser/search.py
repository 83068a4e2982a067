"""`Search`: the best valid trees of one sentence.

A sentence is searched if more is asked than its best tree, or if that tree breaks validity rules.
Trees are found and get labels, those that break rules give way to valid ones, all this over more
arcs as long as there are too few trees (`Search.best_trees`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.models.factors.tree_family import tree_options
from bbparse.models.scoring.candidates import LONG
from bbparse.models.scoring.labeller import Labelling
from bbparse.models.scoring.problem_maker import Scored
from bbparse.parser.confidence import evidence_of
from bbparse.parser.parse import Parse, trees_of
from bbparse.parser.spans import Spans
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.constraints import Candidates
from bbparse.parser.validity.lazily import ValidTrees, solve_valid
from bbparse.runtime.arrays import Float64s, Ints
from bbparse.runtime.deadline import NO_DEADLINE, Deadline
from bbparse.runtime.errors import FactorError, ProblemError, TreebankError
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import given_heads
from bbparse.treebank.trees import crossing_words

if TYPE_CHECKING:
    from bbparse.parser.parser import Parser

Solver = Callable[..., Solution]
"""Solves a problem; also takes the work ``spent`` already, and options of `bbparse.solve`."""

#: A constraint on the trees of a sentence besides its heads: maps a problem to a restricted one.
Restriction = Callable[[Problem], Problem]

#: Hyperedges that the search of one sentence may visit by default: seventy times the most that a
#: sentence of UD English EWT's dev set needs. `LONG` sentences get fewer: their nodes cost more.
WORK_LIMIT = 3e7
#: Default node limit of price and cut for one sentence; almost all sentences need one node.
NODE_LIMIT = 50
#: Default limit on the trees of one sentence that tree families score.
TREE_LIMIT = 1000
#: Seconds that scoring all arcs of a sentence may take, per cube of its length.
_ALL_ARCS = 2e-6
#: Candidate heads a word that often contain a tree that the fewest do not.
_SOME_HEADS = 10
#: Most arcs that a message names.
_NAMED = 6


def _work_limit(problem: Problem, spent: float = 0.0) -> float:
    """Return the limit on the work of a sentence's search, some of which is ``spent``."""
    left = max(WORK_LIMIT - spent, 0.25 * WORK_LIMIT)
    return left * min(1.0, LONG / problem.n_words)


class Search:
    """The search of one sentence under the options of a `Parser`; its time begins now.

    ``until``, ``restrict`` and ``reasons`` are those of `Parser.parse_all`.
    """

    def __init__(
        self,
        parser: Parser,
        sentence: Sentence,
        until: Deadline = NO_DEADLINE,
        restrict: Restriction | None = None,
        reasons: bool = True,
    ) -> None:
        self.parser, self.sentence = parser, sentence
        self.model, self.options, self.spans = parser.model, parser.options, parser.spans
        self.restrict, self.reasons = restrict, reasons
        self.deadline = until.within(self.options.time_limit)
        self.ruled = None if parser.rules is None else RuledSentence(parser.rules, sentence)
        #: Heads and labels to keep, by modifier.
        self.heads, self.labels = dict[int, int](), dict[int, str]()
        if self.options.keep_heads:
            self.heads = given_heads(sentence)
            _check_crossing(sentence, self.model.config.projective)
            names = sentence.deprels
            self.labels = {m: names[m - 1] for m in self.heads if names[m - 1] != "_"}

    def parse(self, scored: Scored | None = None) -> Parse:
        """Parse the sentence, which may be ``scored`` already; name firm spans in the way."""
        try:
            scored, found = self._parse(scored)
        except TreebankError as error:
            against = self._blame(math.inf)
            raise TreebankError(f"{error}{against}") from None
        if any(found.faults[:1]):
            first, *others = found.faults
            against = self._blame(len(first))
            named = [fault._replace(name=fault.name + against) for fault in first]
            found = found._replace(faults=[named, *others])
        confidences = []
        if self.parser.calibration is not None:
            rows = zip(found.solution.arcs, found.labels or repeat([]))
            for row in self.deadline.through(rows):
                confidences.append(self.parser.calibration(evidence_of(self.model, scored, *row)))
            found = found.first(len(confidences))
        solution, trees = found.solution, trees_of(self.sentence, found, confidences)
        return Parse(self.sentence, trees, solution.status, solution.stats)

    def _parse(self, scored: Scored | None) -> tuple[Scored, ValidTrees]:
        if scored is not None:
            scored = self.constrained(scored)
        scored, found, complete = self.best_trees(scored)
        is_given = self.options.keep_heads or self.restrict is not None
        if found.solution.status == "infeasible" and (is_given or self.parser.has_constraints):
            others = self.restrict, self.spans, self.parser.edges
            raise _no_tree(scored, found.solution, complete, any(x is not None for x in others))
        return scored, found

    def _blame(self, n_faults: float) -> str:
        """Name the spans without which the sentence has fewer faults."""

        def count(spans: Spans) -> float:
            other = copy(self)
            other.spans, other.reasons = spans, False
            try:
                return sum(map(len, other._parse(None)[1].faults[:1]))
            except TreebankError:
                return math.inf

        return "" if self.spans is None else self.spans.blame(self.sentence, count, n_faults)

    # ---- score ---------------------------------------------------------------------------------

    def score(self, prune: int | None, margin: float | None) -> Scored:
        """Return the scored sentence over the arcs that `ProblemMaker` retains."""
        (scored,) = self.model.maker([self.sentence], prune, margin, [self.heads])
        return self.constrained(scored)

    def constrained(self, scored: Scored) -> Scored:
        """Return the scored sentence under its heads and spans, and with paths for its edges."""
        problem = scored.problem
        if self.heads:
            problem = problem.with_heads(self.heads)
        if self.restrict is not None:
            problem = self.restrict(problem)
        for constraint in (self.spans, self.parser.edges):
            if constraint is not None:
                problem = constraint.onto(problem, self.sentence)
        return scored if problem is scored.problem else replace(scored, problem=problem)

    def pruning(self) -> Iterator[tuple[int | None, float | None]]:
        """Yield `prune` and the model's `margin`, then looser ones, in time, up to all arcs."""
        prune, usual = self.options.prune, self.model.config.pruner.k
        yield prune, None
        if prune == 0:
            return
        # All arcs of a long sentence are many; ten heads a word often contain what is looked for.
        more = [(_SOME_HEADS, np.inf)] if (prune or usual) < _SOME_HEADS else []
        for heads, margin in ((prune, np.inf), *more, (0, None)):
            needed = _ALL_ARCS * self.sentence.n_words**3 if heads == 0 else 0.0
            if self.deadline.left() <= needed:
                return
            yield heads, margin

    # ---- solve ---------------------------------------------------------------------------------

    @property
    def by_work(self) -> bool:
        """True if the work of a search is limited, because neither time nor nodes are."""
        return self.options.time_limit is None and self.options.node_limit is None

    def whole_trees(self, scored: Scored) -> dict[str, Any]:
        """Return options of `bbparse.solve` for the scores that families give to whole trees."""
        families = self.parser.families
        if not families:
            return {}
        view, labels_of = self.model.maker.view_of(scored), partial(self.model.labels_of, scored)
        options = tree_options(families, view, labels_of)
        if self.by_work:
            options["tree_limit"] = TREE_LIMIT
        return options

    def solver(self, scored: Scored) -> Solver:
        """Return a function that solves problems of the sentence within the limits."""
        from bbparse.inference.solve import solve  # most batches have no need of a search

        config, options, deadline = self.model.config, self.options, self.deadline
        of_trees = self.whole_trees(scored)

        def solve_within(problem: Problem, spent: float = 0.0, **changes: Any) -> Solution:
            limits: dict[str, Any] = {
                "k_best": options.k_best,
                "node_limit": options.node_limit,
                "time_limit": deadline.limit(),
            }
            # Branch and bound solves problems with labels, which validity rules add.
            is_configured = "method" not in config.method or problem.arc_label is None
            if self.by_work and "method" not in config.method:
                limits["work_limit"] = _work_limit(problem, spent)
            elif self.by_work and is_configured:
                limits["node_limit"] = NODE_LIMIT
            method = config.method if is_configured else {}
            return solve(problem, **method, **{**of_trees, **limits, **changes})

        return solve_within

    # ---- find valid trees and label them -------------------------------------------------------

    def best_trees(self, scored: Scored | None = None) -> tuple[Scored, ValidTrees, bool]:
        """Find the best valid trees with labels, over more arcs as long as there are too few.

        A tree that breaks rules is proved to be the best one only over all arcs; also returns True
        if no arc was pruned.
        """
        if self.parser.takes_all_arcs:
            scored = self.score(0, None)
            best = self._solved(scored, self.solver(scored))
            if not any(best.faults):
                return scored, best, True
            scored = None  # rules need labels, which likely arcs have
        looser = self.pruning()
        prune, margin = next(looser)
        if scored is None:
            scored = self.score(prune, margin)
        best = self._valid(scored, explain=self.reasons and prune == 0)
        complete = prune == 0
        for prune, margin in looser:
            if not self._lacks_trees(best):
                break
            try:
                more = self.score(prune, margin)
                explain = self.reasons and prune == 0
                again = self._valid(more, best.solution.work, explain=explain)
            except ProblemError:  # too many arcs or parts for memory
                break
            is_limited = again.solution.status not in ("optimal", "gap", "infeasible")
            if len(best.solution) and _merit(again) < _merit(best, is_limited):
                break
            scored, best, complete = more, again, prune == 0
        return scored, self._doubted(best, complete), complete

    def _doubted(self, best: ValidTrees, complete: bool) -> ValidTrees:
        """Take back proofs where other trees may be better; raise an error if there is no tree."""
        solution, families, edges = best.solution, self.parser.families, self.parser.edges
        if edges and families == (edges,) and not len(solution):
            raise edges.no_tree(self.sentence, solution)
        if families and not len(solution):
            names = ", ".join(repr(one.name) for one in families)
            raise FactorError(
                f"{self.sentence.source or 'input'}, {self.sentence.name}: the tree families"
                f" {names} allow none of the {int(solution.stats.get('trees_scored', 0))} trees"
                f" scored ({solution.status}): prune less, or relax them"
            )
        if not complete and len(solution) and self._lacks_trees(best):
            solution = solution.stopped("work_limit", any(best.faults))
        elif families and any(best.faults[:1]) and solution.proved[0]:
            # The families may give a tree with fewer faults less than these faults cost.
            solution = solution.stopped("gap", unproved=True)
        if edges is not None and edges.is_doubtful(self.sentence, best):
            solution = solution.stopped("gap", unproved=True)
        return best._replace(solution=solution)

    def _valid(self, scored: Scored, spent: float = 0.0, *, explain: bool) -> ValidTrees:
        """Return the best valid trees with labels over the arcs of the scored sentence.

        Sentences whose trees break rules are solved again under these rules.
        """
        solver = self.solver(scored)
        found = self._solved(scored, solver, spent, explain=explain)
        if self.ruled is None or not any(found.faults):
            return found
        spent, labeller = found.solution.work, cast(Labelling, self.model.labeller)
        names = [*labeller.labels, *sorted({*self.labels.values()} - {*labeller.labels})]

        def scores(heads: Ints, mods: Ints) -> Float64s:
            known = labeller.scores_around(scored, found.solution.heads[0], heads, mods)
            of_arcs = np.full((len(mods), len(names)), -np.inf)
            of_arcs[:, : known.shape[1]] = known
            for m, label in self.labels.items():
                of_arcs[mods == m] = np.where(np.array(names) == label, 0.0, -np.inf)
            return of_arcs

        def solve_again(problem: Problem, k: int) -> Solution:
            nonlocal spent
            solution = solver(problem, spent, explain=False, k_best=k)
            spent += solution.work
            return solution

        valid = solve_valid(
            Candidates(scored.problem, names, self.ruled),
            scores,
            solve_again,
            k_best=self.options.k_best,
            deadline=self.deadline,
            broken=list(zip(found.solution.heads[:, 1:].tolist(), found.faults)),
        )
        solution = valid.solution
        if len(solution) < len(found.faults) and solution.status not in ("optimal", "gap"):
            # A limit was reached before the search found as many trees.
            is_broken = np.logical_or.accumulate([bool(own) for own in found.faults])
            proved = found.solution.proved & ~is_broken
            stopped = replace(found.solution, proved=proved, status=solution.status)
            return found._replace(solution=stopped)
        return valid

    def _solved(
        self, scored: Scored, solver: Solver, spent: float = 0.0, **more: Any
    ) -> ValidTrees:
        """Return the best trees with labels, and the rules that each of them breaks.

        Trees that are not checked in time are left out.
        """
        found = self.label(scored, solver(scored.problem, spent, **more))
        if self.ruled is None:
            return found
        rows = zip(found.solution.heads[:, 1:].tolist(), found.labels)
        projective = scored.problem.projective
        faults = [self.ruled.faults(*row, projective) for row in self.deadline.through(rows)]
        return found.first(len(faults))._replace(faults=faults)

    def label(self, scored: Scored, solution: Solution) -> ValidTrees:
        """Return a solution with the labels of its trees."""
        if self.model.labeller is None:
            return ValidTrees(solution, [], [])
        names = []
        for heads in self.deadline.through(solution.heads):
            labels = self.model.labels_of(scored, heads)
            for m, label in self.labels.items():
                labels[m - 1] = label
            names.append(labels)
        return ValidTrees(solution.first(len(names)), names, [])

    def _lacks_trees(self, found: ValidTrees) -> bool:
        """Return True if more arcs may have more valid trees, or one that breaks fewer rules."""
        if found.solution.status not in ("optimal", "gap"):
            return found.solution.status == "infeasible"
        if self.ruled is None or not any(found.faults[:1]):
            return len(found.solution) < self.options.k_best
        entries = self.ruled.rules.entries
        return any(
            entries[fault.entry].rule.unless is not None or not self.labels.keys() >= {*fault.arcs}
            for fault in found.faults[0]
        )


def _merit(found: ValidTrees, is_limited: bool = False) -> tuple[int, int, bool]:
    """Rank trees by the number of trees that break no rule, then by the faults of the first.

    Of two that are equal, the one over more arcs is better, unless its search `is_limited`.
    """
    n_valid = len(found.solution) - sum(map(bool, found.faults))
    return n_valid, -sum(map(len, found.faults[:1])), is_limited


def _check_crossing(sentence: Sentence, projective: bool) -> None:
    """Refuse heads that cross if trees must be projective."""
    crossing = sorted(crossing_words(sentence.heads)) if projective else []
    if crossing:
        arcs = ", ".join(f"{sentence.heads[m - 1]} → {m}" for m in crossing[:_NAMED])
        more = f" and {len(crossing) - _NAMED} more" if len(crossing) > _NAMED else ""
        raise TreebankError(
            f"{sentence.source or 'input'}, {sentence.name}: no projective tree has all fixed"
            f" heads: the arcs {arcs}{more} cross; use a model trained with --projective no,"
            " without --projective yes"
        )


def _no_tree(scored: Scored, solution: Solution, complete: bool, restricted: bool) -> TreebankError:
    """Return the error for fixed heads that no tree has; ``complete`` if no arc was pruned."""
    sentence = scored.sentence
    where = f"{sentence.source or 'input'}, {sentence.name}: no"
    if not complete:
        return TreebankError(f"{where} tree was found in time: allow more, or drop constraints")
    conflict = f": {'; '.join(solution.conflict)}" if solution.conflict else ""
    kind = "projective tree" if scored.problem.projective else "tree"
    and_more = " and satisfies the constraints" if restricted else ""
    return TreebankError(f"{where} {kind} with one root has all fixed heads{and_more}{conflict}")
