"""`LoadedModel`: a model with its parts at hand, which parsers derive from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Self

from bbparse.models.factors.family import FactorFamily
from bbparse.models.model import Model
from bbparse.models.model_file import load_model, save_model
from bbparse.models.scoring.linear import ARC, GRANDCHILD
from bbparse.parser.parse import FileOptions
from bbparse.text.tokenizer import Tokenizer
from bbparse.treebank import Sentence


class LoadedModel:
    """A model whose parts (`config`, `maker`, `labeller`, `tagger`, …) are attributes."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.config = model.config
        self.maker = model.maker
        self.labeller = model.labeller
        self.tagger = model.tagger
        self.tokenizer = model.tokenizer
        self.notes = model.notes
        scorer = model.maker.scorer
        #: True if price and cut solves problems of all arcs and grandchildren: there is nothing
        #: else to score.
        self._unpruned = (
            self.config.model.solver == "price-and-cut" and not model.maker.families
            and scorer is not None and set(scorer.features.kinds) == {ARC, GRANDCHILD}
        )  # fmt: skip

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        factors: Iterable[str | type[FactorFamily] | FactorFamily] = (),
    ) -> Self:
        """Read a model file; see `bbparse.models.model_file.load_model`."""
        return cls(load_model(path, factors))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model,)  # everything else is made from the model

    def needed_tokenizer(self) -> Tokenizer:
        """Return the tokenizer for running text; raises `ModelError` if the model has none."""
        return self.model.needed_tokenizer()

    def with_projective(self, projective: bool) -> Self:
        """Return the same parser for (non-)projective trees; see `Model.with_projective`."""
        model = self.model.with_projective(projective)
        return self if model is self.model else type(self)(model)

    def with_members(self, members: int) -> Self:
        """Return a faster parser with fewer of its networks; see `Model.with_members`."""
        model = self.model.with_members(members)
        return self if model is self.model else type(self)(model)

    def for_files(self, options: FileOptions) -> Self:
        """Return the parser for the trees that are asked for, with so many of its networks."""
        parser = self
        if options.projective is not None:
            parser = parser.with_projective(options.projective)
        if options.members is not None:
            parser = parser.with_members(options.members)
        return parser

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file atomically."""
        save_model(self.model, path)

    def tagged(self, sentence: Sentence) -> Sentence:
        """Return a sentence with tags; see `Model.tagged`."""
        return self.model.tagged(sentence)

    def tag(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield sentences with tags, a batch at a time; see `Model.tag`."""
        return self.model.tag(sentences)
