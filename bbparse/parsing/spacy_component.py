"""bbparse as a component of spaCy: ``nlp.add_pipe("bbparse", config={"model": "english.model"})``.

The component takes spaCy's own tokens and sets `Token.head` and `Token.dep_`, and with them the
sentences of a `Doc`. spaCy finds it by its entry point, so nothing needs to be imported; it comes
with ``pip install 'bbparse[spacy]'``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, Token

from bbparse.model.path import DEFAULT_MODEL
from bbparse.parsing.document import Tree
from bbparse.parsing.pipeline import Pipeline, load
from bbparse.treebank import Sentence

__all__ = ["SpacyParser", "make_parser"]

_ROOT = "ROOT"  # what spaCy calls the arc of a root
_SPACE = "dep"  # what spaCy calls the arc of a token of white space


@Language.factory(
    "bbparse",
    default_config={
        "model": DEFAULT_MODEL, "prune": None, "node_limit": None, "time_limit": None,
    },
    assigns=["token.head", "token.dep", "token.is_sent_start", "doc.sents"],
)
def make_parser(
    nlp: Language,
    name: str,
    model: str,
    prune: int | None,
    node_limit: int | None,
    time_limit: float | None,
) -> SpacyParser:
    """Make the component; its settings are those of `bbparse.Pipeline`.

    Raises
    ------
    ModelError
        If the model cannot be read.
    """
    return SpacyParser(
        load(model), name, prune=prune, node_limit=node_limit, time_limit=time_limit
    )


class SpacyParser:
    """Sets heads and labels of a `Doc`.

    Sentences are those of the `Doc` where it has them, and otherwise those that spaCy's rule-based
    `Sentencizer` finds. Tags, lemmas and features are those of the `Doc`; where it has no tags, the
    tagger in the model gives them.

    ``doc._.bbparse`` then has, for each sentence, a dictionary of ``start`` and ``end`` (tokens),
    ``score``, ``upper_bound`` and ``proved``.

    Parameters
    ----------
    pipeline : Pipeline
    name : str
        Of the component.
    options
        For `Pipeline.pipe`.
    """

    def __init__(self, pipeline: Pipeline, name: str = "bbparse", **options: Any) -> None:
        self.pipeline = pipeline
        self.name = name
        self.options = options
        self._sentencizer = Sentencizer()
        self._warned = False
        if not Doc.has_extension("bbparse"):
            Doc.set_extension("bbparse", default=None)

    def __call__(self, doc: Doc) -> Doc:
        """Parse a document, in place."""
        bounds = list(self._bounds(doc))
        tokens = [[t for t in doc[start:end] if not t.is_space] for start, end in bounds]
        self._look_for_tags(doc)
        sentences = [_sentence_of(words) for words in tokens if words]
        results = self.pipeline.pipe(sentences, **self.options)
        offsets = np.zeros(len(doc), np.int64)
        labels = np.zeros(len(doc), np.uint64)
        facts: list[dict[str, Any]] = []
        for (start, end), words in zip(bounds, tokens):
            tree = next(results).best if words else None
            self._set(doc, (start, end), words, tree, offsets, labels)
            if tree is not None:
                facts.append(
                    {
                        "start": start,
                        "end": end,
                        "score": tree.score,
                        "upper_bound": tree.upper_bound,
                        "proved": tree.proved,
                    }
                )
        if len(doc):
            columns = np.stack([offsets.astype(np.uint64), labels], axis=1)
            doc.from_array([HEAD, DEP], columns)
        doc._.bbparse = facts
        return doc

    def _bounds(self, doc: Doc) -> Iterator[tuple[int, int]]:
        """First token of each sentence, and the one after its last."""
        if not len(doc):
            return
        if doc.has_annotation("SENT_START"):
            starts = [sentence.start for sentence in doc.sents]
        else:
            (flags,) = self._sentencizer.predict([doc])
            starts = [i for i, begins in enumerate(flags) if begins or i == 0]
        yield from zip(starts, [*starts[1:], len(doc)])

    def _look_for_tags(self, doc: Doc) -> None:
        parser = self.pipeline.parser
        if parser.tagger is not None or not parser.notes.get("tagged", True):
            return
        if self._warned or not len(doc) or doc.has_annotation("POS") or doc.has_annotation("TAG"):
            return
        self._warned = True
        warnings.warn(
            "the documents have no tags, which the parser was trained to look at: add a tagger "
            "to the pipeline before bbparse, or to the model with 'bbparse bundle'",
            stacklevel=3,
        )

    def _set(
        self,
        doc: Doc,
        bounds: tuple[int, int],
        words: list[Token],
        tree: Tree | None,
        offsets: NDArray[np.int64],
        labels: NDArray[np.uint64],
    ) -> None:
        """Fill the offsets of heads from their tokens, and the labels, of one sentence."""
        strings = doc.vocab.strings
        start, end = bounds
        before = words[0].i if words else start
        place = [token.i for token in words]
        for i in range(start, end):
            if not doc[i].is_space:
                before = i
                continue
            # White space hangs from the word before it, at the beginning from the first word.
            offsets[i] = before - i
            labels[i] = strings.add(_SPACE if words else _ROOT)
        if tree is None:
            return
        names = tree.labels or ("",) * len(words)
        for token, head, label in zip(words, tree.heads, names):
            offsets[token.i] = place[head - 1] - token.i if head else 0
            labels[token.i] = strings.add(label if head and label else _SPACE if head else _ROOT)


def _sentence_of(tokens: list[Token]) -> Sentence:
    def column(values: list[str]) -> list[str]:
        return [" ".join(value.split()) or "_" for value in values]

    return Sentence.from_words(
        column([t.text for t in tokens]),
        upos=column([t.pos_ for t in tokens]),
        xpos=column([t.tag_ for t in tokens]),
        lemmas=column([t.lemma_ for t in tokens]),
        feats=column([str(t.morph) for t in tokens]),
    )
