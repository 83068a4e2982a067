"""Training runs: epochs of whatever learns, the best on dev kept, resumed after a break.

The finished model has the largest of the weights that were learned, in few bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError
from bbparse.factors import FactorFamily
from bbparse.learning.checkpoint import Checkpoint, key_of
from bbparse.learning.data import TrainingData
from bbparse.learning.trainer import Trainer
from bbparse.model.model import Model
from bbparse.problem import Problem
from bbparse.scoring.problem_maker import ProblemMaker, Pruner, batches
from bbparse.solving.solve import solve
from bbparse.storage.archive import REALS, Rule
from bbparse.treebank import Sentence
from bbparse.treebank.progress import watched

_REALS: Rule = (REALS, 1, None)


@dataclass(slots=True)
class Run:
    """What a training run is about, and how it talks."""

    config: Configuration
    #: With candidate arcs.
    data: TrainingData
    pruner: Pruner | None
    #: Without any, the last epoch of everything is kept.
    dev: Sequence[Sentence] = ()
    #: Takes lines of text.
    say: Callable[[str], None] = lambda line: None
    #: Where to keep the state.
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    #: Which part of a larger run this is; in what it says, and in the name of its checkpoint.
    part: str = ""

    def of(self, part: str, **changes: object) -> Run:
        """A part of this run."""
        return replace(self, part=part, **changes)  # type: ignore[arg-type]

    def learn(self, families: Sequence[FactorFamily] = ()) -> Model:
        """The backbone, and factors learned together with it, the mean over all restarts.

        Each restart ends somewhere else: what they have learned about the language they share, what
        they have learned about single training sentences depends on the order of these. For a
        linear model the mean of the scores of several models is the score by the mean of their
        weights, so it parses as fast as one of them (as the averaged perceptron is a vote at the
        price of one, Collins 2002).

        Means are rounded to whole quanta, halves to even ones, so that all scores stay multiples of
        the quantum, and the same models always have the same mean.
        """
        count, epochs = self.config.learning.restarts, self.config.learning.epochs
        found, notes = [], []
        for restart in range(count):
            part = self
            if count > 1:
                part = self.of(f"{self.part} restart {restart + 1}".strip())
            trainer = Trainer(self.config, self.data, self.pruner, families, restart)
            if families and not restart:
                self.say(f"{len(trainer.table)} factor features")
            weights, own = part.epochs(trainer, epochs)
            found.append(weights)
            notes.append(own)
        if count == 1:
            return trainer.model(weights, own)
        mean = np.rint(sum(one.astype(np.int64) for one in found) / count).astype(np.int32)
        model = trainer.model(mean, {"epochs": [own["epoch"] for own in notes]})
        self.judge(model, f"mean of {count} restarts:")
        return model

    def epochs(self, trainer: Trainer, count: int) -> tuple[NDArray[np.int32], dict[str, Any]]:
        """So many epochs of a trainer: its mean weights after the best of them, which that was, and
        how good.

        `ConfigError` if the checkpoint of a longer run left nothing to do and nothing to return.
        """
        # for the families, a backbone of fewer epochs is another one
        key = key_of(self.config) if trainer.n_backbone else self.config.to_table()
        weights, done = trainer.learner.weights.copy(), np.zeros(2, np.int64)
        best_uas = np.full(1, -1.0)
        state = {**trainer.learner.state(), "best": weights, "epochs": done, "best_uas": best_uas}
        prefix = f"{self.part}, " if self.part else ""
        kept = self.checkpoint.read(self.part, key, dict.fromkeys(state, _REALS))
        if kept is not None:
            for name, array in state.items():
                array[:] = kept[name]
            self.say(f"{prefix}going on after epoch {done[0]} of an earlier run")
        for number in range(int(done[0]) + 1, count + 1):
            report = trainer.epoch(number)
            average = trainer.learner.average()
            if self.dev:
                report.dev_uas = self._uas(trainer.model(average).maker)
            self.say(prefix + report.line())
            if not self.dev or report.dev_uas > best_uas[0]:
                done[1], best_uas[0], weights[:] = number, report.dev_uas, average
            done[0] = number
            self.checkpoint.write(self.part, key, state)
        if not done[1]:
            raise ConfigError(f"learning.epochs is {count}, none is left to train")
        return weights, {"epoch": int(done[1]), "dev_uas": float(best_uas[0])}

    def thinned(self, model: Model) -> Model:
        """The finished model: the largest weights of its backbone, and the pruner's, in few bits.

        `learning` says which share is kept (`keep_largest`), in how many bits (`rounded_to`).
        """
        share, bits = self.config.learning.keep, self.config.learning.bits
        if share >= 1.0 and bits >= 32:
            return model
        assert model.maker.scorer is not None and model.maker.pruner is not None
        backbone, pruner = model.maker.scorer, model.maker.pruner.scorer
        if share < 1.0:
            backbone = backbone.with_weights(keep_largest(backbone.weights, share))
        if bits < 32:
            backbone, pruner = (
                scorer.with_weights(rounded_to(scorer.weights.astype(np.int32), bits))
                for scorer in (backbone, pruner)
            )
        pruned = replace(model.maker.pruner, scorer=pruner)
        thin = Model(replace(model.maker, scorer=backbone, pruner=pruned), notes=dict(model.notes))
        self.judge(thin, f"the largest {100 * share:g} % of the weights kept, in {bits} bits:")
        return thin

    def judge(self, model: Model, what: str) -> None:
        """Note how good a model is on dev, and say it."""
        if self.dev:
            model.notes["dev_uas"] = uas = self._uas(model.maker)
            self.say(f"{what} UAS {100 * uas:.2f} on dev")

    def _uas(self, maker: ProblemMaker) -> float:
        return unlabelled_accuracy(maker, self.dev, self.config.learning.node_limit)


def unlabelled_accuracy(
    maker: ProblemMaker, sentences: Iterable[Sentence], node_limit: int | None = None
) -> float:
    """Share of words whose head is found, with at most so many search nodes a sentence."""
    right = words = 0
    for batch in batches(watched(sentences, "dev")):
        for one in maker(batch):
            solution = solve(one.problem, node_limit=node_limit, **maker.config.search_options)
            right += int((solution.heads[0, 1:] == np.array(one.sentence.heads)).sum())
            words += one.sentence.n_words
    return right / max(1, words)


def keep_largest(weights: NDArray[np.int32], share: float) -> NDArray[np.int32]:
    """A copy of weights, int32[F], without the smallest of them.

    Most weights of a model come from features met once or twice: they are small, many, and about
    the training text only. Without them a model is a fraction of its size and parses as well.
    Kept is a share of the weights that are not zero, those of largest magnitude, and all that tie
    with the smallest of these.
    """
    kept = weights.copy()
    sizes = np.abs(weights[weights != 0])
    count = int(np.ceil(share * len(sizes)))
    if 0 < count < len(sizes):
        least = np.partition(sizes, len(sizes) - count)[len(sizes) - count]
        kept[np.abs(kept) < least] = 0
    return kept


def rounded_to(weights: NDArray[np.int32], bits: int) -> NDArray[np.int32]:
    """A copy of weights, int32[F], as multiples of a power of two: `bits` hold all their factors.

    Of the bits, two at least, one is the sign. No weight changes by more than half of the power of
    two, which is the smallest that is large enough.
    """
    most = (1 << (bits - 1)) - 1
    largest = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    step = 1
    while (largest + step // 2) // step > most:
        step *= 2
    # The largest 32-bit number is no multiple of the step: rounded up, it would not fit.
    highest = np.iinfo(np.int32).max // step
    return np.clip(np.rint(weights / step), -highest, highest).astype(np.int32) * np.int32(step)


def learn_factors(
    run: Run, backbone: Model, problems: Sequence[Problem], families: Sequence[FactorFamily]
) -> Model:
    """A model of arcs and parts with factors whose weights are learned from ``problems``: the
    training sentences, in order, scored by others of its kind that did not see them.
    """
    trainer = Trainer(
        run.config, run.data, None, families, below=backbone.maker, problems=problems
    )
    factors = sum(map(len, trainer.proposals)) / len(problems)
    run.say(f"{len(trainer.table)} factor features; {factors:.0f} factors a sentence")
    weights, notes = run.of("families").epochs(trainer, run.config.factors.epochs)
    before = {f"backbone_{key}": value for key, value in backbone.notes.items()}
    return trainer.model(weights, {**before, **notes})
