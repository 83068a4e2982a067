"""bbparse as a component of spaCy: ``nlp.add_pipe("bbparse", config={"model": "english.model"})``.

The component reads the tokens of a `Doc` and sets heads, labels and sentence starts, and tags,
lemmas and features if there are none yet. The tokenizer, ``nlp.tokenizer = BBParseTokenizer(…)`` or
in a config ``[nlp.tokenizer] @tokenizers = "bbparse.Tokenizer.v1"``, segments text as the model has
learned it. spaCy finds both by their entry points, so nothing needs to be imported. Install them
with ``pip install '.[spacy]'`` in the checkout.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.parts_of_speech import IDS as UPOS
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, Span, Token
from spacy.util import DummyTokenizer, registry
from spacy.vocab import Vocab

from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.parser.document import Tree
from bbparse.parser.parser import Parser, load
from bbparse.runtime.errors import ModelError
from bbparse.text import sentences_of_text
from bbparse.text.segmentation import is_blank
from bbparse.treebank import Sentence
from bbparse.treebank.reading import BYTE_ORDER_MARK
from bbparse.treebank.sentence import MAX_WORDS, offsets

_ROOT = "ROOT"  # spaCy's label of the arc to a root
_FILE = "bbparse.models"
_SPACE = "dep"  # spaCy's label of the arc to a token of white space
#: UD relations of what is within a base noun phrase, before and after its noun.
_BEFORE = frozenset("det amod nummod nmod compound flat advmod clf goeswith".split())
_AFTER = frozenset({"flat", "compound", "fixed", "goeswith"})


@Language.factory(
    "bbparse",
    default_config={
        "model": DEFAULT_MODEL,
        "k_best": 1,
        "prune": None,
        "node_limit": None,
        "time_limit": None,
    },
    assigns=[
        "token.head",
        "token.dep",
        "token.is_sent_start",
        "doc.sents",
        "token.pos",
        "token.tag",
        "token.lemma",
        "token.morph",
    ],
)
def make_parser(
    nlp: Language,
    name: str,
    model: str,
    k_best: int,
    prune: int | None,
    node_limit: int | None,
    time_limit: float | None,
) -> SpacyParser:
    """Make the component; settings and errors are those of `bbparse.Parser`.

    A missing model file is no error before the first text, because spaCy may read the component
    from where `SpacyParser.to_disk` wrote it.
    """
    # spaCy's own for English knows no UD relations. Documents that are copied, stored or sent to
    # another process keep what their vocabulary says.
    nlp.vocab.get_noun_chunks = noun_chunks
    exists = model in MODELS.names() or Path(model).exists()
    limits = {"prune": prune, "node_limit": node_limit, "time_limit": time_limit}
    return SpacyParser(load(model) if exists else model, name, k_best=k_best, **limits)


class SpacyParser:
    """Component that sets heads and labels of a `Doc`, and tags, lemmas and features if missing.

    Tokens whose ``is_sent_start`` is set begin a sentence or not as it says; where it is None,
    spaCy's rule-based `Sentencizer` decides. Sentences of more than `MAX_WORDS` tokens are cut. If
    a `Doc` has no tags, the model's tagger predicts them.

    ``doc._.bbparse`` then has, for each sentence, a dictionary of ``start`` and ``end`` (tokens),
    ``score``, ``upper_bound`` and ``proved``; with ``k_best`` above 1 also ``trees``, best first,
    each with ``heads`` (indices into the `Doc`; a root is its own head), ``labels``, ``score``,
    ``upper_bound`` and ``proved``. If the model makes enhanced graphs, ``token._.heads`` has the
    (head, label) pairs of a token.

    Given a path in place of a parser, the model is read when it is first needed. ``options`` are
    those of `Parser.pipe`.
    """

    def __init__(self, parser: Parser | str, name: str = "bbparse", **options: Any) -> None:
        self._parser = parser
        self.name = name
        self.options = options
        self._sentencizer = Sentencizer()
        self._warned = False
        if not Doc.has_extension("bbparse"):
            Doc.set_extension("bbparse", default=None)
        if not Token.has_extension("heads"):
            Token.set_extension("heads", getter=_graph_heads)

    @property
    def parser(self) -> Parser:
        """The parser, read from its path if necessary."""
        if isinstance(self._parser, str):
            self._parser = load(self._parser)
        return self._parser

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.parser.save(folder / _FILE)

    def from_disk(
        self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()
    ) -> SpacyParser:
        self._parser = load(Path(path) / _FILE)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        with TemporaryDirectory() as folder:
            self.to_disk(folder)
            return (Path(folder) / _FILE).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> SpacyParser:
        """Read the model from the result of `to_bytes`."""
        with TemporaryDirectory() as folder:
            (Path(folder) / _FILE).write_bytes(data)
            return self.from_disk(folder)

    def __call__(self, doc: Doc) -> Doc:
        bounds = list(self._bounds(doc))
        tokens = [[t for t in doc[start:end] if not is_blank(t.text)] for start, end in bounds]
        self._warn_without_tags(doc)
        sentences = [_sentence_of(words) for words in tokens if words]
        results = self.parser.pipe(sentences, **self.options)
        columns = np.zeros((len(doc), 2), np.uint64)  # offset of the head, label

        def attach(token: Token, head: int, label: str) -> None:
            offset = np.int64(head - token.i).astype(np.uint64)
            columns[token.i] = offset, doc.vocab.strings.add(label)

        records: list[dict[str, Any]] = []
        for (start, end), words in zip(bounds, tokens):
            before = words[0].i if words else start
            for token in doc[start:end]:
                if is_blank(token.text):  # depends on the word before it, or on the first word
                    attach(token, before, _SPACE if words else _ROOT)
                else:
                    before = token.i
            if not words:
                continue
            (parsed,) = next(results)
            best, *others = [_record(tree, words) for tree in parsed.trees]
            for token, head, name in zip(words, best["heads"], parsed.labels or repeat("")):
                attach(token, head, _ROOT if head == token.i else name or _SPACE)
            _set_tags(words, parsed.sentence)
            keys = ("score", "upper_bound", "proved")
            records.append({"start": start, "end": end, **{name: best[name] for name in keys}})
            if parsed.best.enhanced:
                records[-1]["graph"] = [
                    [words[head - 1].i if head else words[m - 1].i, label, words[m - 1].i]
                    for head, label, m in parsed.best.graph
                ]
            if self.options.get("k_best", 1) > 1:
                records[-1]["trees"] = [best, *others]
        if len(doc):
            doc.from_array([HEAD, DEP], columns)
        doc.noun_chunks_iterator = doc.vocab.get_noun_chunks = noun_chunks
        doc._.bbparse = records
        return doc

    def _bounds(self, doc: Doc) -> Iterator[tuple[int, int]]:
        """Yield the first token of each sentence and the token after its last."""
        if not len(doc):
            return
        (flags,) = self._sentencizer.predict([doc])
        preset = [token.is_sent_start for token in doc]
        begins = [flag if known is None else known for flag, known in zip(flags, preset)]
        starts = [i for i, start in enumerate(begins) if start or i == 0]
        # Blanks alone belong to the sentence before them.
        starts = [
            a
            for a, b in zip(starts, [*starts[1:], len(doc)])
            if a == 0 or preset[a] or not all(is_blank(t.text) for t in doc[a:b])
        ]
        for a, b in zip(starts, [*starts[1:], len(doc)]):
            cuts = range(a, b, MAX_WORDS)
            yield from zip(cuts, [*cuts[1:], b])

    def _warn_without_tags(self, doc: Doc) -> None:
        if self.parser.model.takes_words or self._warned or not len(doc):
            return
        if doc.has_annotation("POS") or doc.has_annotation("TAG"):
            return
        self._warned = True
        warnings.warn(
            "the documents have no tags, but the parser was trained with tags: add a tagger to the"
            " pipeline before bbparse, or to the model with 'bbparse bundle'",
            stacklevel=3,
        )


def noun_chunks(doclike: Doc | Span) -> Iterator[tuple[int, int, int]]:
    """Yield the base noun phrases of a parse with UD relations: start, end, label ``NP``.

    ``doc.noun_chunks`` uses it for documents that the component has parsed. A chunk is a noun, name
    or pronoun with its determiners and modifiers before it, without prepositions and what follows;
    of two that overlap, the larger one.
    """
    label = doclike.doc.vocab.strings.add("NP")
    spans = []
    for token in doclike:
        if token.pos_ not in ("NOUN", "PROPN", "PRON"):
            continue
        start, end = token.i, token.i + 1
        for child in reversed(list(token.lefts)):
            if child.dep_.partition(":")[0] not in _BEFORE or child.right_edge.i + 1 != start:
                break
            start = child.left_edge.i
        for child in token.rights:
            if child.dep_.partition(":")[0] not in _AFTER or child.left_edge.i != end:
                break
            end = child.right_edge.i + 1
        spans.append((start, end))
    last = -1
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= last:
            yield start, end, label
            last = end


def _graph_heads(token: Token) -> list[tuple[Token, str]]:
    """Return the (head, label) pairs of a token in the enhanced graph; a root is its own head."""
    edges = (edge for record in token.doc._.bbparse or () for edge in record.get("graph", ()))
    return [(token.doc[head], label) for head, label, m in edges if m == token.i]


def _record(tree: Tree, words: list[Token]) -> dict[str, Any]:
    """Return a tree as a dictionary over the tokens of the document."""
    heads = [words[head - 1].i if head else words[m].i for m, head in enumerate(tree.heads)]
    return {
        "heads": heads,
        "labels": list(tree.labels),
        "score": tree.score,
        "upper_bound": tree.upper_bound,
        "proved": tree.proved,
    }


def _set_tags(words: list[Token], sentence: Sentence) -> None:
    """Copy tags, lemmas and features of the sentence to the tokens that lack them."""
    columns = (sentence.upos, sentence.xpos, sentence.lemmas, sentence.feats)
    for token, upos, xpos, lemma, feats in zip(words, *columns):
        if not token.pos and upos in UPOS:
            token.pos_ = upos
        if not token.tag and xpos != "_":
            token.tag_ = xpos
        if not token.lemma and lemma != "_":
            token.lemma_ = lemma
        if not token.has_morph() and feats != "_":
            token.set_morph(feats)


@registry.tokenizers("bbparse.Tokenizer.v1")
def make_tokenizer(model: str = DEFAULT_MODEL) -> Callable[[Language], BBParseTokenizer]:
    """Return the factory of the tokenizer, as spaCy's configuration expects it."""

    def make(nlp: Language) -> BBParseTokenizer:
        tokenizer = BBParseTokenizer(nlp.vocab, model)
        tokenizer.in_config = True
        return tokenizer

    return make


class BBParseTokenizer(DummyTokenizer):
    """Tokenizer that segments text into words and sentences as a model has learned it.

    A saved pipeline finds it by its config, which names the model; nothing else is saved.

    A multiword token that does not split into pieces of text (*du*, which is *de le*) stays one
    token, as spaCy's tokens are pieces of the text.
    """

    def __init__(self, vocab: Vocab, model: str = DEFAULT_MODEL) -> None:
        self.vocab = vocab
        self.tokenizer = load(model).needed_tokenizer()
        self.in_config = False

    def to_disk(self, path: str | os.PathLike[str], **kwargs: Any) -> None:
        """Check that a saved pipeline will have this tokenizer."""
        if not self.in_config:
            raise ModelError(
                "the pipeline's config names spaCy's tokenizer, which would be loaded: make it with"
                ' spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers":'
                ' "bbparse.Tokenizer.v1"}}})'
            )

    def to_bytes(self, **kwargs: Any) -> bytes:
        """Check the same; there is nothing to save."""
        self.to_disk("")
        return b""

    def __call__(self, text: str) -> Doc:
        """Return the tokens of a text."""
        words: list[str] = []
        spaces: list[bool] = []
        starts: list[bool] = []
        end = 0

        def add(word: str, begins: bool) -> None:
            words.append(word)
            spaces.append(False)
            starts.append(begins or len(words) == 1)

        def fill(start: int) -> None:
            """Add the blanks before `start`, except the one that ends the word before them."""
            blank = text[end:start]
            if words and blank.startswith(" "):
                spaces[-1] = True
                blank = blank[1:]
            if blank:
                add(blank, False)

        for sentence in sentences_of_text(text, self.tokenizer):
            # Words of a multiword token that are not pieces of it count once.
            for i, (a, b) in enumerate(dict.fromkeys(offsets(sentence))):
                fill(a)
                add(text[a:b], not i and end > 0)
                end = b
        fill(len(text))
        return Doc(self.vocab, words=words, spaces=spaces, sent_starts=starts)


def _sentence_of(tokens: list[Token]) -> Sentence:
    def column(values: Iterable[Any]) -> list[str]:
        return [" ".join(str(value).split()) or "_" for value in values]

    return Sentence.from_words(
        column(t.text.strip(BYTE_ORDER_MARK) for t in tokens),
        upos=column(t.pos_ for t in tokens),
        xpos=column(t.tag_ for t in tokens),
        lemmas=column(t.lemma_ for t in tokens),
        feats=column(t.morph for t in tokens),
    )
