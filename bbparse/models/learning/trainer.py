"""Train weights with the parser's branch and bound as the decoder.

The search of the parser finds the best tree of each training sentence under the current weights,
with a cost added to wrong arcs. The weights are updated only if that tree outscores the gold tree.
A decoder that was cut short may return a tree that scores less than the gold tree, and learning
from such a tree ruins the weights (Huang, Fayong & Guo 2012).

Factors are trained together with the backbone, or after it. A backbone that was trained on a
sentence makes hardly any error in it, so factors trained beside it see few of the errors they
should correct. When they are trained afterwards, a backbone that was not trained on the sentence
scores it, as it would a new sentence, and these scores stay fixed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem, Solution
from bbparse.core.parts import SET_NAMES, take_sets
from bbparse.inference.solve import solve
from bbparse.models.configuration import Configuration
from bbparse.models.factors.batch import FactorBatch, FactorCounter
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.table import FactorTable
from bbparse.models.factors.view import FactorView
from bbparse.models.learning.data import TrainingData
from bbparse.models.learning.linear import Learner
from bbparse.models.model import Model
from bbparse.models.scoring.linear import QUANTUM, LinearScorer
from bbparse.models.scoring.problem_maker import ProblemMaker
from bbparse.runtime.arrays import Flags, Ints, Longs
from bbparse.runtime.progress import watched

# Gradient of the scores of the gold tree and of another one.
_TOWARDS_GOLD = np.array([[1.0], [-1.0]])


@dataclass(slots=True)
class EpochReport:
    """Statistics of one pass over the training data."""

    #: Number of the epoch, from 1.
    epoch: int
    seconds: float = 0.0
    #: Correct heads in the predicted trees, and words.
    right: int = 0
    words: int = 0
    #: Updates; sentences whose predicted tree did not outscore the gold tree; searches that
    #: reached the node limit.
    updates: int = 0
    not_violations: int = 0
    cut_short: int = 0
    #: Unlabelled accuracy with averaged weights; nan without a dev set.
    dev_uas: float = float("nan")

    def line(self) -> str:
        dev = "" if math.isnan(self.dev_uas) else f", {100 * self.dev_uas:.2f} on dev"
        uas = 100 * self.right / max(1, self.words)
        return (
            f"epoch {self.epoch}: {self.seconds:.0f} s, UAS {uas:.2f} on training{dev};"
            f" {self.updates} updates, {self.not_violations} without violation,"
            f" {self.cut_short} searches cut short"
        )


class Trainer:
    """Trainer of templates and factors together, or of factors alone.

    Without templates, `problems` are scored by networks that were not trained on their sentences.
    """

    def __init__(
        self,
        config: Configuration,
        data: TrainingData,
        maker: ProblemMaker,
        problems: Sequence[Problem] = (),
    ) -> None:
        self.config, self.data, self.maker, self.problems = config, data, maker, problems
        self.families = maker.families
        #: Settings of the stage: cost, node_limit and average_from.
        self.settings = config.factors if problems else config.learning
        self.right: list[Flags] = [
            gold[mod] == head for gold, (head, mod) in zip(data.heads, data.arcs)
        ]
        self.table = self._table()
        method, rate = config.learning.method, config.learning.rate
        self.factors = Learner(
            (len(self.table), 1), method, rate * config.factors.rate, config.factors.start
        )
        self.learners = {"factors": self.factors}
        if maker.scorer is not None:
            shape = len(maker.scorer.weights), 1
            self.templates = Learner(shape, method, rate, config.learning.start)
            self.learners["templates"] = self.templates
            maker.scorer.weights = self.templates.weights[:, 0]
        # While templates are trained, there may be many factors, and they would fill the memory.
        self.proposals = [self._propose(i) for i in range(len(problems))]

    def _propose(self, i: int) -> FactorBatch:
        return proposals_of(self.families, self._view(i), self.table)

    def _view(self, i: int, arcs: NDArray[np.int64] | slice = slice(None)) -> FactorView:
        """Return the view of a sentence and some of its candidate arcs for factor families."""
        data, (head, mod) = self.data, self.data.arcs[i]
        labels = data.arc_labels[i][arcs] if data.arc_labels else None
        names = self.maker.label_names
        return FactorView(data.sentences[i], head[arcs], mod[arcs], data.values[i], labels, names)

    def _table(self) -> FactorTable:
        """Return the features that fire in enough gold trees.

        With a backbone below, return those that distinguish enough gold trees from predicted trees:
        a feature of wrong trees that no gold tree has is as useful as one of gold trees, and a
        feature that all of them have, or none, teaches nothing.
        """
        counter = FactorCounter()
        for i, right in enumerate(self.right if self.families else ()):
            others = np.zeros((1, len(right)), np.bool_)
            if self.problems:
                solution = self._solve(self.problems[i], self.config.factors.rivals)
                others = np.zeros((len(solution), len(right)), np.bool_)
                np.put_along_axis(others, solution.arcs.astype(np.int64), True, axis=1)
                if (others == right).all():
                    continue
            arcs = np.flatnonzero(right | others.any(axis=0))
            view = self._view(i, arcs)
            counter.add(
                contrast(family.propose_all(view), right[arcs], others[:, arcs])
                for family in self.families
            )
        return counter.table(self.config.factors.cutoff)

    def _solve(self, problem: Problem, k_best: int = 1) -> Solution:
        return solve(
            problem,
            k_best=k_best,
            node_limit=self.settings.node_limit,
            explain=False,
            **self.config.search_options,
        )

    def epoch(self, number: int) -> EpochReport:
        """Run one pass over the data, in an order that depends on seed and epoch only."""
        if number > 1 and number == self.settings.average_from:
            for learner in self.learners.values():
                learner.restart()
        report = EpochReport(number)
        started = time.perf_counter()
        random = np.random.default_rng([self.config.learning.seed, number])
        order = random.permutation(len(self.right))
        for i in watched(order, f"epoch {number}"):
            self._learn_from(int(i), report)
            # Tick after the update, so that the average includes the weights after it.
            for learner in self.learners.values():
                learner.tick()
        report.seconds = time.perf_counter() - started
        return report

    def _learn_from(self, i: int, report: EpochReport) -> None:
        """Decode one sentence and update the weights."""
        data, gold, right = self.data, self.data.heads[i], self.right[i]
        if self.problems:
            problem, proposals = self.problems[i], self.proposals[i]
        else:
            problem = self.maker.over_arcs(data.sentences[i], data.values[i], *data.arcs[i]).problem
            proposals = self._propose(i)
        problem = with_proposals(problem, proposals, self.factors.weights[:, 0])
        problem = with_cost(problem, right, self.settings.cost)
        solution = self._solve(problem)
        report.words += problem.n_words
        report.cut_short += solution.status == "node_limit"
        if not len(solution):  # the search was cut short before it found any tree
            report.not_violations += 1
            return
        heads = solution.heads[0]
        correct = int((heads[1:] == gold[1:]).sum())
        report.right += correct
        if correct == problem.n_words:
            return
        if solution.scores[0] < problem.score(gold):
            report.not_violations += 1
            return
        report.updates += 1
        other = np.zeros(len(right), np.bool_)
        other[solution.arcs[0]] = True
        self.factors.step(*features_apart(proposals, right, other), _TOWARDS_GOLD)
        if self.maker.scorer is not None:
            features = self.maker.scorer.features
            fired = [features.of_tree(data.values[i], tree) for tree in (gold, heads)]
            owner = np.repeat([0, 1], [*map(len, fired)])
            self.templates.step(owner, np.concatenate(fired), _TOWARDS_GOLD)

    def average(self) -> dict[str, NDArray[np.int32]]:
        """Return the mean weights of each learner."""
        return {name: learner.average() for name, learner in self.learners.items()}

    def model(
        self, weights: Mapping[str, NDArray[np.int32]], notes: Mapping[str, Any] | None = None
    ) -> Model:
        """Return the model with the given weights of the learners."""
        table = FactorTable(self.table.keys, weights["factors"][:, 0] * QUANTUM)
        maker = replace(self.maker, table=table)
        if "templates" in weights:
            own = weights["templates"][:, 0].copy()
            maker = replace(maker, scorer=LinearScorer(self.config.templates, own))
        return Model(maker, notes=dict(notes or {}))


def with_cost(problem: Problem, right: Flags, cost: float) -> Problem:
    """Return the problem with a cost, rounded to whole quanta, added to every wrong arc."""
    quanta = round(cost / QUANTUM) * QUANTUM  # scores of the problem must be multiples of it
    if not quanta:
        return problem
    return problem.changed(arc_score=problem.arc_score + np.where(right, 0.0, quanta))


def proposals_of(
    families: Sequence[FactorFamily], view: FactorView, table: FactorTable
) -> FactorBatch:
    """Return the factors of `families`; their features are table positions."""
    batches = [FactorBatch.from_lists([], []), *(f.propose_all(view) for f in families)]
    return FactorBatch.joined(batches).known(table)


def with_proposals(problem: Problem, proposals: FactorBatch, weights: Ints) -> Problem:
    """Return a problem of candidate arcs with these factors added; weights are in quanta."""
    factors, counts = proposals.scored(weights, QUANTUM)
    return problem.changed(**dict(zip(SET_NAMES, (*factors, *counts))))


def features_apart(proposals: FactorBatch, gold: Flags, other: Flags) -> tuple[Longs, Longs]:
    """Return the features that fire in one of two trees: 0 for the gold one or 1, and positions."""
    here, there = proposals.fired(gold), proposals.fired(other)
    places = [
        take_sets(proposals.feat_ptr, proposals.feat_keys, fired)[1]
        for fired in (here & ~there, there & ~here)
    ]
    return np.repeat([0, 1], [*map(len, places)]), np.concatenate(places).astype(np.int64)


def contrast(batch: FactorBatch, gold: Flags, others: Iterable[Flags]) -> FactorBatch:
    """Return the features that fire in the gold tree but not in all rivals, or only in rivals."""
    in_gold = batch.fired(gold)
    apart = np.zeros_like(in_gold)
    for other in others:
        apart |= batch.fired(other) != in_gold
    return batch.cells(apart)
