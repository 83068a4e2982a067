"""Training runs: epochs of whatever learns, the best on dev kept, resumed after a break."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError
from bbparse.learning.averaging import keep_largest, rounded_to
from bbparse.learning.checkpoint import Checkpoint
from bbparse.learning.data import TrainingData
from bbparse.learning.learning import Learning
from bbparse.model.model import Model
from bbparse.scoring.problem_maker import ProblemMaker, batches
from bbparse.scoring.pruner import Pruner
from bbparse.scoring.scorer import PartScorer
from bbparse.solving.solve import solve
from bbparse.treebank import Sentence
from bbparse.treebank.progress import watched


@dataclass(slots=True)
class Run:
    """What a training run is about, and how it talks.

    Attributes
    ----------
    config : Configuration
    data : TrainingData
        With candidate arcs.
    pruner : Pruner
    dev : sequence of Sentence
        Without any, the last epoch of everything is kept.
    say : callable
        Takes lines of text.
    progress : bool
        Whether to draw progress bars on standard error.
    checkpoint : path, optional
        Where to keep the state; parts of the run keep theirs beside it.
    part : str
        Which part of a larger run this is; in what it says, and in the name of its checkpoint.
    longer : bool
        Whether it may go on from the checkpoint of a run with fewer epochs of the backbone.
    """

    config: Configuration
    data: TrainingData
    pruner: Pruner
    dev: Sequence[Sentence] = ()
    say: Callable[[str], None] = lambda line: None
    progress: bool = False
    checkpoint: str | os.PathLike[str] | None = None
    part: str = ""
    longer: bool = True
    _saved: list[Checkpoint] = field(default_factory=list)

    def of(self, part: str, **changes: object) -> Run:
        """A part of this run, which is forgotten with it."""
        return replace(self, part=part, **changes)  # type: ignore[arg-type]

    def learn(self, trainer: Learning, epochs: int) -> Model:
        """So many epochs; the model after the best of them.

        Raises
        ------
        ConfigError
            If the checkpoint of a longer run left nothing to do and nothing to return.
        """
        saved = self._checkpoint()
        prefix = f"{self.part}, " if self.part else ""
        first, best_uas = 1, -1.0
        best: Model | None = None
        if saved is not None and (resumed := saved.load(trainer)) is not None:
            first, best_uas, best = resumed
            self.say(f"{prefix}going on after epoch {first - 1} of an earlier run")
        for number in range(first, epochs + 1):
            outcome = trainer.epoch(number, self.progress)
            model = trainer.averaged()
            if self.dev:
                limit = self.config.learning.node_limit
                outcome.dev_uas = unlabelled_accuracy(model.maker, self.dev, limit)
            self.say(prefix + outcome.line())
            if not self.dev or outcome.dev_uas > best_uas:
                best_uas, best = outcome.dev_uas, model
                best.notes.update(epoch=number, dev_uas=outcome.dev_uas)
            if saved is not None:
                saved.save(trainer, number, best_uas, best)
        if best is None:
            raise ConfigError(f"learning.epochs is {epochs}, none is left to train")
        return best

    def thinned(self, model: Model) -> Model:
        """The finished model: with as much of its weights as `learning` says."""
        share, bits = self.config.learning.keep, self.config.learning.bits
        thin = rounded(thinned(model.maker, share), bits)
        if thin is model.maker:
            return model
        notes = dict(model.notes)
        if self.dev:
            uas = unlabelled_accuracy(thin, self.dev, self.config.learning.node_limit)
            notes["dev_uas"] = uas
            self.say(
                f"the largest {100 * share:g} % of the weights kept, in {bits} bits:"
                f" UAS {100 * uas:.2f} on dev"
            )
        return Model(thin, notes=notes)

    def forget(self) -> None:
        """Remove the checkpoints of this run and of its parts: the model is written."""
        for saved in self._saved:
            saved.remove()

    def _checkpoint(self) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        path = Path(self.checkpoint)
        if self.part:
            path = path.with_name(f"{path.name}.{self.part.replace(' ', '-')}")
        saved = Checkpoint(path, self.config, self.data.sentences, self.dev, self.longer)
        self._saved.append(saved)
        return saved


def thinned(maker: ProblemMaker, share: float) -> ProblemMaker:
    """The same with the largest weights of its backbone only; itself where all are kept."""
    if share >= 1.0:
        return maker
    old = maker.scorer
    return maker.with_(
        scorer=PartScorer(old.templates, keep_largest(old.weights, share), old.quantum)
    )


def rounded(maker: ProblemMaker, bits: int) -> ProblemMaker:
    """The same with the weights of backbone and pruner in so many bits; itself with 32."""
    if bits >= 32:
        return maker
    backbone, pruner = (
        PartScorer(old.templates, rounded_to(old.weights.astype(np.int32), bits), old.quantum)
        for old in (maker.scorer, maker.pruner.scorer)
    )
    return maker.with_(scorer=backbone, pruner=maker.pruner.with_scorer(pruner))


def unlabelled_accuracy(
    maker: ProblemMaker, sentences: Iterable[Sentence], node_limit: int | None = None
) -> float:
    """Share of words whose head is found, with at most so many search nodes a sentence."""
    right = words = 0
    for batch in batches(watched(sentences, "dev")):
        for one in maker(batch):
            solution = solve(one.problem, node_limit=node_limit, **maker.config.method)
            right += int((solution.heads[0, 1:] == np.array(one.sentence.heads)).sum())
            words += one.sentence.n_words
    return right / max(1, words)
