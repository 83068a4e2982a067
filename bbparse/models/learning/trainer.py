"""Training of weights with the parser's own branch and bound as the decoder.

The search of the parser finds the best tree of each training sentence under the current weights,
with a cost added to wrong arcs. The weights are updated only if that tree outscores the gold tree.
A decoder that was cut short may return a tree that scores less than the gold tree, and learning
from such a tree ruins the weights (Huang, Fayong & Guo 2012).

Factors are trained together with the backbone, or after it. A backbone that was trained on a
sentence makes hardly any error in it, so factors trained beside it see few of the errors they
should correct. When they are trained afterwards, a backbone that was not trained on the sentence
scores it, as it would a new sentence, and these scores stay fixed.

A step takes the difference of two feature vectors, gold minus predicted, and the loss: by how much
the predicted tree, with the cost of its errors, outscores the gold tree. The three rules differ
only in the length of the step:

* perceptron: 1 for every feature (Collins 2002);
* passive-aggressive: just enough to make up for the loss, at most ``rate`` (PA-I, Crammer et al.
  2006);
* AdaGrad: ``rate / sqrt(sum of squared gradients so far)`` for each feature (Duchi et al. 2011).

Steps are rounded to whole quanta, so that weights and the scores of all trees stay integer
multiples of the quantum under every rule.

The mean over steps 1..T of a weight w is w - (Σ_t t·δ_t)/T for changes δ_t made at step t (a lazy
form of the averaged perceptron, Collins 2002), so a step costs only the features it changes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem, Solution
from bbparse.core.quantum import QUANTUM
from bbparse.inference.search.rescore import rescore
from bbparse.inference.solve import solve
from bbparse.models.configuration import Configuration
from bbparse.models.factors.batch import FactorBatch, FactorCounter
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.table import FactorTable
from bbparse.models.factors.view import FactorView
from bbparse.models.learning.data import TrainingData
from bbparse.models.learning.proposals import features_apart, proposals_of, telling, with_proposals
from bbparse.models.model import Model
from bbparse.models.scoring.problem_maker import ProblemMaker, Pruner
from bbparse.models.scoring.scorer import PartScorer, aligned_zeros
from bbparse.runtime.arrays import Flags
from bbparse.treebank.progress import watched


class Learner:
    """Weights int32[F] in quanta, updated in place by one of the rules, and their mean over steps.

    The weights form consecutive blocks of lengths `sizes`, each with its own rate. `starts` are the
    initial sums of squares of AdaGrad: larger ones shorten the first steps, so that features met
    only a few times stay weak.
    """

    def __init__(
        self, sizes: Sequence[int], method: str, rates: Sequence[float], starts: Sequence[float]
    ) -> None:
        self.weights = aligned_zeros(sum(sizes))
        self.method = method
        self.sums = np.zeros(len(self.weights), np.int64)
        self.squares = np.zeros(0, np.float32)
        if method == "adagrad":
            self.squares = np.repeat(np.array(starts, np.float32), sizes)
        self.clock = np.ones(1, np.int64)
        self._ends, self._rates = np.cumsum(sizes), np.array(rates)

    def step(self, indices: NDArray[np.int64], counts: NDArray[np.int64], loss: float) -> None:
        """Move the weights towards the gold tree.

        `indices` and `counts` are the gold minus the predicted features, each at most once. `loss`,
        >= 0, is by how much the predicted tree, with its cost, outscores the gold tree.
        """
        rates = self._rates[np.searchsorted(self._ends, indices, side="right")]
        if self.method == "perceptron":
            rates[:] = 1.0
        elif self.method == "passive-aggressive":
            np.minimum(rates, loss / max(float((counts * counts).sum()), 1.0), out=rates)
        lengths = rates / QUANTUM
        if self.method == "adagrad":
            self.squares[indices] += counts * counts
            lengths *= counts
            lengths /= np.sqrt(self.squares[indices])
        else:
            lengths = np.rint(lengths) * counts
        changes = np.rint(lengths).astype(np.int64)
        self.weights[indices] += changes
        self.sums[indices] += self.clock * changes

    def tick(self) -> None:
        """Count one training example."""
        self.clock += 1

    def restart(self) -> None:
        """Restart the mean: earlier weights no longer count."""
        self.sums[:] = 0
        self.clock[:] = 1

    def average(self) -> NDArray[np.int32]:
        """Return the mean weights, rounded to whole quanta."""
        out = self.weights.copy()
        used = np.flatnonzero(self.sums)
        out[used] = np.rint(out[used] - self.sums[used] / self.clock)
        return out

    def state(self) -> dict[str, NDArray]:
        """Return the arrays of the state; writing to them restores another state."""
        return {"weights": self.weights, "sums": self.sums, "squares": self.squares,
                "clock": self.clock}  # fmt: skip


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

    @property
    def train_uas(self) -> float:
        """Fraction of correct heads in the predicted trees."""
        return self.right / max(1, self.words)

    def line(self) -> str:
        dev = "" if math.isnan(self.dev_uas) else f", {100 * self.dev_uas:.2f} on dev"
        return (
            f"epoch {self.epoch}: {self.seconds:.0f} s, UAS {100 * self.train_uas:.2f} on training"
            f"{dev}; {self.updates} updates,"
            f" {self.not_violations} without violation, {self.cut_short} searches cut short"
        )


class Trainer:
    """Trainer of a backbone and its factors together, or of factors alone.

    The order of the sentences depends on `restart`. Factors are trained alone for the backbone
    `below`, from `problems`: the sentences without factors, scored by backbones that were not
    trained on them. The first `n_backbone` weights of the `learner` are those of the backbone, if
    it is trained; the others are those of the factor features in `table`.
    """

    def __init__(
        self,
        config: Configuration,
        data: TrainingData,
        pruner: Pruner | None,
        families: Sequence[FactorFamily],
        restart: int = 0,
        *,
        below: ProblemMaker | None = None,
        problems: Sequence[Problem] = (),
    ) -> None:
        self.config = config
        self.data = data
        self.families = families
        self.problems = problems
        self.seeds = [config.learning.seed, restart] if restart else [config.learning.seed]
        #: Settings of the stage: cost, node_limit and average_from.
        self.settings = config.learning if below is None else config.factors
        if below is None:
            scorer = PartScorer(config.templates, quantum=QUANTUM)
            self.n_backbone = len(scorer.weights)
            self.maker = ProblemMaker(config, None, pruner, scorer, families)
        else:
            self.n_backbone = 0
            self.maker = replace(below, config=config, families=families)
        self.right: list[Flags] = [
            gold[mod] == head for gold, (head, mod) in zip(data.heads, data.arcs)
        ]
        self.table = self._table()
        learning, factors = config.learning, config.factors
        self.learner = Learner(
            (self.n_backbone, len(self.table)), learning.method,
            (learning.rate, learning.rate * factors.rate), (learning.start, factors.start),
        )  # fmt: skip
        if self.n_backbone and self.maker.scorer is not None:
            self.maker.scorer.weights = self.learner.weights[: self.n_backbone]
        # While the backbone is trained, there may be many factors, and they would fill the memory.
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
                telling(family.propose_all(view), right[arcs], others[:, arcs])
                for family in self.families
            )
        return counter.table(self.config.factors.cutoff)

    def _solve(self, problem: Problem, k_best: int = 1) -> Solution:
        return solve(
            problem, k_best=k_best, node_limit=self.settings.node_limit, explain=False,
            **self.config.search_options,
        )  # fmt: skip

    def epoch(self, number: int) -> EpochReport:
        """Run one pass over the data, in an order that depends on seed, restart and epoch only."""
        if number > 1 and number == self.settings.average_from:
            self.learner.restart()
        report = EpochReport(number)
        started = time.perf_counter()
        order = np.random.default_rng([*self.seeds, number]).permutation(len(self.right))
        for i in watched(order, f"epoch {number}"):
            self._learn_from(int(i), report)
            # Tick after the update, so that the average includes the weights after it.
            self.learner.tick()
        report.seconds = time.perf_counter() - started
        return report

    def _learn_from(self, i: int, report: EpochReport) -> None:
        """Decode one sentence and update the weights."""
        data, gold, right = self.data, self.data.heads[i], self.right[i]
        proposals = None
        if not self.n_backbone:
            problem, proposals = self.problems[i], self.proposals[i]
        else:
            scored = self.maker.over_arcs(data.sentences[i], data.values[i], *data.arcs[i])
            problem = scored.problem
            if len(self.table):
                proposals = self._propose(i)
        if proposals is not None:
            weights = self.learner.weights[self.n_backbone :]
            problem = with_proposals(problem, proposals, weights, QUANTUM)
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
        loss = float(solution.scores[0]) - gold_score(problem, gold, right)
        if loss < 0.0:
            report.not_violations += 1
            return
        report.updates += 1
        steps = []
        if self.n_backbone and self.maker.scorer is not None:
            steps.append(self.maker.scorer.tree_difference(data.values[i], gold, heads))
        if proposals is not None:
            other = np.zeros(len(right), np.bool_)
            other[solution.arcs[0]] = True
            places, counts = features_apart(proposals, right, other)
            steps.append((self.n_backbone + places, counts))
        indices, counts = map(np.concatenate, zip(*steps))
        self.learner.step(indices, counts, loss)

    def model(
        self, weights: NDArray[np.int32], notes: Mapping[str, Any] | None = None
    ) -> Model:
        """Return the model with the given weights of the learner."""
        backbone, factors = np.split(weights, [self.n_backbone])
        table = FactorTable(self.table.keys, self.table.gates, factors * QUANTUM)
        maker = replace(self.maker, table=table)
        if self.n_backbone and maker.scorer is not None:
            maker = replace(maker, scorer=maker.scorer.with_weights(backbone))
        return Model(maker, notes=dict(notes or {}))


def with_cost(problem: Problem, right: Flags, cost: float) -> Problem:
    """Return the problem with a cost, rounded to whole quanta, added to every wrong arc."""
    quanta = round(cost / QUANTUM) * QUANTUM  # scores of the problem must be multiples of it
    if not quanta:
        return problem
    return problem.changed(arc_score=problem.arc_score + np.where(right, 0.0, quanta))


def gold_score(problem: Problem, gold: NDArray[np.int32], right: Flags) -> float:
    """Return the score φ of the gold tree in a problem that has all its arcs."""
    arcs = np.empty((1, problem.n_words), np.int32)
    gold_arcs = np.flatnonzero(right).astype(np.int32)
    arcs[0, problem.arc_mod[gold_arcs] - 1] = gold_arcs
    return float(rescore(problem, arcs, gold[np.newaxis])[0, 0])
