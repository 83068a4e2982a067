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
from bbparse.parser import Parser
from bbparse.progress import watched
from bbparse.scoring.pruner import Pruner
from bbparse.scoring.scorer import PartScorer
from bbparse.treebank import Sentence


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

    def learn(self, trainer: Learning, epochs: int) -> Parser:
        """So many epochs; the parser after the best of them.

        Raises
        ------
        ConfigError
            If the checkpoint of a longer run left nothing to do and nothing to return.
        """
        saved = self._checkpoint()
        prefix = f"{self.part}, " if self.part else ""
        first, best_uas = 1, -1.0
        best: Parser | None = None
        if saved is not None and (resumed := saved.load(trainer)) is not None:
            first, best_uas, best = resumed
            self.say(f"{prefix}going on after epoch {first - 1} of an earlier run")
        for number in range(first, epochs + 1):
            outcome = trainer.epoch(number, self.progress)
            parser = trainer.averaged()
            if self.dev:
                limit = self.config.learning.node_limit
                outcome.dev_uas = unlabelled_accuracy(parser, self.dev, limit)
            self.say(prefix + outcome.line())
            if not self.dev or outcome.dev_uas > best_uas:
                best_uas, best = outcome.dev_uas, parser
                best.notes.update(epoch=number, dev_uas=outcome.dev_uas)
            if saved is not None:
                saved.save(trainer, number, best_uas, best)
        if best is None:
            raise ConfigError(f"learning.epochs is {epochs}, none is left to train")
        return best

    def thinned(self, parser: Parser) -> Parser:
        """The finished parser: with as much of its weights as `learning` says."""
        share, bits = self.config.learning.keep, self.config.learning.bits
        thin = rounded(thinned(parser, share), bits)
        if thin is not parser and self.dev:
            uas = unlabelled_accuracy(thin, self.dev, self.config.learning.node_limit)
            thin.notes["dev_uas"] = uas
            self.say(
                f"the largest {100 * share:g} % of the weights kept, in {bits} bits:"
                f" UAS {100 * uas:.2f} on dev"
            )
        return thin

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


def thinned(parser: Parser, share: float) -> Parser:
    """The parser with the largest weights of its backbone only; itself where all are kept."""
    if share >= 1.0:
        return parser
    scorer = PartScorer(
        parser.config.templates, keep_largest(parser.scorer.weights, share), parser.scorer.quantum
    )
    return Parser(
        parser.config, parser.pruner, scorer, parser.families, parser.table, parser.notes,
        parser.labeller, parser.guide, parser.tagger, parser.quantum,
    )  # fmt: skip


def rounded(parser: Parser, bits: int) -> Parser:
    """The parser with the weights of backbone and pruner in so many bits; itself with 32."""
    if bits >= 32:
        return parser
    scorers = [
        PartScorer(old.templates, rounded_to(old.weights.astype(np.int32), bits), old.quantum)
        for old in (parser.scorer, parser.pruner.scorer)
    ]
    config = parser.config
    pruner = Pruner(scorers[1], config.pruner.k, config.pruner.margin, config.model.single_root)
    return Parser(
        config, pruner, scorers[0], parser.families, parser.table, parser.notes, parser.labeller,
        parser.guide, parser.tagger, parser.quantum,
    )  # fmt: skip


def unlabelled_accuracy(
    parser: Parser, sentences: Iterable[Sentence], node_limit: int | None = None
) -> float:
    """Share of words whose head a parser finds, with at most so many search nodes a sentence."""
    right = words = 0
    for sentence, solution in parser.parse_all(watched(sentences, "dev"), node_limit=node_limit):
        right += int((solution.heads[0, 1:] == np.array(sentence.heads)).sum())
        words += sentence.n_words
    return right / max(1, words)
