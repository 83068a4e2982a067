"""`Model`: what a model file holds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from bbparse.configuration import Configuration
from bbparse.errors import ModelError
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

    @property
    def takes_words(self) -> bool:
        """Whether words need no tags: there is a tagger, or there were no tags to learn from."""
        return self.tagger is not None or not self.notes.get("tagged", True)

    def needed_cutter(self) -> Cutter:
        """What cuts running text; `ModelError` if the model has none."""
        if self.cutter is None:
            raise ModelError(
                "the model cannot cut running text: give sentences of words, or train it anew on a"
                " treebank with its text"
            )
        return self.cutter

    def with_projective(self, projective: bool) -> Model:
        """The same model, drawing only trees without crossing arcs, or crossing ones, too.

        `ModelError` if it is to draw crossing trees, and was trained on projective ones: nothing in
        such a model knows what a crossing is.
        """
        if projective == self.config.projective:
            return self
        if not projective:
            raise ModelError(
                "the model was trained to draw projective trees, and cannot draw crossing ones:"
                " train one with --projective no"
            )
        config = self.config.with_("model", projective=True)
        return replace(self, maker=replace(self.maker, config=config))
