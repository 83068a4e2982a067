"""`Parser`: what parsing does with a model, from batches of sentences to their trees.

Whoever asks, sentences go one way, in batches (`bbparse.parser.batch`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, Self

import numpy as np

from bbparse.core import Problem
from bbparse.models import DEFAULT_MODEL
from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.registry import tree_families
from bbparse.models.model import Model, card
from bbparse.models.model_file import load_model, save_model
from bbparse.neural.embeddings import Embeddings
from bbparse.neural.ragged import batches
from bbparse.parser.batch import parse_up_to_error
from bbparse.parser.confidence import NOTE, Calibration, GoldEvidence, gold_evidence
from bbparse.parser.document import Document, ParsedSentence
from bbparse.parser.edges import EdgeFamily
from bbparse.parser.inputs import Token, items_of, sentence_of
from bbparse.parser.parse import USUAL, AnyTreeFamily, Parse, ParseOptions
from bbparse.parser.polyglot import PolyglotTokenizer, language_of, model_for, model_of
from bbparse.parser.search import Restriction, Search
from bbparse.parser.spans import Spans
from bbparse.parser.validity.rules import rules_for
from bbparse.runtime.arrays import Flags, Ints
from bbparse.runtime.deadline import NO_DEADLINE, Deadline
from bbparse.runtime.errors import ModelError, ProblemError, TreebankError
from bbparse.runtime.options import check_options, check_type
from bbparse.runtime.pool import map_in_threads
from bbparse.text.segmentation import Split, TextTokenizer, sentences_of_text
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import ScoredTree


class Parser:
    """A model that parses under options; nothing in it changes, so threads may share it.

    Parameters
    ----------
    model : Model
    options : ParseOptions
    tree_score : TreeFamily, its class or its name, optional
        A score of whole trees, added to the model's (`bbparse.factors.TreeFamily`).

    Raises
    ------
    ModelError, FactorError, ConfigError
        If the model cannot do what the options ask for, or there are no such rules.
    """

    def __init__(
        self, model: Model, options: ParseOptions = USUAL, tree_score: AnyTreeFamily | None = None
    ) -> None:
        check_type("model", model, Model, "a Model: bbparse.load reads one", ModelError)
        check_type("options", options, ParseOptions, "ParseOptions", ProblemError)
        if options.language is not None:
            model, options = model_for(model, options.language), replace(options, language=None)
        if options.members is not None:
            model = model.with_members(options.members)
        if options.projective is not None:
            if model.config.projective and not options.projective:
                raise ModelError(
                    "the model was trained on projective trees and cannot draw crossing arcs: train"
                    " one with --projective no"
                )
            model = model.with_projective(options.projective)
        self.model, self.options, self.tree_score = model, options, tree_score
        self.rules = rules_for(options.valid, model.labeller)
        self.calibration = Calibration.of(model) if options.confidence else None
        self.spans = None if options.spans is None else Spans.parsed(options.spans)
        self.edges: EdgeFamily | None = None  # that graphs must have
        self.families = tree_families(model.maker.families, tree_score)
        if options.enhanced:
            model.needed_enhancer()
        if options.edges is not None:
            self.edges = EdgeFamily(options.edges, model.needed_enhancer(), self.rules)
            self.families = *self.families, self.edges
        self._of_language: dict[str, Self] = {}

    @classmethod
    def train(
        cls,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] = (),
        config: Configuration | str = "english",
        *,
        embeddings: Callable[[Sequence[Sentence], Sequence[Sentence]], Embeddings] | None = None,
        **options: Any,
    ) -> Parser:
        """Train a parser, and calibrate its confidence if there is a dev set.

        Parameters
        ----------
        sentences, dev : iterable of Sentence
            Sentences with gold trees; without a dev set the last epoch is kept.
        config : Configuration or str
            A configuration, its file, or the name of one that comes with the package.
        embeddings : callable, optional
            Returns pretrained vectors for the networks, given `sentences` and `dev`: a partial
            `bbparse.embeddings.read_vectors` or `fit_encoder`. It is called after configuration
            and trees have been checked.
        factors : iterable, optional
            Factor families by name, class or object, instead of the configuration's.
        model : path, optional
            File of the model. It is written before the checkpoint is removed.
        checkpoint : path, optional
            Prefix of the files that store each finished part of the run, and its state after each
            epoch. A run with the same configuration and data continues from them. They are removed
            at the end.
        reading : callable, optional
            Trains the tokenizer and the tagger, given the result of `embeddings` and the
            checkpoint (`bbparse.models.learning.train.train_text_models`).
        silver : Silver, optional
            Raw text with the trees of a teacher, from which the networks learn, too.
        about : mapping, optional
            Entries of the model's card: ``name`` of the treebank, ``language``, ``license``.
        report : callable, optional
            Called with lines of progress.

        Raises
        ------
        TreebankError, FactorError, ConfigError
            If there is no training sentence, a sentence has no tree or an empty label, a family is
            unknown, or pretrained vectors or silver trees are given and there is no network.
        """
        from bbparse.models.learning.train import train  # parsing does without these imports

        if isinstance(config, str):
            config = Configuration.load(config)
        dev = list(dev)
        parser = cls(train(list(sentences), dev, config, embeddings=embeddings, **options))
        if dev:
            parser.calibrate(dev)
            if options.get("model") is not None:
                parser.save(options["model"])
        return parser

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        factors: Iterable[str | type[FactorFamily] | FactorFamily] = (),
        options: ParseOptions = USUAL,
        **changes: Any,
    ) -> Self:
        """Read a model and return a parser; `bbparse.load` is the same.

        Parameters
        ----------
        model : path or name
            A file, or the name of a model that comes with the package.
        factors : iterable of families, optional
            Factor families of the model that no installed package provides: classes, or
            ``"module:Class"``. A model file alone never makes Python import code.
        options : ParseOptions
            Options for all that the parser parses, unless others are given.
        changes
            Options by name.

        Raises
        ------
        ModelError
            If the file is missing, damaged, or not a model of this version.
        FactorError
            If a factor family of the model is neither installed nor given.

        Examples
        --------
        ::

            nlp = bbparse.load("english.model")
            doc = nlp([("She", "PRON"), ("slept", "VERB"), (".", "PUNCT")], k_best=2)
            for word in doc[0]:
                print(word.form, word.head, word.label)
        """
        return cls(load_model(model, factors), replace(options, **changes))

    def __reduce__(self) -> tuple[Any, ...]:
        # everything else is made from these
        return type(self), (self.model, self.options, self.tree_score)

    def with_options(
        self,
        options: ParseOptions | None = None,
        *,
        tree_score: AnyTreeFamily | None = None,
        **changes: Any,
    ) -> Self:
        """Return a parser with the same model under other options, or with some of them changed."""
        if options is None and tree_score is None and not changes:
            return self
        check_type("options", options or USUAL, ParseOptions, "ParseOptions", ProblemError)
        given = replace(options or self.options, **changes)
        return type(self)(self.model, given, tree_score or self.tree_score)

    @property
    def card(self) -> dict[str, Any]:
        """The model's training data, settings and accuracy; see `bbparse.models.model.card`."""
        return card(self.model)

    def __repr__(self) -> str:
        names = ", ".join(family.name for family in self.model.maker.families)
        backbone = self.model.config.model.backbone
        return f"<Parser: {backbone} backbone, {f'factors {names}' if names else 'no factors'}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file atomically."""
        save_model(self.model, path)

    # ---- languages and tags --------------------------------------------------------------------

    def of_language(self, code: str) -> Self:
        """Return the parser of a language; this one if it is unknown or has no model here."""
        if code not in self._of_language:
            model = model_of(self.model, code)
            own = type(self)(model, self.options, self.tree_score)
            self._of_language[code] = self if model is self.model else own
        return self._of_language[code]

    def _by_language(self, sentences: Iterable[Sentence]) -> Iterable[tuple[Self, Iterable[Any]]]:
        """Return sentences in groups, each with the parser of their language."""
        if self.model.languages is None:
            return [(self, sentences)]
        return groupby(sentences, self._of)

    def _of(self, sentence: Sentence) -> Self:
        return self if self.model.languages is None else self.of_language(language_of(sentence))

    def needed_tokenizer(self) -> TextTokenizer:
        """Return the tokenizer for running text; raises `ModelError` if the model has none."""
        if self.model.languages is None:
            return self.model.needed_tokenizer()
        return PolyglotTokenizer(self)

    def tag(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield sentences with tags, a batch at a time; see `Model.tag`."""
        for own, group in self._by_language(sentences):
            yield from own.model.tag(group)

    def tagged(self, sentence: Sentence) -> Sentence:
        """Return a sentence with tags; see `Model.tag`."""
        return next(self.tag([sentence]))

    # ---- one sentence --------------------------------------------------------------------------

    def problem(self, sentence: Sentence, prune: int | None = None) -> Problem:
        """Return the scored problem of a sentence; see `bbparse.models.scoring.problem_maker`."""
        check_options({"prune": prune}, ProblemError)
        return self._of(sentence).model.maker([sentence], prune)[0].problem

    def labels(self, sentence: Sentence, heads: Ints) -> list[str]:
        """Return the labels of a tree, int32[n + 1] heads; empty if the model has no labels."""
        model = self._of(sentence).model
        if model.labeller is None:
            return []
        n, tree = sentence.n_words, np.array([0, *heads[1:]], np.int32)
        if tree.shape != (n + 1,) or tree.min() < 0 or tree.max() > n:
            raise ProblemError(f"heads are {heads!r:.60}, expected {n + 1} from 0 to {n}")
        return model.labels_of(model.maker([sentence])[0], tree)

    def parse(
        self, sentence: Sentence, options: ParseOptions | None = None, **more: Any
    ) -> list[ScoredTree]:
        """Return the k best trees of a sentence, best first; arguments are those of `parse_all`."""
        return next(self.parse_all([sentence], options, **more)).trees

    # ---- text ----------------------------------------------------------------------------------

    def __call__(
        self,
        text: str | Sentence | Iterable[Sentence] | Sequence[Token] | Iterable[Sequence[Token]],
        options: ParseOptions | None = None,
        *,
        split: Split = "text",
        **more: Any,
    ) -> Document:
        """Parse a text, a sentence or several sentences.

        Parameters
        ----------
        text : str, Sentence, words, or an iterable of sentences
            Running text is segmented into sentences and words. A list of words is one sentence. A
            word is its form, or a tuple of its form, UPOS, XPOS, lemma and FEATS, where trailing
            items may be omitted; a word with blanks, as in some treebanks, must be a tuple. Several
            sentences are an iterable of `Sentence` or of lists of words; for several texts, use
            `pipe`. Words without tags are tagged first if the model has a tagger.
        options : ParseOptions, optional
            In place of the parser's own.
        split : {"text", "lines", "words"}
            Segmentation of running text. "text": as the model has learned it; "lines": each line
            is a sentence; "words": the same, with words separated by blanks.
        more
            Options by name, such as ``k_best=2``: the fields of `ParseOptions`; and the other
            arguments of `parse_all`, such as ``threads``.

        Raises
        ------
        TreebankError
            If words are given in another form, or if no tree has the heads to keep.
        ModelError
            If text is given and the model has no tokenizer, or needs tags and has no tagger.
        """
        parsed = self.pipe(items_of(text), options, split=split, **more)
        return Document([sentence for document in parsed for sentence in document])

    def pipe(
        self,
        texts: Iterable[Sentence | str | Sequence[Token]],
        options: ParseOptions | None = None,
        *,
        split: Split = "text",
        **more: Any,
    ) -> Iterator[Document]:
        """Parse a stream of texts, sentences, or lists of words; yield a `Document` for each.

        The stream is read a little ahead. The document of a blank text has no sentences. Arguments
        are those of a call.
        """
        sizes: deque[int] = deque()  # numbers of sentences of the texts that are being parsed
        parsed: list[ParsedSentence] = []
        stream = self._stream(texts, split, sizes)
        for parse in self.parse_all(stream, options, **more):
            while not sizes[0]:
                yield Document([])
                sizes.popleft()
            parsed.append(ParsedSentence(parse.sentence, parse.trees, parse.status))
            if len(parsed) == sizes[0]:
                yield Document(parsed)
                sizes.popleft()
                parsed = []
        for _ in sizes:
            yield Document([])

    def _stream(self, items: Iterable[Any], split: Split, sizes: deque[int]) -> Iterator[Sentence]:
        """Yield the sentences of sentences, texts, or lists of words; note how many each has."""
        if isinstance(items, str | Sentence) or not isinstance(items, Iterable):
            raise TreebankError(f"found {items!r:.60}, expected an iterable of sentences or texts")
        for number, item in enumerate(items, start=1):
            if isinstance(item, Sentence):
                sentences = [item]
            elif isinstance(item, str):
                if not self.model.takes_words:
                    raise ModelError(
                        "the model has no tagger, so it cannot parse raw text: give words with"
                        " tags, or add a tagger to the model with 'bbparse bundle'"
                    )
                tokenizer = self.needed_tokenizer()
                sentences = list(sentences_of_text(item, tokenizer, split=split))
            else:
                sentences = [sentence_of(item, number)]
            sizes.append(len(sentences))
            yield from sentences

    # ---- batches -------------------------------------------------------------------------------

    def parse_all(
        self,
        sentences: Iterable[Sentence],
        options: ParseOptions | None = None,
        *,
        threads: int = 1,
        tag: bool | None = None,
        until: Deadline = NO_DEADLINE,
        restrict: Restriction | None = None,
        reasons: bool = True,
        **changes: Any,
    ) -> Iterator[Parse]:
        """Parse sentences, in order, with labels and validity rules; yield a `Parse` for each.

        If the candidate arcs contain fewer than ``k_best`` trees, pruning is relaxed: first the
        margin is dropped, then the limit on heads. So fewer trees are returned only if no more
        exist. Validity rules that given heads break, or that no tree with them satisfies, are
        reported with the tree.

        Parameters
        ----------
        sentences : iterable of Sentence
            Read only a little ahead. Their heads and labels are ignored unless ``keep_heads`` is
            True.
        options : ParseOptions, optional
            In place of the parser's own.
        threads : int
            Number of threads that parse batches. Python code, a fifth of the work, runs in one
            thread at a time; ``bbparse parse`` uses processes instead.
        tag : bool, optional
            Tag words without tags first, as `Model.tag` does. By default if the model has a tagger;
            without one, they are parsed by their forms.
        until : Deadline
            Deadline for all sentences together.
        restrict : callable, optional
            Called with the problem of each sentence; returns a restricted problem, in which it may
            forbid arcs or add factors. It raises `ProblemError` if that is impossible.
        reasons : bool
            Name the contradictory heads in an error.
        changes
            Options by name, and `tree_score`.

        Raises
        ------
        TreebankError
            If no tree has all heads to keep; the message names those that contradict each other.
        """
        check_options({"threads": threads}, ProblemError)
        check_type("until", until, Deadline, "a Deadline", ProblemError)
        parser = self.with_options(options, **changes)
        for own, group in parser._by_language(sentences):
            work = partial(
                parse_up_to_error, own, tag=tag, until=until, restrict=restrict, reasons=reasons
            )
            groups = batches(group, together=own.options.prune != 0)
            for parses, error in map_in_threads(work, groups, threads):
                yield from parses
                if error is not None:
                    raise error

    @property
    def has_constraints(self) -> bool:
        """True if trees must have spans, or their graphs edges, which may leave none."""
        has_spans = self.spans is not None and self.spans.weight is None
        return has_spans or self.edges is not None

    @property
    def takes_all_arcs(self) -> bool:
        """True if price and cut solves the problem of all arcs and grandchildren, unpruned."""
        maker = self.model.maker
        if self.options.prune or self.families or maker.families or maker.scorer is None:
            return False
        kinds = set(maker.scorer.features.kinds)
        return maker.config.model.solver == "price-and-cut" and kinds == {"arc", "grandchild"}

    # ---- confidence ----------------------------------------------------------------------------

    def calibrate(self, sentences: Iterable[Sentence]) -> Flags:
        """Calibrate the model's confidence on gold trees that it was not trained on.

        Returns which arcs are right, bool[arcs].
        """
        rows = list(self.calibration_data(sentences))
        self.model.notes[NOTE] = Calibration.fitted(rows).note()
        return np.concatenate([row.right for row in rows])

    def calibration_data(self, sentences: Iterable[Sentence]) -> Iterator[GoldEvidence]:
        """Yield the calibration features of each sentence's best tree, and which arcs are right."""
        parser = self.with_options(ParseOptions(node_limit=200))
        for batch in batches(sentences):
            # Without a tagger, sentences stay as they are: one without tags must not end training.
            tagged = batch if self.model.tagger is None else self.model.tag_batch(batch)
            for gold, scored in zip(batch, self.model.maker(tagged)):
                scored, found, _ = Search(parser, scored.sentence).best_trees(scored)
                if len(found.solution):
                    labels = found.labels[0] if found.labels else []
                    yield gold_evidence(self.model, scored, found.solution.arcs[0], labels, gold)


load = Parser.load
