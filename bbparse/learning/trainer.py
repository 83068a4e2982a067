"""Learning the parser's weights with its own branch and bound as the decoder.

For each training sentence the best tree under the present weights, wrong arcs costing extra, is
found by the very search that parses; where it outscores the gold tree, the weights move. Only then:
a decoder that was cut short may return a tree that scores less than the gold tree, and learning
from that ruins the weights (Huang, Fayong & Guo 2012).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from bbparse.configuration import Configuration
from bbparse.factors import (
    FactorCounter,
    FactorFamily,
    FactorTable,
    FactorView,
    tree_batches,
    tree_keys,
)
from bbparse.learning.data import TrainingData
from bbparse.learning.margin import gold_score, with_cost
from bbparse.learning.report import EpochReport
from bbparse.learning.updates import Learner
from bbparse.model.model import Model
from bbparse.problem.quantum import QUANTUM
from bbparse.scoring.problem_maker import ProblemMaker
from bbparse.scoring.pruner import Pruner
from bbparse.scoring.scorer import PartScorer
from bbparse.solving.solve import solve

Ints = NDArray[np.int32]


class Trainer:
    """Learns the weights of backbone and factors together.

    Parameters
    ----------
    config : Configuration
    data : TrainingData
        With candidate arcs.
    pruner : Pruner
    families : sequence of FactorFamily
    restart : int
        Trainers with other numbers see the sentences in other orders.
    """

    def __init__(
        self,
        config: Configuration,
        data: TrainingData,
        pruner: Pruner,
        families: Sequence[FactorFamily],
        restart: int = 0,
    ) -> None:
        self.config = config
        self.data = data
        self.families = families
        self.seeds = [config.learning.seed, restart] if restart else [config.learning.seed]
        learning = config.learning
        scorer = PartScorer(config.templates, quantum=QUANTUM)
        self.backbone = Learner(scorer.weights, learning.method, learning.rate, learning.start)
        table = self._count(families)
        self.factor_weights = np.zeros(len(table), np.int32)
        self.factors = Learner(
            self.factor_weights, learning.method, learning.rate * config.factors.rate
        )
        self.maker = ProblemMaker(config, pruner, scorer, families, table, data.guide)

    def _count(self, families: Sequence[FactorFamily]) -> FactorTable:
        """The features that fire in enough gold trees."""
        counter = FactorCounter()
        if families:
            for i, heads in enumerate(self.data.heads):
                counter.add(tree_batches(families, self._tree_view(i, heads)))
        return counter.table(self.config.factors.cutoff)

    def _tree_view(self, i: int, heads: Ints) -> FactorView:
        """What families see of a tree of sentence i, with the labels of a guide without it."""
        data = self.data
        names = () if data.guide is None else data.guide.labels
        return FactorView.of_tree(data.sentences[i], heads, data.values[i], data.marks_of(i), names)

    def epoch(self, number: int, progress: bool) -> EpochReport:
        """One pass over the training data; its order depends on seed, restart and epoch only."""
        report = EpochReport(number)
        started = time.perf_counter()
        if number > 1 and number == self.config.learning.average_from:
            for learner in self.learners().values():
                learner.average.restart()
        random = np.random.default_rng([*self.seeds, number])
        order = random.permutation(len(self.data.sentences))
        bar = tqdm(order, desc=f"epoch {number}", unit=" sentences", disable=not progress)
        for place, i in enumerate(bar):
            outcome, correct = self._learn_from(int(i))
            # after the update, so that the average has the weights it led to
            self.backbone.tick()
            self.factors.tick()
            report.right += correct
            report.words += len(self.data.heads[i]) - 1
            report.updates += outcome == "update"
            report.not_violations += outcome == "no violation"
            report.cut_short += self._cut_short
            if place % 500 == 499:
                bar.set_postfix_str(f"UAS {100 * report.train_uas:.2f}", refresh=False)
        report.seconds = time.perf_counter() - started
        return report

    def _learn_from(self, i: int) -> tuple[str, int]:
        """Decode one sentence and update; what happened, and how many heads were right."""
        data, learning = self.data, self.config.learning
        sentence, values, gold = data.sentences[i], data.values[i], data.heads[i]
        arc_head, arc_mod = data.arcs[i]
        marks = data.marks_of(i)
        problem = self.maker.over_arcs(sentence, values, arc_head, arc_mod, marks)
        right = gold[arc_mod] == arc_head
        problem = with_cost(problem, right, learning.cost)
        solution = solve(
            problem, node_limit=learning.node_limit, **self.config.method
        )
        self._cut_short = solution.status == "node_limit"
        if not len(solution):  # cut short before any tree was found
            return "no violation", 0
        heads = solution.heads[0]
        correct = int((heads[1:] == gold[1:]).sum())
        if correct == len(gold) - 1:
            return "right", correct
        loss = float(solution.scores[0]) - gold_score(problem, gold, right)
        if loss < 0.0:
            return "no violation", correct
        indices, counts = self.maker.scorer.tree_difference(values, gold, heads, marks)
        norm = float((counts * counts).sum())
        factors = self._factor_difference(i, gold, heads)
        if factors is not None:
            norm += float((factors[1] * factors[1]).sum())
        self.backbone.step(indices, counts, loss, norm)
        if factors is not None:
            self.factors.step(*factors, loss, norm)
            changed = factors[0]
            self.maker.table.weights[changed] = self.factor_weights[changed] * QUANTUM
        return "update", correct

    def _factor_difference(
        self, i: int, gold: Ints, heads: Ints
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Known factor features of the gold tree minus those of another; None if there are none."""
        families, table = self.maker.families, self.maker.table
        if not families:
            return None
        found = []
        for tree in (gold, heads):
            place = table.find(tree_keys(families, self._tree_view(i, tree), table))
            found.append(place[place >= 0])
        indices = np.concatenate(found)
        signs = np.repeat([1, -1], [len(found[0]), len(found[1])])
        unique, inverse = np.unique(indices, return_inverse=True)
        counts = np.bincount(inverse, signs, len(unique)).astype(np.int64)
        kept = counts != 0
        return unique[kept], counts[kept]

    def learners(self) -> dict[str, Learner]:
        """The weights that learn, by name."""
        return {"backbone": self.backbone, "factors": self.factors}

    def restored(self) -> None:
        """Take note of weights that came from a checkpoint."""
        self.maker.table.weights[:] = self.factor_weights * self.maker.scorer.quantum

    def averaged(self) -> Model:
        """The model with averaged weights, its own copy of everything that learns."""
        weights, table = self.backbone.average.average(), self.maker.table
        return Model(
            self.maker.with_(
                scorer=PartScorer(self.config.templates, weights, self.maker.scorer.quantum),
                table=FactorTable(
                    table.keys, table.gates, self.factors.average.average() * QUANTUM
                ),
            )
        )
