"""Learning the weights of factors while the backbone's scores are held fixed.

A backbone that was trained on a sentence makes hardly any error in it, so that factors learned
beside it see few of the errors they are for. Here every sentence comes with scores of a backbone
that did not see it, as a new sentence would; what the factors then learn is what the backbone gets
wrong on text it does not know. Decoding is the exact search over backbone and factors together.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from bbparse.factors import (
    FactorCounter,
    FactorFamily,
    FactorTable,
    FactorView,
)
from bbparse.learning.data import TrainingData
from bbparse.learning.margin import gold_score, with_cost
from bbparse.learning.proposals import Proposals, differing, differing_counts
from bbparse.learning.report import EpochReport
from bbparse.learning.updates import Learner
from bbparse.model.model import Model
from bbparse.problem import Problem, Solution
from bbparse.problem.quantum import QUANTUM
from bbparse.solving.solve import solve

Flags = NDArray[np.bool_]


class FamilyStage:
    """Learns the factors' weights.

    Parameters
    ----------
    backbone : Model
        That the factors will be used with.
    data : TrainingData
        With candidate arcs.
    problems : sequence of Problem
        The sentences under backbones that did not see them, without factors.
    families : sequence of FactorFamily
    """

    def __init__(
        self,
        backbone: Model,
        data: TrainingData,
        problems: Sequence[Problem],
        families: Sequence[FactorFamily],
    ) -> None:
        self.maker = backbone.maker.with_(families=families)
        self.notes = backbone.notes
        self.config = config = backbone.config
        self.data = data
        self.problems = problems
        self.families = families
        self.right: list[Flags] = [
            gold[problem.arc_mod] == problem.arc_head
            for gold, problem in zip(data.heads, problems)
        ]
        self.table = self._table()
        self.proposals = [
            Proposals.of(families, self._view(i), self.table) for i in range(len(problems))
        ]
        learning = config.learning
        self.weights = np.zeros(len(self.table), np.int32)
        self.learner = Learner(
            self.weights, learning.method, learning.rate * config.factors.rate,
            config.factors.start,
        )  # fmt: skip

    def _view(self, i: int, arcs: NDArray[np.int64] | None = None) -> FactorView:
        data = self.data
        return self.maker.view(
            data.sentences[i], self.problems[i], data.values[i], arcs, data.marks_of(i)
        )

    def _table(self) -> FactorTable:
        """The features that tell enough gold trees from the trees the backbone finds.

        A feature of wrong trees that no gold tree has is as good as one of gold trees; one that
        all of them have, or none, has nothing to learn.
        """
        counter = FactorCounter()
        for i, problem in enumerate(self.problems):
            found = self._solve(problem, self.config.factors.rivals)
            others = np.zeros((len(found), len(problem.arc_head)), np.bool_)
            np.put_along_axis(others, found.arcs.astype(np.int64), True, axis=1)
            right = self.right[i]
            if (others == right).all():
                continue
            arcs = np.flatnonzero(right | others.any(axis=0))
            view = self._view(i, arcs)
            own, rivals = right[arcs], others[:, arcs]
            batches = []
            for family in self.families:
                batches.append(differing(family.propose(view), own, rivals))
                batches += differing_counts(family.propose_counts(view), own, rivals)
            counter.add(batches)
        return counter.table(self.config.factors.cutoff)

    def _solve(self, problem: Problem, k_best: int = 1) -> Solution:
        return solve(
            problem,
            k_best=k_best,
            node_limit=self.config.factors.node_limit,
            explain=False,
            **self.config.method,
        )

    def epoch(self, number: int, progress: bool) -> EpochReport:
        """One pass over the training data, in an order that depends on seed and epoch only."""
        if number > 1 and number == self.config.factors.average_from:
            self.learner.average.restart()
        report = EpochReport(number)
        order = np.random.default_rng([self.config.learning.seed, number]).permutation(
            len(self.problems)
        )
        started = time.perf_counter()
        for i in tqdm(
            order, desc=f"families, epoch {number}", unit=" sentences", disable=not progress
        ):
            self._learn_from(int(i), report)
            self.learner.tick()
        report.seconds = time.perf_counter() - started
        return report

    def _learn_from(self, i: int, report: EpochReport) -> None:
        """Decode one sentence and update."""
        gold, right, proposals = self.data.heads[i], self.right[i], self.proposals[i]
        problem = proposals.onto(self.problems[i], self.weights, QUANTUM)
        problem = with_cost(problem, right, self.config.factors.cost)
        solution = self._solve(problem)
        correct = len(gold) - 1
        report.words += correct
        report.cut_short += solution.status == "node_limit"
        if len(solution):
            correct = int((solution.heads[0, 1:] == gold[1:]).sum())
        report.right += correct
        found = np.zeros(len(right), np.bool_)
        if len(solution):
            found[solution.arcs[0]] = True
        if not len(solution) or (found == right).all():
            return
        loss = float(solution.scores[0]) - gold_score(problem, gold, right)
        if loss < 0.0:
            report.not_violations += 1
            return
        places, counts = proposals.difference(right, found)
        if len(places):
            self.learner.step(places, counts, loss, float((counts * counts).sum()))
            report.updates += 1

    def learners(self) -> dict[str, Learner]:
        """The weights that learn, by name."""
        return {"factors": self.learner}

    def restored(self) -> None:
        """Nothing follows from the weights but scores, which are made anew for each sentence."""

    def averaged(self) -> Model:
        """The backbone with factors of averaged weights."""
        weights = self.learner.average.average() * QUANTUM
        table = FactorTable(self.table.keys, self.table.gates, weights)
        return Model(self.maker.with_(table=table), notes=dict(self.notes))
