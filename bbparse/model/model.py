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
    """All that was learned.

    Attributes
    ----------
    maker : ProblemMaker
        From a sentence to its problem.
    labeller : Labeller, optional
        Names the arcs of the trees found.
    tagger : Tagger, optional
        Gives words their tags where the input has none.
    notes : dict
        What is worth knowing about the training.
    cutter : Cutter, optional
        Cuts running text into sentences and words.
    """

    maker: ProblemMaker
    labeller: Labeller | None = None
    tagger: Tagger | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    cutter: Cutter | None = None

    @property
    def config(self) -> Configuration:
        """How it was trained, and how it parses."""
        return self.maker.config
