"""Train parsers that share one network and differ only in their factor families."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from bbparse.core import Problem
from bbparse.models.configuration import Configuration
from bbparse.models.factors.registry import load_families, specification
from bbparse.models.learning.checkpoint import Checkpoint
from bbparse.models.learning.data import prepare
from bbparse.models.learning.run import Run, held_out_problems, learn_factors, learn_with_network
from bbparse.parser.parser import Parser
from bbparse.treebank import Sentence


class OneBackbone:
    """The network of a treebank, and what those of the folds score once there are families.

    The epoch of families is chosen by `dev`, if there is one. An interrupted run goes on from
    `checkpoint`.
    """

    def __init__(
        self,
        train: Sequence[Sentence],
        dev: Sequence[Sentence],
        config: Configuration,
        checkpoint: Path,
    ) -> None:
        if not config.network.epochs:
            raise SystemExit("network.epochs is 0, expected a configuration with a network")
        started = time.process_time()
        config = config.with_("factors", families=())
        data = prepare(train, config.model)
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        self.checkpoint = Checkpoint(checkpoint, (*train, *dev))
        self.run = Run(config, data, dev, partial(print, flush=True), self.checkpoint)
        self.backbone = learn_with_network(self.run, ())
        self.seconds = time.process_time() - started

    @cached_property
    def problems(self) -> list[Problem]:
        """The sentences of train as networks of the folds score them."""
        started = time.process_time()
        found = held_out_problems(self.run)
        self.seconds += time.process_time() - started
        return found

    def parser(self, names: Sequence[str]) -> tuple[Parser, float]:
        """The parser with these families, and the processor time that all its training took."""
        if not names:
            return Parser(self.backbone), self.seconds
        families, problems = load_families(names), self.problems
        started = time.process_time()
        specified = tuple(specification(family) for family in families)
        config = self.run.config.with_("factors", families=specified)
        run = replace(self.run, config=config, checkpoint=Checkpoint())
        model = learn_factors(run, self.backbone, problems, families)
        model.labeller = self.backbone.labeller
        return Parser(model), self.seconds + time.process_time() - started
