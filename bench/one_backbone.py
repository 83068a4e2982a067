"""Parsers that differ in their factors only: one network, many sets of families."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bbparse.configuration import Configuration
from bbparse.factors import load_families, specification
from bbparse.learning.checkpoint import Checkpoint
from bbparse.learning.data import prepare
from bbparse.learning.network import held_out_problems, learn_with_network
from bbparse.learning.run import Run, learn_factors
from bbparse.parsing.parser import Parser
from bbparse.treebank import Sentence, read_conllu


class OneBackbone:
    """The network of a treebank, and what those of the folds score.

    Parameters
    ----------
    train, dev : path
        Treebanks.
    config : Configuration
        With a network.
    checkpoint : path
        An interrupted run goes on from there.

    Attributes
    ----------
    seconds : float
        Processor time that all this took.
    """

    def __init__(self, train: Path, dev: Path, config: Configuration, checkpoint: Path) -> None:
        if not config.network.epochs:
            raise SystemExit("network.epochs is 0, expected a configuration with a network")
        started = time.process_time()
        self.sentences = list(read_conllu(train, require_heads=True))
        dev_sentences: Sequence[Sentence] = list(read_conllu(dev, require_heads=True))
        config = config.with_("factors", families=())
        data = prepare(self.sentences, config.model)
        kept = Checkpoint(checkpoint, (*self.sentences, *dev_sentences))
        self.run = Run(config, data, None, dev_sentences, _say, kept)
        self.backbone = learn_with_network(self.run, ())
        self.problems = held_out_problems(self.run)
        self.seconds = time.process_time() - started

    def parser(self, names: Sequence[str]) -> Parser:
        """The parser with these families."""
        if not names:
            return Parser(self.backbone)
        families = load_families(names)
        specified = tuple(specification(family) for family in families)
        config = self.run.config.with_("factors", families=specified)
        run = replace(self.run, config=config, checkpoint=Checkpoint())
        model = learn_factors(run, self.backbone, self.problems, families)
        model.labeller = self.backbone.labeller
        return Parser(model)


def _say(line: str) -> None:
    print(line, flush=True)
