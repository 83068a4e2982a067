"""`Model`: what a model file holds, and its card: what it was learned from, and what it reaches."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bbparse import __version__
from bbparse.configuration import Configuration
from bbparse.errors import ModelError
from bbparse.options import check_options
from bbparse.outside import Outside, one_source
from bbparse.scoring.labeller import Labelling
from bbparse.scoring.problem_maker import ProblemMaker
from bbparse.tagging.tagger import Tagger
from bbparse.text.tokenizer import Tokenizer
from bbparse.treebank import Sentence

#: The name of a card among the notes of a model.
NOTE = "card"

#: What whoever trains a model may say of it.
ABOUT = ("name", "language", "license")

# As the files of Universal Dependencies are named: en_ewt-ud-train.conllu.
_LANGUAGE = re.compile(r"([a-z]{2,3})_[a-z0-9]+-ud-")
_LEAST = 0.01  # share of the letters, below which a script is a guest


@dataclass(slots=True, eq=False)
class Model:
    """All that was learned."""

    #: From a sentence to its problem.
    maker: ProblemMaker
    #: Names the arcs of the trees found.
    labeller: Labelling | None = None
    #: Gives words their tags where the input has none.
    tagger: Tagger | None = None
    #: What is worth knowing about the training.
    notes: dict[str, Any] = field(default_factory=dict)
    #: Cuts running text into sentences and words.
    cutter: Tokenizer | None = None

    @property
    def config(self) -> Configuration:
        """How it was trained, and how it parses."""
        return self.maker.config

    @property
    def takes_words(self) -> bool:
        """Whether words need no tags: there is a tagger, or there were no tags to learn from."""
        return self.tagger is not None or not self.notes.get("tagged", True)

    @property
    def outside(self) -> Outside | None:
        """Vectors that parser and tagger take; `ModelError` if they take different ones."""
        return one_source(self.maker.outside, None if self.tagger is None else self.tagger.outside)

    def needed_cutter(self) -> Tokenizer:
        """What cuts running text; `ModelError` if the model has none."""
        if self.cutter is None:
            raise ModelError(
                "the model cannot cut running text: give sentences of words, or train it anew on a"
                " treebank with its text"
            )
        return self.cutter

    def tagged(self, sentence: Sentence) -> Sentence:
        """Return a sentence with tags: itself if it has some, else a copy with the tagger's.

        `ModelError` if it has none, the model has no tagger, and was trained with tags.
        """
        if sentence.has_tags:
            return sentence
        if self.tagger is None:
            if self.takes_words:
                return sentence
            raise ModelError(
                f"{sentence.source or 'input'}, {sentence.name}: the words have no tags, and the"
                " model has no tagger: tag them with 'bbparse tag', or put a tagger into the model"
                " with 'bbparse bundle'"
            )
        return self.tagger(sentence)

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

    def with_members(self, members: int) -> Model:
        """The same model with so many of its networks: fewer are faster, and err a little more.

        `ModelError` if it has not so many.
        """
        check_options({"members": members}, ModelError)
        network = self.maker.network
        available = 0 if network is None else len(network.members)
        if members > available:
            raise ModelError(f"the model has {available} networks, {members} were asked for")
        if network is None or members == available:
            return self
        fewer = network.with_others(network.members[1:members])
        labeller = fewer if self.labeller is network else self.labeller
        return replace(self, maker=replace(self.maker, network=fewer), labeller=labeller)


def card_note(
    sentences: Sequence[Sentence], dev: Sequence[Sentence], about: Mapping[str, str | None]
) -> dict[str, Any]:
    """What is kept of a card in the notes of a model. It has no dates: runs can be repeated.

    Of `about`, which has some of `ABOUT`, the language, if not given, is that of files named as
    those of Universal Dependencies are.
    """
    files = sorted({Path(one.source).name for one in sentences if one.source})
    found = {match[1] for name in files if (match := _LANGUAGE.match(name))}
    return {  # in the order of the model's file
        "bbparse": __version__,
        "dev": _size(dev),
        "language": about.get("language") or (found.pop() if len(found) == 1 else None),
        "license": about.get("license"),
        "name": about.get("name") or ", ".join(files) or None,
        "scripts": scripts(form for one in sentences for form in one.forms),
        "train": _size(sentences),
    }


def card(model: Model) -> dict[str, Any]:
    """All that a model says of itself.

    What `card_note` gives, and ``results`` on dev, F1 in percent, are missing or None where nobody
    has said them. Beside them what it ``takes``, vectors from ``outside`` if any, how its trees
    are, its ``labels``, ``factors``, ``seed`` and whole ``configuration``.
    """
    config, outside = model.config, model.outside
    tagger, labeller = model.tagger, model.labeller
    return {
        **model.notes.get(NOTE, {}),
        **({} if outside is None else {"outside": outside.note}),
        "takes": [
            *(["text"] if model.cutter is not None and model.takes_words else []),
            *(["words"] if model.takes_words else []),
            *(["words and tags"] if model.notes.get("tagged", True) else []),
        ],
        "projective": config.projective,
        "tags": 0 if tagger is None else len(tagger.tags.labels),
        "labels": [] if labeller is None else list(labeller.labels),
        "factors": [family.name for family in model.maker.families],
        "seed": config.learning.seed,
        "configuration": config.to_table(),
    }


def scripts(forms: Iterable[str]) -> list[str]:
    """Scripts of the letters of words, the commonest first, by the names of their characters."""
    counts: Counter[str] = Counter()
    for letter, count in Counter(c for form in forms for c in form if c.isalpha()).items():
        name = unicodedata.name(letter, "").split(" ", 1)[0]
        counts[name if name == "CJK" else name.capitalize()] += count
    least = _LEAST * counts.total()
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [name for name, count in order if name and count >= least]


def _size(sentences: Sequence[Sentence]) -> dict[str, int]:
    return {"sentences": len(sentences), "words": sum(one.n_words for one in sentences)}
