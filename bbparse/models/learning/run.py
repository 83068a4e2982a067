"""Training runs: epochs of a trainer, with the best on dev kept, resumed after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.inference.solve import solve
from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily
from bbparse.models.learning.checkpoint import Checkpoint, key_of
from bbparse.models.learning.data import TrainingData
from bbparse.models.learning.trainer import Trainer
from bbparse.models.model import Model
from bbparse.models.scoring.problem_maker import ProblemMaker, Pruner
from bbparse.neural.ragged import batches
from bbparse.runtime.archive import REALS, Rule
from bbparse.runtime.errors import ConfigError
from bbparse.treebank import Sentence
from bbparse.treebank.progress import watched

_REALS: Rule = (REALS, 1, None)


@dataclass(slots=True)
class Run:
    """Data and settings of a training run."""

    config: Configuration
    #: Training data with candidate arcs.
    data: TrainingData
    pruner: Pruner | None
    #: Development data; without any, the last epoch is kept.
    dev: Sequence[Sentence] = ()
    #: Called with lines of progress.
    say: Callable[[str], None] = lambda line: None
    #: Files of the run's state.
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    #: Name of this part of a larger run, for messages and for the file of its checkpoint.
    part: str = ""

    def of(self, part: str, **changes: object) -> Run:
        """Return a run for a part of this run, with `changes`."""
        return replace(self, part=part, **changes)  # type: ignore[arg-type]

    def learn(self, families: Sequence[FactorFamily] = ()) -> Model:
        """Train the backbone with the factors of `families`."""
        trainer = Trainer(self.config, self.data, self.pruner, families)
        if families:
            self.say(f"{len(trainer.table)} factor features")
        return trainer.model(*self.epochs(trainer, self.config.learning.epochs))

    def epochs(self, trainer: Trainer, count: int) -> tuple[NDArray[np.int32], dict[str, Any]]:
        """Train for `count` epochs.

        Returns the mean weights after the best epoch, and a note of its number and dev accuracy.
        Raises `ConfigError` if the checkpoint of a longer run leaves no epoch to train.
        """
        # The families depend on the number of backbone epochs, the backbone itself does not.
        key = key_of(self.config) if trainer.n_backbone else self.config.to_table()
        weights, done = trainer.learner.weights.copy(), np.zeros(2, np.int64)
        best_uas = np.full(1, -1.0)
        state = {**trainer.learner.state(), "best": weights, "epochs": done, "best_uas": best_uas}
        prefix = f"{self.part}, " if self.part else ""
        kept = self.checkpoint.read(self.part, key, dict.fromkeys(state, _REALS))
        if kept is not None:
            for name, array in state.items():
                array[:] = kept[name]
            self.say(f"{prefix}resuming after epoch {done[0]} of an earlier run")
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

    def judge(self, model: Model, what: str) -> None:
        """Measure the accuracy of a model on dev, note it in the model and report it."""
        if self.dev:
            model.notes["dev_uas"] = uas = self._uas(model.maker)
            self.say(f"{what} UAS {100 * uas:.2f} on dev")

    def _uas(self, maker: ProblemMaker) -> float:
        return unlabelled_accuracy(maker, self.dev, self.config.learning.node_limit)


def unlabelled_accuracy(
    maker: ProblemMaker, sentences: Iterable[Sentence], node_limit: int | None = None
) -> float:
    """Return the unlabelled accuracy as a fraction of all words.

    ``node_limit`` limits the search nodes of a sentence.
    """
    right = words = 0
    for batch in batches(watched(sentences, "dev")):
        for scored in maker(batch):
            solution = solve(scored.problem, node_limit=node_limit, **maker.config.search_options)
            right += int((solution.heads[0, 1:] == np.array(scored.sentence.heads)).sum())
            words += scored.sentence.n_words
    return right / max(1, words)


def learn_factors(
    run: Run, backbone: Model, problems: Sequence[Problem], families: Sequence[FactorFamily]
) -> Model:
    """Train factors beside a backbone and return the model of both.

    ``problems`` are the training sentences, in order, scored by backbones of the same kind that
    were not trained on them.
    """
    trainer = Trainer(
        run.config, run.data, None, families, below=backbone.maker, problems=problems
    )
    factors = sum(map(len, trainer.proposals)) / len(problems)
    run.say(f"{len(trainer.table)} factor features; {factors:.0f} factors per sentence")
    weights, notes = run.of("families").epochs(trainer, run.config.factors.epochs)
    before = {f"backbone_{key}": value for key, value in backbone.notes.items()}
    return trainer.model(weights, {**before, **notes})
