"""`Model`: what a model file holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bbparse.configuration import Configuration
from bbparse.scoring.labeller import Labeller
from bbparse.scoring.problem_maker import ProblemMaker
from bbparse.tagging.tagger import Tagger
from bbparse.text.cutter import Cutter


@dataclass(slots=True, eq=False)
class Model:
    """All that was learned."""

    #: From a sentence to its problem.
    maker: ProblemMaker
    #: Names the arcs of the trees found.
    labeller: Labeller | None = None
    #: Gives words their tags where the input has none.
    tagger: Tagger | None = None
    #: What is worth knowing about the training.
    notes: dict[str, Any] = field(default_factory=dict)
    #: Cuts running text into sentences and words.
    cutter: Cutter | None = None

    @property
    def config(self) -> Configuration:
        """How it was trained, and how it parses."""
        return self.maker.config
