"""`Parser`: a trained model that parses sentences; its steps are in `bbparse.parser.steps`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily
from bbparse.models.model import Model
from bbparse.models.model_file import load_model, save_model
from bbparse.neural.embeddings import Embeddings
from bbparse.neural.ragged import batches
from bbparse.parser.confidence import NOTE, Calibration, GoldEvidence, gold_evidence
from bbparse.parser.parse import USUAL, Parse, ParseOptions
from bbparse.parser.steps import Steps
from bbparse.parser.valid import Restriction
from bbparse.runtime.arrays import Flags, Ints
from bbparse.runtime.errors import BBParseError, ModelError, ProblemError
from bbparse.runtime.options import check_options
from bbparse.runtime.pool import map_in_threads
from bbparse.text.segmentation import TextTokenizer
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import NO_HEAD, ScoredTree


class Parser:
    """What parsing does with a `Model`; it changes nothing in it, so threads may share it."""

    def __init__(self, model: Model) -> None:
        self.model = model

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
        path: str | os.PathLike[str],
        factors: Iterable[str | type[FactorFamily] | FactorFamily] = (),
    ) -> Parser:
        """Read a model file; see `bbparse.models.model_file.load_model`."""
        model = load_model(path, factors)
        if model.languages is not None and cls is Parser:
            from bbparse.parser.polyglot import PolyglotParser

            return PolyglotParser(model)
        return cls(model)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model,)  # everything else is made from the model

    def needed_tokenizer(self) -> TextTokenizer:
        """Return the tokenizer for running text; raises `ModelError` if the model has none."""
        return self.model.needed_tokenizer()

    def with_projective(self, projective: bool) -> Self:
        """Return this parser for projective or crossing trees; see `Model.with_projective`."""
        model = self.model.with_projective(projective)
        return self if model is self.model else type(self)(model)

    def with_members(self, members: int) -> Self:
        """Return a faster parser that uses fewer networks; see `Model.with_members`."""
        model = self.model.with_members(members)
        return self if model is self.model else type(self)(model)

    def with_language(self, language: str) -> Parser:
        """Return the parser of a language; `ModelError` if the model is for one language only."""
        raise ModelError(f"the model knows no languages, expected one that does for {language!r}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file atomically."""
        save_model(self.model, path)

    def tagged(self, sentence: Sentence) -> Sentence:
        """Return a sentence with tags; see `Model.tagged`."""
        return self.model.tagged(sentence)

    def tag(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield sentences with tags, a batch at a time; see `Model.tag`."""
        return self.model.tag(sentences)

    def problem(
        self, sentence: Sentence, prune: int | None = None, margin: float | None = None
    ) -> Problem:
        """Return the scored problem of a sentence; see `bbparse.models.scoring.problem_maker`."""
        return self.model.maker([sentence], prune, margin)[0].problem

    def steps(self, options: ParseOptions = USUAL, **more: Any) -> Steps:
        """Return the steps of parsing under these options, which are those of `parse_all`."""
        return Steps.of(self.model, options, **more)

    def solve(self, sentence: Sentence, options: ParseOptions = USUAL, **changes: Any) -> Solution:
        """Solve a sentence's problem and return the solution with its statistics.

        If the candidate arcs contain fewer than ``k_best`` trees, pruning is relaxed: first the
        margin is dropped, then the limit on heads. So fewer trees are returned only if no more
        exist. Parameters are those of `parse`.
        """
        steps = self.steps(options, valid="none", **changes)
        _, parse, _ = steps.with_deadline().best_trees(sentence, partial(steps.score, sentence))
        return parse.solution

    def parse(
        self, sentence: Sentence, options: ParseOptions = USUAL, **changes: Any
    ) -> list[ScoredTree]:
        """Return the k best trees of a sentence, best first.

        Parameters
        ----------
        sentence : Sentence
            Its heads and labels are ignored unless ``keep_heads`` is True.
        options : ParseOptions
        changes
            Options by name, and `tree_score`, `until` and `threads` of `parse_all`.
        """
        return next(self.parse_all([sentence], options, **changes)).trees

    def labels(self, sentence: Sentence, heads: Ints) -> list[str]:
        """Return the labels of a tree, int32[n + 1] heads; empty if the model has no labels."""
        if self.model.labeller is None:
            return []
        n, tree = sentence.n_words, np.array([0, *heads[1:]], np.int32)
        if tree.shape != (n + 1,) or tree.min() < 0 or tree.max() > n:
            raise ProblemError(f"heads are {heads!r:.60}, expected {n + 1} from 0 to {n}")
        (scored,) = self.model.maker([sentence])
        return self.model.labels_of(scored, tree)

    def parse_all(
        self,
        sentences: Iterable[Sentence],
        options: ParseOptions = USUAL,
        *,
        threads: int = 1,
        tag: bool = False,
        **more: Any,
    ) -> Iterator[Parse]:
        """Parse many sentences, in order, with labels and validity rules; yield a `Parse` for each.

        Parameters
        ----------
        sentences : iterable of Sentence
            Read only a little ahead.
        options : ParseOptions
        threads : int
            Number of threads that parse batches. Python code, a fifth of the work, runs in one
            thread at a time; ``bbparse parse`` uses processes instead.
        tag : bool
            Tag words without tags first, as `Model.tag` does.
        tree_score : TreeFamily, its class or its name, optional
            A score of whole trees, added to the model's (`bbparse.factors.TreeFamily`).
        until : Deadline, optional
            Deadline for all sentences together.
        more
            Options by name.
        """
        check_options({"threads": threads}, ProblemError)
        steps = self.steps(options, tags=tag, **more)
        if steps.options.keep_heads or steps.has_constraints:
            for sentence in self.model.tag(sentences) if tag else sentences:
                n, given = sentence.n_words, sentence
                if not steps.options.keep_heads:
                    given = replace(sentence, heads=[NO_HEAD] * n, deprels=["_"] * n)
                yield steps.with_deadline().parse_around(given)._replace(sentence=sentence)
            return
        groups = batches(sentences, together=steps.options.prune != 0)
        for parses, error in map_in_threads(partial(_tried, steps), groups, threads):
            yield from parses
            if error is not None:
                raise error

    def parse_around(
        self,
        sentences: Iterable[Sentence],
        options: ParseOptions = USUAL,
        *,
        restrict: Restriction | None = None,
        reasons: bool = True,
        **more: Any,
    ) -> Iterator[Parse]:
        """Parse sentences one by one, keeping the heads and labels that they have.

        Words with head -1 get a head. Validity rules that the given arcs break, or that no tree
        with them satisfies, are reported with the tree.

        Parameters
        ----------
        sentences : iterable of Sentence
        options : ParseOptions
        restrict : callable, optional
            Called with the problem of each sentence; returns a restricted problem, in which it may
            forbid arcs or add factors. It raises `ProblemError` if that is impossible.
        reasons : bool
            Name the contradictory heads in an error.
        more
            As in `parse_all`.

        Raises
        ------
        TreebankError
            If no tree has all these heads; the message names those that contradict each other.
        """
        steps = self.steps(options, **more)
        return (steps.with_deadline().parse_around(one, restrict, reasons) for one in sentences)

    def calibrate(self, sentences: Iterable[Sentence]) -> Flags:
        """Calibrate the model's confidence on gold trees that it was not trained on.

        Returns which arcs are right, bool[arcs].
        """
        rows = list(self.calibration_data(sentences))
        self.model.notes[NOTE] = Calibration.fitted(rows).note()
        return np.concatenate([row.right for row in rows])

    def calibration_data(self, sentences: Iterable[Sentence]) -> Iterator[GoldEvidence]:
        """Yield the calibration features of each sentence's best tree, and which arcs are right."""
        steps = self.steps(node_limit=200)
        for batch in batches(sentences):
            # Without a tagger, sentences stay as they are: one without tags must not end training.
            tagged = batch if self.model.tagger is None else list(self.model.tag(batch))
            for gold, scored in zip(batch, self.model.maker(tagged)):
                score = partial(steps.score, scored.sentence)
                scored, parse, _ = steps.best_trees(scored.sentence, score, scored)
                if len(parse.solution):
                    labels = parse.labels[0] if parse.labels else []
                    yield gold_evidence(self.model, scored, parse.solution.arcs[0], labels, gold)


def _tried(steps: Steps, batch: list[Sentence]) -> tuple[list[Parse], BBParseError | None]:
    """Parse a batch up to the first sentence that fails; return the parses and the error."""
    try:
        return steps.parse_batch(batch), None
    except BBParseError as failure:  # parsing one by one shows which sentence failed
        parses: list[Parse] = []
        try:
            for sentence in batch:
                parses += steps.parse_batch([sentence])
        except BBParseError as error:  # raised after the sentences before it are returned
            return parses, error
        return parses, failure
