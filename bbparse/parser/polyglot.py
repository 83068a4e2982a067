"""Models that tell languages apart, and leave each to its own model.

Text gets the language of each paragraph in comments, and the tokenizer of its model. Sentences with
such a comment are tagged and parsed by the model of the language if it is installed; all others by
the joint model, which learned from many languages. Models of languages are loaded when needed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

from bbparse.models import MODELS
from bbparse.models.model import Model
from bbparse.models.model_file import load_model
from bbparse.neural.embeddings import BaseStates, EncoderStates
from bbparse.runtime.errors import ModelError
from bbparse.text.languages import Languages
from bbparse.text.tokenizer import Tokenizer
from bbparse.treebank import Sentence

if TYPE_CHECKING:
    from bbparse.parser.parser import Parser

_COMMENT = re.compile(r"# language = (\S+)")


def language_of(sentence: Sentence) -> str:
    """Return the language that a comment of a sentence names; '' for none."""
    for line in sentence.lines:
        if match := _COMMENT.match(line):
            return match[1]
        if line[:1] != "#":
            break
    return ""


def model_of(joint: Model, code: str) -> Model:
    """Return the model of a language; the joint one if it is unknown or not installed."""
    name = None if joint.languages is None else joint.languages.models.get(code)
    if name is None or name not in MODELS.names():
        return joint
    if code not in joint.loaded:
        model, own = load_model(name), joint.embeddings
        model.maker = replace(model.maker, max_parts=joint.maker.max_parts)
        if isinstance(model.embeddings, BaseStates) and isinstance(own, EncoderStates):
            model.embeddings.use(own.held_encoder)
        joint.loaded[code] = model
    return joint.loaded[code]


def model_for(joint: Model, language: str) -> Model:
    """Return the model of a language, given its code or the name of its model; it knows no other.

    `ModelError` if the joint model does not know it.
    """
    if joint.languages is None:
        raise ModelError(f"the model knows no languages, expected one that does for {language!r}")
    return replace(model_of(joint, joint.languages.code_of(language)), languages=None)


class PolyglotTokenizer(NamedTuple):
    """The tokenizers of the models of all languages, of which each text is given its own."""

    parser: Parser

    def of_text(self, text: str) -> tuple[Tokenizer, str]:
        """Return the tokenizer of a text's language, and the comment of its sentences."""
        languages = cast(Languages, self.parser.model.languages)
        code = languages.identify(text)
        found = self.parser.of_language(code)
        joint = " (joint model)" if found is self.parser else ""
        return found.model.needed_tokenizer(), f"# language = {code}{joint}"
