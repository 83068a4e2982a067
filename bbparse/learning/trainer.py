"""Learning the parser's weights with its own branch and bound as the decoder.

For each training sentence the best tree under the present weights, wrong arcs costing extra, is
found by the very search that parses; where it outscores the gold tree, the weights move. Only then:
a decoder that was cut short may return a tree that scores less than the gold tree, and learning
from that ruins the weights (Huang, Fayong & Guo 2012).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError, TreebankError
from bbparse.factors import (
    FactorCounter,
    FactorFamily,
    FactorTable,
    FactorView,
    load_families,
    specification,
    tree_keys,
)
from bbparse.learning.averaging import QUANTUM, keep_largest
from bbparse.learning.checkpoint import Checkpoint
from bbparse.learning.data import TrainingData, prepare, prune_all
from bbparse.learning.labeller import train_labeller
from bbparse.learning.updates import Learner
from bbparse.parser import Parser
from bbparse.problem import Problem
from bbparse.rescore import rescore
from bbparse.scoring.pruner import Pruner
from bbparse.scoring.scorer import PartScorer
from bbparse.solve import solve
from bbparse.treebank import Sentence, check_tree

Ints = NDArray[np.int32]


@dataclass(slots=True)
class EpochReport:
    """What one pass over the training data did.

    Attributes
    ----------
    epoch : int
        From 1.
    seconds : float
    train_uas : float
        Share of right heads in the trees that learning saw.
    updates, not_violations, cut_short : int
        Sentences learned from; sentences whose predicted tree did not outscore the gold tree; and
        searches that reached the node limit.
    dev_uas : float
        With averaged weights; nan without a dev set.
    """

    epoch: int
    seconds: float
    train_uas: float
    updates: int
    not_violations: int
    cut_short: int
    dev_uas: float

    def line(self) -> str:
        """The report in one line."""
        return (
            f"epoch {self.epoch}: {self.seconds:.0f} s, UAS {100 * self.train_uas:.2f} on training,"
            f" {100 * self.dev_uas:.2f} on dev; {self.updates} updates,"
            f" {self.not_violations} without violation, {self.cut_short} searches cut short"
        )


class Trainer:
    """Learns the weights of backbone and factors together.

    Parameters
    ----------
    config : Configuration
    data : TrainingData
        With candidate arcs.
    pruner : Pruner
    families : sequence of FactorFamily
    """

    def __init__(
        self,
        config: Configuration,
        data: TrainingData,
        pruner: Pruner,
        families: Sequence[FactorFamily],
    ) -> None:
        self.config = config
        self.data = data
        learning = config.learning
        scorer = PartScorer(config.templates, quantum=QUANTUM)
        self.backbone = Learner(scorer.weights, learning.method, learning.rate)
        table = self._count(families)
        self.factor_weights = np.zeros(len(table), np.int32)
        self.factors = Learner(
            self.factor_weights, learning.method, learning.rate * config.factors.rate
        )
        self.parser = Parser(config, pruner, scorer, families, table)

    def _count(self, families: Sequence[FactorFamily]) -> FactorTable:
        """The features that fire in enough gold trees."""
        counter = FactorCounter()
        if families:
            for sentence, heads, values in zip(
                self.data.sentences, self.data.heads, self.data.values
            ):
                view = FactorView.of_tree(sentence, heads, values)
                counter.add(family.propose(view) for family in families)
        return counter.table(self.config.factors.cutoff)

    def epoch(self, number: int, progress: bool) -> EpochReport:
        """One pass over the training data, in an order that depends on seed and epoch only."""
        started = time.perf_counter()
        order = np.random.default_rng([self.config.learning.seed, number]).permutation(
            len(self.data.sentences)
        )
        right = words = updates = short = mild = 0
        bar = tqdm(order, desc=f"epoch {number}", unit=" sentences", disable=not progress)
        for place, i in enumerate(bar):
            outcome, correct = self._learn_from(int(i))
            # after the update, so that the average has the weights it led to
            self.backbone.tick()
            self.factors.tick()
            n = len(self.data.heads[i]) - 1
            right += correct
            words += n
            updates += outcome == "update"
            mild += outcome == "no violation"
            short += self._cut_short
            if place % 500 == 499:
                bar.set_postfix_str(f"UAS {100 * right / words:.2f}", refresh=False)
        return EpochReport(
            number, time.perf_counter() - started, right / max(1, words), updates, mild, short,
            float("nan"),
        )  # fmt: skip

    def _learn_from(self, i: int) -> tuple[str, int]:
        """Decode one sentence and update; what happened, and how many heads were right."""
        data, learning = self.data, self.config.learning
        sentence, values, gold = data.sentences[i], data.values[i], data.heads[i]
        arc_head, arc_mod = data.arcs[i]
        problem = self.parser.score_arcs(sentence, values, arc_head, arc_mod)
        right = gold[arc_mod] == arc_head
        if learning.cost:
            # in whole quanta, as the problem says all its scores are
            cost = round(learning.cost / QUANTUM) * QUANTUM
            problem = problem._changed(arc_score=problem.arc_score + np.where(right, 0.0, cost))
        solution = solve(
            problem,
            node_limit=learning.node_limit,
            backbone=self.config.model.backbone,
            settings=self.config.search,
        )
        self._cut_short = solution.status == "node_limit"
        if not len(solution):  # cut short before any tree was found
            return "no violation", 0
        heads = solution.heads[0]
        correct = int((heads[1:] == gold[1:]).sum())
        if correct == len(gold) - 1:
            return "right", correct
        loss = float(solution.scores[0]) - self._score(problem, gold, right)
        if loss < 0.0:
            return "no violation", correct
        indices, counts = self.parser.scorer.tree_difference(values, gold, heads)
        norm = float((counts * counts).sum())
        factors = self._factor_difference(sentence, values, gold, heads)
        if factors is not None:
            norm += float((factors[1] * factors[1]).sum())
        self.backbone.step(indices, counts, loss, norm)
        if factors is not None:
            self.factors.step(*factors, loss, norm)
            changed = factors[0]
            self.parser.table.weights[changed] = self.factor_weights[changed] * QUANTUM
        return "update", correct

    @staticmethod
    def _score(problem: Problem, gold: Ints, right: NDArray[np.bool_]) -> float:
        """φ of the gold tree in a problem that has all its arcs."""
        arcs = np.empty((1, problem.n_words), np.int32)
        own = np.flatnonzero(right).astype(np.int32)
        arcs[0, problem.arc_mod[own] - 1] = own
        return float(rescore(problem, arcs, gold[np.newaxis])[0])

    def _factor_difference(
        self, sentence: Sentence, values: NDArray[np.uint64], gold: Ints, heads: Ints
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Known factor features of the gold tree minus those of another; None if there are none."""
        families, table = self.parser.families, self.parser.table
        if not families:
            return None
        found = []
        for tree in (gold, heads):
            view = FactorView.of_tree(sentence, tree, values)
            place = table.find(tree_keys(families, view, table))
            found.append(place[place >= 0])
        indices = np.concatenate(found)
        signs = np.repeat([1, -1], [len(found[0]), len(found[1])])
        unique, inverse = np.unique(indices, return_inverse=True)
        counts = np.bincount(inverse, signs, len(unique)).astype(np.int64)
        kept = counts != 0
        return unique[kept], counts[kept]

    def averaged(self, notes: dict[str, Any] | None = None) -> Parser:
        """The parser with averaged weights, its own copy of everything that learns."""
        scorer = PartScorer(
            self.config.templates, self.backbone.average.average(), self.parser.scorer.quantum
        )
        table = self.parser.table
        weights = self.factors.average.average() * QUANTUM
        return Parser(
            self.config, self.parser.pruner, scorer, self.parser.families,
            FactorTable(table.keys, table.gates, weights), notes,
        )  # fmt: skip


def train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    config: Configuration,
    *,
    factors: Iterable[str | type[FactorFamily] | FactorFamily] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
    report: Any = None,
) -> Parser:
    """Train a parser.

    Parameters
    ----------
    sentences, dev : sequence of Sentence
        With a tree each; without a dev set the last epoch is kept.
    config : Configuration
    factors : iterable, optional
        Families, by name, class or object, instead of the configuration's.
    checkpoint : path, optional
        Written after each epoch; a run with the same configuration and data that finds one goes
        on from there.
    progress : bool
        Whether to draw progress bars on standard error.
    report : callable, optional
        Called with a line of text now and then.

    Raises
    ------
    TreebankError
        If there is no training sentence, or a sentence has no tree.
    FactorError
        If a family is unknown.
    """
    say = report if report is not None else lambda line: None
    if not sentences:
        raise TreebankError("there are no training sentences")
    for sentence in (*sentences, *dev):
        check_tree(sentence, single_root=config.model.single_root)
    families = load_families(config.factors.families if factors is None else factors)
    config = config.with_("factors", families=tuple(specification(family) for family in families))
    started = time.perf_counter()
    data = prepare(sentences, config.model.single_root)
    if data.projectivised:
        say(
            f"{data.projectivised} of {len(sentences)} training trees are not projective;"
            " learning from the closest projective trees"
        )
    pruner = prune_all(data, config)
    candidates = sum(len(arcs[0]) for arcs in data.arcs) / sum(s.n_words for s in sentences)
    say(
        f"pruner trained: {candidates:.2f} candidate heads a word,"
        f" {100 * data.recall:.2f} % of gold heads among them"
    )
    trainer = Trainer(config, data, pruner, families)
    if families:
        say(f"{len(trainer.factor_weights)} factor features")
    saved = Checkpoint(checkpoint, config, sentences, dev) if checkpoint is not None else None
    first, best_uas = 1, -1.0
    best: Parser | None = None
    if saved is not None and (resumed := saved.load(trainer)) is not None:
        first, best_uas, best = resumed
        say(f"going on after epoch {first - 1} of an earlier run")
    learning = config.learning
    for number in range(first, learning.epochs + 1):
        outcome = trainer.epoch(number, progress)
        parser = trainer.averaged()
        if dev:
            outcome.dev_uas = unlabelled_accuracy(parser, dev, learning.node_limit)
        say(outcome.line())
        if not dev or outcome.dev_uas > best_uas:
            best_uas, best = outcome.dev_uas, parser
            best.notes = {
                "epoch": number, "dev_uas": outcome.dev_uas, "sentences": len(sentences),
                "projectivised": data.projectivised, "pruner_recall": data.recall,
                "candidates_per_word": candidates,
            }  # fmt: skip
        if saved is not None:
            saved.save(trainer, number, best_uas, best)
    if best is None:
        raise ConfigError(f"learning.epochs is {config.learning.epochs}, none is left to train")
    if learning.keep < 1.0:
        best = thinned(best, learning.keep)
        if dev:
            best.notes["dev_uas"] = unlabelled_accuracy(best, dev, learning.node_limit)
            say(
                f"the largest {100 * learning.keep:g} % of the weights kept:"
                f" UAS {100 * best.notes['dev_uas']:.2f} on dev"
            )
    gold = [np.array([-1, *sentence.heads], np.int32) for sentence in sentences]
    best.labeller = train_labeller(config, sentences, data.values, gold, config.learning.seed)
    if best.labeller is not None:
        say(f"{len(best.labeller.labels)} labels learned")
    best.notes["seconds"] = round(time.perf_counter() - started, 1)
    if saved is not None:
        saved.remove()
    return best


def thinned(parser: Parser, share: float) -> Parser:
    """The parser with the largest weights of its backbone only; itself where all are kept."""
    if share >= 1.0:
        return parser
    scorer = PartScorer(
        parser.config.templates, keep_largest(parser.scorer.weights, share), parser.scorer.quantum
    )
    return Parser(
        parser.config, parser.pruner, scorer, parser.families, parser.table, parser.notes,
        parser.labeller,
    )  # fmt: skip


def unlabelled_accuracy(
    parser: Parser, sentences: Iterable[Sentence], node_limit: int | None = None
) -> float:
    """Share of words whose head a parser finds, with at most so many search nodes a sentence."""
    right = words = 0
    for sentence, solution in parser.parse_all(sentences, node_limit=node_limit):
        right += int((solution.heads[0, 1:] == np.array(sentence.heads)).sum())
        words += sentence.n_words
    return right / max(1, words)
