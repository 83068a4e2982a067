"""Parsers that differ in their factors only: one backbone, many sets of families."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bbparse.configuration import Configuration
from bbparse.factors import load_families, specification
from bbparse.learning.candidates import guide_all, prune_all
from bbparse.learning.checkpoint import Checkpoint
from bbparse.learning.data import prepare
from bbparse.learning.labeller import train_labeller
from bbparse.learning.run import Run, learn_backbone, learn_factors
from bbparse.parsing.parser import Parser
from bbparse.treebank import Sentence, read_conllu


class OneBackbone:
    """Pruner, guide, backbone and labeller of a treebank, and the fold backbones' scores.

    Parameters
    ----------
    train, dev : path
        Treebanks.
    config : Configuration
        Factors are learned in a stage of their own, whatever it says.
    checkpoint : path
        An interrupted run goes on from there.

    Attributes
    ----------
    seconds : float
        Processor time that all this took.
    """

    def __init__(self, train: Path, dev: Path, config: Configuration, checkpoint: Path) -> None:
        started = time.process_time()
        self.sentences = list(read_conllu(train, require_heads=True))
        dev_sentences: Sequence[Sentence] = list(read_conllu(dev, require_heads=True))
        config = config.with_("factors", stage="jackknife", families=())
        data = prepare(self.sentences, config.model)
        kept = Checkpoint(checkpoint, (*self.sentences, *dev_sentences))
        pruner = prune_all(data, config, kept)
        guide_all(data, config, kept)
        self.run = Run(config, data, pruner, dev_sentences, _say, kept)
        self.backbone, self.problems = learn_backbone(self.run)
        self.backbone.labeller = train_labeller(config, data)
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
