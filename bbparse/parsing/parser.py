"""`Parser`: sentence → problem → solution → trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.errors import ModelError
from bbparse.factors import FactorFamily
from bbparse.model.file import load_model, save_model
from bbparse.model.model import Model
from bbparse.parsing.calibrating import calibrate
from bbparse.parsing.confidence import Calibration, evidence_of
from bbparse.parsing.parse import Parse, Wanted
from bbparse.parsing.valid import kept_parse, rules_for
from bbparse.pricing import price_and_cut
from bbparse.problem import Problem, Solution
from bbparse.scoring.delayed import DelayedScorer
from bbparse.scoring.marks import NO_MARKS, sure_marks
from bbparse.scoring.problem_maker import Scored, batches
from bbparse.solving.in_order import in_order
from bbparse.solving.options import Options
from bbparse.solving.solve import solve
from bbparse.text.cutter import Cutter
from bbparse.treebank import Sentence
from bbparse.treebank.columns import has_tags
from bbparse.treebank.encode import encode
from bbparse.treebank.scored import ScoredTree
from bbparse.validity.rules import Rules

#: Hyperedges that the search of one sentence may visit unless told otherwise: seventy times what
#: any of the 2,001 sentences of UD English EWT's dev set needs.
WORK_LIMIT = 3e7
#: Nodes of price and cut of one sentence unless told otherwise: almost all need one.
NODE_LIMIT = 50


class Parser:
    """A trained parser. Nothing in it changes while it parses, so threads may share it.

    Parameters
    ----------
    model : Model
        See there for `config`, `maker`, `labeller`, `tagger` and `notes`, which a parser has, too.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.config = model.config
        self.maker = model.maker
        self.labeller = model.labeller
        self.tagger = model.tagger
        self.cutter = model.cutter
        self.notes = model.notes
        maker = model.maker
        self._delayed: DelayedScorer | None = None
        if model.config.model.solver == "price-and-cut" and not maker.families:
            if DelayedScorer.takes(maker.scorer.templates):
                self._delayed = DelayedScorer(maker.scorer)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        factors: Iterable[str | type[FactorFamily] | FactorFamily] = (),
    ) -> Parser:
        """Read a model file; see `bbparse.model.file.load_model`."""
        return cls(load_model(path, factors))

    def needed_cutter(self) -> Cutter:
        """What cuts running text; raises `ModelError` if the model has none."""
        return self.model.needed_cutter()

    def with_projective(self, projective: bool) -> Parser:
        """The same parser for other trees; see `Model.with_projective`."""
        model = self.model.with_projective(projective)
        return self if model is self.model else Parser(model)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, whole or not at all."""
        save_model(self.model, path)

    @classmethod
    def train(
        cls,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] = (),
        config: Configuration | str = "english",
        **options: Any,
    ) -> Parser:
        """Train a parser by `bbparse.learning.train.train`, and calibrate it if dev has trees."""
        from bbparse.learning.train import train  # parsing does not wait for what learning needs

        if isinstance(config, str):
            config = Configuration.load(config)
        parser = cls(train(list(sentences), dev := list(dev), config, **options))
        if dev:
            calibrate(parser, dev)
            if options.get("model") is not None:
                parser.save(options["model"])
        return parser

    def tagged(self, sentence: Sentence) -> Sentence:
        """A sentence with tags: itself if it has some, else as the model's tagger tags it.

        Raises
        ------
        ModelError
            If no word has UPOS or XPOS, the model has no tagger, and was trained with tags.
        """
        if has_tags(sentence):
            return sentence
        if self.tagger is None:
            if self.model.takes_words:
                return sentence
            raise ModelError(
                f"{sentence.source or 'input'}, {sentence.name}: the words have no tags, and the"
                " model has no tagger: tag them with 'bbparse tag', or put a tagger into the model"
                " with 'bbparse bundle'"
            )
        return self.tagger(sentence)

    def problem(
        self, sentence: Sentence, prune: int | None = None, margin: float | None = None
    ) -> Problem:
        """The scored problem of a sentence; see `bbparse.scoring.problem_maker.ProblemMaker`."""
        return self.maker([sentence], prune, margin)[0].problem

    def solve(
        self,
        sentence: Sentence,
        *,
        k_best: int = 1,
        prune: int | None = None,
        time_limit: float | None = None,
        node_limit: int | None = None,
    ) -> Solution:
        """The solution of a sentence's problem, with its statistics.

        Where the candidate arcs hold fewer than ``k_best`` trees, pruning is loosened: first the
        margin goes, then the limit on heads, so that fewer trees than asked for come back only
        where no more exist.
        """
        limits = {"k_best": k_best, "time_limit": time_limit, "node_limit": node_limit}
        return self.widened(sentence, prune, limits)[1]

    def widened(
        self, sentence: Sentence, prune: int | None, limits: dict[str, Any]
    ) -> tuple[Scored, Solution]:
        """What `solve` does, and what it solved."""
        if self._delayed is not None and not prune:
            return self._on_demand(self._delayed, sentence, limits)
        k_best = limits["k_best"]
        wider: list[tuple[int | None, float | None]] = [(prune, None)]
        if k_best > 1 and prune != 0:
            # all arcs of a long sentence are too many; ten heads a word hold more than k trees
            wider += [(prune, np.inf), (10, np.inf), (0, None)]
        for heads, margin in wider:
            scored = self.maker([sentence], heads, margin)[0]
            solution = self.solve_problem(scored.problem, **limits)
            if len(solution) >= k_best or solution.status != "optimal":
                break
        return scored, solution

    def _on_demand(
        self, delayed: DelayedScorer, sentence: Sentence, limits: dict[str, Any]
    ) -> tuple[Scored, Solution]:
        """As `widened`, over all arcs, with scores of grandchildren on demand."""
        values, config = encode(sentence), self.config
        problem = Problem.from_arc_scores(
            delayed.arcs.score_all_arcs(values),
            projective=config.projective,
            single_root=config.model.single_root,
        )
        if limits.get("time_limit") is None and limits.get("node_limit") is None:
            limits = {**limits, "node_limit": NODE_LIMIT}
        solution = price_and_cut(problem, columns=delayed.columns(values), **limits)
        return Scored(sentence, values, None, problem), solution

    def solve_problem(self, problem: Problem, **limits: Any) -> Solution:
        """The solution of a problem that `problem` made, by the search the model is set up for.

        ``limits`` are `k_best`, `time_limit` and `node_limit` of `bbparse.solve`. Without a limit
        the work is limited, to about a second: a line of a hundred dots is exponential.
        """
        limited = limits.get("time_limit") is not None or limits.get("node_limit") is not None
        if not limited and "method" not in self.config.method:
            limits["work_limit"] = WORK_LIMIT
        method = self.config.method
        if problem.arc_label is not None and "method" in method:
            method = {}  # made for problems without labels, as rules do not leave them
        return solve(problem, **method, **limits)

    def parse(
        self,
        sentence: Sentence,
        *,
        k_best: int = 1,
        prune: int | None = None,
        time_limit: float | None = None,
        node_limit: int | None = None,
        valid: str | Rules | None = None,
        confidence: bool = False,
    ) -> list[ScoredTree]:
        """The k best trees of a sentence, best first.

        Parameters
        ----------
        sentence : Sentence
            Its heads and labels are not looked at.
        k_best : int
            How many; all there are where fewer exist.
        prune : int, optional
            Most candidate heads of a word, instead of the model's; 0: all arcs.
        time_limit, node_limit : optional
            Seconds, or nodes, for the search. Without both, it may do what takes about a second,
            the same on every machine; ``time_limit=inf`` lets it come to its end.
        valid : str or Rules, optional
            The rules that trees keep: UD's if the model's labels are relations of UD, and those of
            a file or a plug-in besides; "ud" or "none".
        confidence : bool
            Say how sure each arc and each tree is, for models that are calibrated.
        """
        limits = {"k_best": k_best, "time_limit": time_limit, "node_limit": node_limit}
        wanted = self.wanted(valid, confidence)
        return self.finished(*self.widened(sentence, prune, limits), wanted, limits).trees

    def labelled(self, sentence: Sentence, solution: Solution) -> Parse:
        """A solution of a sentence's problem, with the labels of its trees."""
        labels = [] if self.labeller is None else [self.labels(sentence, h) for h in solution.heads]
        return Parse(sentence, solution, labels)

    def labels(self, sentence: Sentence, heads: NDArray[np.int32]) -> list[str]:
        """Labels of the arcs of a tree, int[n+1] with element 0 not read; none without labels."""
        if self.labeller is None:
            return []
        values = encode(sentence)
        marks = None
        if self.labeller.guided:
            tree = np.array(heads[1:], np.int32), np.arange(1, len(heads), dtype=np.int32)
            marks = self.maker.marks([sentence], [values], [tree])[0]
        return self.labeller.label(values, heads, marks)

    def _labelled(self, scored: Scored, solution: Solution) -> Parse:
        """As `labelled`, with what is known of the sentence already."""
        labeller = self.labeller
        if labeller is None:
            return Parse(scored.sentence, solution, [])
        marks = NO_MARKS
        if labeller.guided and scored.marks is not None:
            marks = sure_marks(scored.marks)
        labels = [labeller.name(scored.values, heads, marks) for heads in solution.heads]
        return Parse(scored.sentence, solution, labels)

    def wanted(self, valid: str | Rules | None, confidence: bool) -> Wanted:
        """What `finished` is to do; the parameters are those of `parse`."""
        sure = Calibration.of(self.model) if confidence else None
        return Wanted(rules_for(valid, self.labeller), sure)

    def finished(
        self,
        scored: Scored,
        solution: Solution,
        wanted: Wanted,
        limits: dict[str, Any],
        given: Mapping[int, str] | None = None,
    ) -> Parse:
        """A solution of a scored sentence with its labels, solved again where it breaks rules.

        Parameters
        ----------
        scored : Scored
        solution : Solution
            Of its problem, without rules.
        wanted : Wanted
        limits : dict
            As for `solve_problem`, for each time that it is solved.
        given : {word: label}, optional
            Labels that stay.
        """
        found = self._labelled(scored, solution)
        if given:
            found = found._replace(
                labels=[
                    [given.get(m, label) for m, label in enumerate(labels, start=1)]
                    for labels in found.labels
                ]
            )
        if wanted.rules is not None:
            found = self._valid(scored, found, wanted.rules, limits, given)
        if wanted.calibration is not None:
            rows = zip(found.solution.arcs, found.labels or [[]] * len(found.solution))
            evidence = [evidence_of(self.model, scored, *row) for row in rows]
            found = found._replace(sure=[wanted.calibration(one) for one in evidence])
        return found

    def _valid(
        self,
        scored: Scored,
        found: Parse,
        rules: Rules,
        limits: dict[str, Any],
        given: Mapping[int, str] | None,
    ) -> Parse:
        if self.labeller is None or not len(found.solution):
            return found
        if self._delayed is not None and not len(scored.problem.gc_score):
            scored = self.maker([scored.sentence])[0]  # with all parts, but of likely arcs only
        whole = Options(time_limit=limits["time_limit"])

        def solve_again(problem: Problem, k: int) -> Solution:
            own = {**limits, "k_best": k, "time_limit": whole.time_left(), "explain": False}
            return self.solve_problem(problem, **own)

        return kept_parse(
            self.labeller, scored, found, rules, solve_again, limits["k_best"], given
        )

    def parse_all(
        self,
        sentences: Iterable[Sentence],
        *,
        k_best: int = 1,
        prune: int | None = None,
        time_limit: float | None = None,
        node_limit: int | None = None,
        valid: str | Rules | None = None,
        confidence: bool = False,
        threads: int = 1,
    ) -> Iterator[Parse]:
        """What `solve` gives for many sentences, in their order, with labels, and keeping rules.

        Parameters
        ----------
        sentences : iterable of Sentence
            Read a little ahead only.
        k_best, prune, time_limit, node_limit, valid, confidence
            As for `parse`.
        threads : int
            Batches of sentences that are parsed at the same time. Threads take turns in Python, a
            fifth of the work; ``bbparse parse`` has processes instead.
        """
        limits = {"k_best": k_best, "time_limit": time_limit, "node_limit": node_limit}
        wanted = self.wanted(valid, confidence)
        some = batches(sentences, together=prune != 0)
        for found, error in in_order(partial(self._tried, prune, limits, wanted), some, threads):
            yield from found
            if error is not None:
                raise error

    def _tried(
        self,
        prune: int | None,
        limits: dict[str, Any],
        wanted: Wanted,
        batch: list[Sentence],
    ) -> tuple[list[Parse], Exception | None]:
        """What is found for a batch up to the first sentence that fails, and its error."""
        try:
            return self._parse_together(prune, limits, wanted, batch), None
        except Exception:  # which of them it was shows one by one
            found: list[Parse] = []
            try:
                for sentence in batch:
                    one = self.widened(sentence, prune, limits)
                    found.append(self.finished(*one, wanted, limits))
            except Exception as error:  # raised after the sentences before it have come back
                return found, error
            return found, None

    def _parse_together(
        self,
        prune: int | None,
        limits: dict[str, Any],
        wanted: Wanted,
        batch: list[Sentence],
    ) -> list[Parse]:
        if self._delayed is not None and not prune:
            some = [self.widened(one, prune, limits) for one in batch]
            return [self.finished(*one, wanted, limits) for one in some]
        scored = self.maker(batch, prune)
        found = [(one, self.solve_problem(one.problem, **limits)) for one in scored]
        for i, (one, solution) in enumerate(found):
            if len(solution) < limits["k_best"] and solution.status == "optimal":
                found[i] = self.widened(one.sentence, prune, limits)
        return [self.finished(*one, wanted, limits) for one in found]
