"""`Model`, the content of a model file, and its card: training data, settings and accuracy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bbparse.models.configuration import Configuration
from bbparse.models.graph.enhancer import Enhancer
from bbparse.models.scoring.labeller import Labelling
from bbparse.models.scoring.labels import best_labels
from bbparse.models.scoring.problem_maker import ProblemMaker, Scored
from bbparse.neural.embeddings import Embeddings, shared_embeddings
from bbparse.runtime import __version__
from bbparse.runtime.arrays import Ints
from bbparse.runtime.errors import ModelError
from bbparse.text.languages import Languages
from bbparse.text.tagger import Tagger
from bbparse.text.tokenizer import Tokenizer
from bbparse.treebank import Sentence

#: Key of the card among the notes of a model.
NOTE = "card"

# Files of Universal Dependencies have such names: en_ewt-ud-train.conllu.
_LANGUAGE = re.compile(r"([a-z]{2,3})_[a-z0-9]+-ud-")


@dataclass(slots=True, eq=False)
class Model:
    """A trained model: the content of a model file."""

    #: Makes problems from sentences.
    maker: ProblemMaker
    #: Predicts the labels of a tree's arcs.
    labeller: Labelling | None = None
    #: Predicts tags where the input has none.
    tagger: Tagger | None = None
    #: Facts about the training.
    notes: dict[str, Any] = field(default_factory=dict)
    #: Segments running text into sentences and words.
    tokenizer: Tokenizer | None = None
    #: Makes the enhanced graphs of trees.
    enhancer: Enhancer | None = None
    #: Tells which language a text is in, and which model is for it.
    languages: Languages | None = None
    #: Models of these languages that are in use, by code.
    loaded: dict[str, Model] = field(default_factory=dict, repr=False)

    @property
    def config(self) -> Configuration:
        """Settings of its training and of parsing."""
        return self.maker.config

    @property
    def takes_words(self) -> bool:
        """True if words need no tags: it has a tagger, or was trained without tags."""
        return self.tagger is not None or not self.notes.get("tagged", True)

    @property
    def embeddings(self) -> Embeddings | None:
        """Embeddings of all networks; raises `ModelError` if they use different ones."""
        readers = (part.embeddings for part in (self.tagger, self.tokenizer) if part is not None)
        return shared_embeddings(self.maker.embeddings, *readers)

    def needed_enhancer(self) -> Enhancer:
        """Return the maker of graphs; raises `ModelError` if the model has none."""
        if self.enhancer is None:
            raise ModelError(
                "the model makes no enhanced graphs: train it on a treebank with DEPS, or add them"
                " with 'bbparse train-graphs'"
            )
        return self.enhancer

    def needed_tokenizer(self) -> Tokenizer:
        """Return the tokenizer for running text; raises `ModelError` if the model has none."""
        if self.tokenizer is None:
            raise ModelError(
                "the model has no tokenizer for running text: give lists of words, or retrain it"
                " without --no-text"
            )
        return self.tokenizer

    def tag(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield sentences with tags: themselves, or copies with predicted tags of words without."""
        if self.tagger is not None:
            return self.tagger.tag(sentences, keep_tags=True)
        return map(self._tagged, sentences)

    def tag_batch(self, batch: Sequence[Sentence]) -> list[Sentence]:
        """Return sentences with tags, as `tag` does."""
        if self.tagger is not None:
            return self.tagger.tag_batch(batch, keep_tags=True)
        return [*map(self._tagged, batch)]

    def _tagged(self, sentence: Sentence) -> Sentence:
        if sentence.has_tags or self.takes_words:
            return sentence
        raise ModelError(
            f"{sentence.source or 'input'}, {sentence.name}: the words have no tags, and the model"
            " has no tagger: tag them with 'bbparse tag', or add a tagger to the model with"
            " 'bbparse bundle'"
        )

    def labels_of(self, scored: Scored, heads: Ints) -> list[str]:
        """Return the labels of a tree's arcs, int32[n + 1] heads; an empty list without labels."""
        if self.labeller is None:
            return []
        return best_labels(self.labeller.labels, self.labeller.tree_scores(scored, heads))

    def with_projective(self, projective: bool) -> Model:
        """Return the same model for projective trees only, or for others, too."""
        if projective == self.config.projective:
            return self
        config = self.config.with_("model", projective=projective)
        return replace(self, maker=replace(self.maker, config=config))

    def with_members(self, members: int) -> Model:
        """Return the same model with only `members` of its networks: faster, but less accurate."""
        network = self.maker.network
        available = 0 if network is None else len(network.members)
        if members > available:
            raise ModelError(f"the model has {available} networks, not {members}")
        if network is None or members == available:
            return self
        fewer = network.with_others(network.members[1:members])
        labeller = fewer if self.labeller is network else self.labeller
        return replace(self, maker=replace(self.maker, network=fewer), labeller=labeller)


def card_note(
    sentences: Sequence[Sentence], dev: Sequence[Sentence], about: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return the part of a card that a model stores; no dates, so that runs are repeatable."""
    files = sorted({Path(sentence.source).name for sentence in sentences if sentence.source})
    languages = {match[1] for name in files if (match := _LANGUAGE.match(name))}
    return {  # in the order of the model file
        "bbparse": __version__,
        "dev": _size(dev),
        "language": about.get("language") or (languages.pop() if len(languages) == 1 else None),
        "license": about.get("license"),
        "name": about.get("name") or ", ".join(files) or None,
        "train": _size(sentences),
    }


def card(model: Model) -> dict[str, Any]:
    """Return the card of a model: `card_note`, input, trees, labels, factors and configuration."""
    config, embeddings = model.config, model.embeddings
    tagger, labeller = model.tagger, model.labeller
    return {
        **model.notes.get(NOTE, {}),
        **({} if embeddings is None else {"embeddings": embeddings.note}),
        **({} if model.languages is None else {"languages": model.languages.models}),
        "takes": [
            *(["text"] if model.tokenizer is not None and model.takes_words else []),
            *(["words"] if model.takes_words else []),
            *(["words and tags"] if model.notes.get("tagged", True) else []),
        ],
        "projective": config.projective,
        "tags": 0 if tagger is None else len(tagger.tags),
        "labels": [] if labeller is None else list(labeller.labels),
        "factors": [family.name for family in model.maker.families],
        "enhanced": {} if model.enhancer is None else model.enhancer.notes["edges"],
        "seed": config.learning.seed,
        "configuration": config.to_table(),
    }


def _size(sentences: Sequence[Sentence]) -> dict[str, int]:
    return {"sentences": len(sentences), "words": sum(sentence.n_words for sentence in sentences)}
