"""`PolyglotParser`: a model that tells languages apart, and leaves each to its own model.

Text gets the language of each paragraph in comments, and the tokenizer of its model. Sentences with
such a comment are tagged and parsed by the model of the language if it is installed; all others by
the joint model, which learned from many languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple, Self

from bbparse.core import Problem, Solution
from bbparse.models import MODELS
from bbparse.models.model import Model
from bbparse.models.model_file import load_model
from bbparse.neural.embeddings import BaseStates, EncoderStates
from bbparse.parser.parse import USUAL, Parse, ParseOptions
from bbparse.parser.parser import Parser
from bbparse.runtime.arrays import Ints
from bbparse.runtime.errors import ModelError
from bbparse.text.tokenizer import Tokenizer
from bbparse.treebank import Sentence

_COMMENT = re.compile(r"# language = (\S+)")


class _Change(NamedTuple):
    """A method of parsers that changes them, and its argument."""

    method: str
    value: Any

    def __call__(self, parser: Parser) -> Parser:
        return getattr(parser, self.method)(self.value)


class PolyglotParser(Parser):
    """The parser of a model with `Model.languages`; models of languages are loaded when needed."""

    def __init__(self, model: Model, *changes: _Change) -> None:
        super().__init__(model)
        if model.languages is None:
            raise ModelError("the model knows no languages")
        self.languages = model.languages
        self._changes = changes
        self._joint = self._changed(Parser(model))
        self._loaded: dict[str, Parser] = {"": self._joint}

    def _changed(self, parser: Parser) -> Parser:
        for change in self._changes:
            parser = change(parser)
        return parser

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, *self._changes)

    def with_projective(self, projective: bool) -> Self:
        """Return this parser with all of its models for projective or crossing trees."""
        return type(self)(self.model, *self._changes, _Change("with_projective", projective))

    def with_members(self, members: int) -> Self:
        """Return this parser with fewer networks in all of its models."""
        return type(self)(self.model, *self._changes, _Change("with_members", members))

    def with_language(self, language: str) -> Parser:
        """Return the parser of a language, given its code or the name of its model."""
        return self.parser_of(self.languages.code_of(language))

    def parser_of(self, code: str) -> Parser:
        """Return the parser of a language; the joint one if it is unknown or not installed."""
        if code not in self._loaded:
            name, own = self.languages.models.get(code), self.model.embeddings
            if name is None or name not in MODELS.names():
                self._loaded[code] = self._joint
                return self._joint
            model = load_model(name)
            model.maker = replace(model.maker, max_parts=self.model.maker.max_parts)
            if isinstance(model.embeddings, BaseStates) and isinstance(own, EncoderStates):
                model.embeddings.use(own.held_encoder)
            self._loaded[code] = self._changed(Parser(model))
        return self._loaded[code]

    def needed_tokenizer(self) -> PolyglotTokenizer:
        """Return the tokenizers of all languages, of which each text is given its own."""
        return PolyglotTokenizer(self)

    def _of(self, sentence: Sentence) -> Parser:
        for line in sentence.lines:
            if match := _COMMENT.match(line):
                return self.parser_of(match[1])
            if line[:1] != "#":
                break
        return self._joint

    def tagged(self, sentence: Sentence) -> Sentence:
        """Return a sentence with tags of the model of its language."""
        return self._of(sentence).tagged(sentence)

    def tag(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield sentences with tags of the models of their languages."""
        for parser, group in groupby(sentences, self._of):
            yield from parser.tag(group)

    def problem(
        self, sentence: Sentence, prune: int | None = None, margin: float | None = None
    ) -> Problem:
        """Return the problem of a sentence, scored by the model of its language."""
        return self._of(sentence).problem(sentence, prune, margin)

    def solve(self, sentence: Sentence, options: ParseOptions = USUAL, **changes: Any) -> Solution:
        """Solve a sentence's problem; see `Parser.solve`."""
        return self._of(sentence).solve(sentence, options, **changes)

    def labels(self, sentence: Sentence, heads: Ints) -> list[str]:
        """Return the labels of a tree by the model of its language."""
        return self._of(sentence).labels(sentence, heads)

    def parse_all(
        self, sentences: Iterable[Sentence], options: ParseOptions = USUAL, **more: Any
    ) -> Iterator[Parse]:
        """Parse sentences by the models of their languages; see `Parser.parse_all`."""
        for parser, group in groupby(sentences, self._of):
            yield from parser.parse_all(group, options, **more)

    def parse_around(
        self, sentences: Iterable[Sentence], options: ParseOptions = USUAL, **more: Any
    ) -> Iterator[Parse]:
        """Parse sentences around their heads; see `Parser.parse_around`."""
        for parser, group in groupby(sentences, self._of):
            yield from parser.parse_around(group, options, **more)


class PolyglotTokenizer(NamedTuple):
    """The tokenizers of the models of a `PolyglotParser`."""

    parser: PolyglotParser

    def of_text(self, text: str) -> tuple[Tokenizer, str]:
        """Return the tokenizer of a text's language, and the comment of its sentences."""
        code = self.parser.languages.identify(text)
        found = self.parser.parser_of(code)
        joint = " (joint model)" if found is self.parser.parser_of("") else ""
        return found.model.needed_tokenizer(), f"# language = {code}{joint}"
