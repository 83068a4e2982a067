"""`Parser`: sentence → problem → solution → trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.errors import ProblemError
from bbparse.factors import FactorFamily
from bbparse.model.file import load_model, save_model
from bbparse.model.model import Model
from bbparse.options import check_options, check_type
from bbparse.parsing.confidence import NOTE, Calibration, Judged, evidence_of, judged
from bbparse.parsing.parse import Asked, Limits, Parse, Wanted
from bbparse.parsing.valid import Restriction, fill_in, kept_parse, rules_for
from bbparse.pricing import price_and_cut
from bbparse.problem import Problem, Solution
from bbparse.scoring.candidates import LONG
from bbparse.scoring.delayed import DelayedScorer
from bbparse.scoring.labeller import best_labels
from bbparse.scoring.problem_maker import Scored, batches
from bbparse.scoring.scorer import checked_heads
from bbparse.solving.in_order import in_order
from bbparse.solving.solve import solve
from bbparse.text.tokenizer import Tokenizer
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode
from bbparse.treebank.sentence import NO_HEAD, ScoredTree
from bbparse.validity.rules import Rules

#: Hyperedges that one sentence's search may visit unless told otherwise: seventy times what any in
#: UD English EWT's dev set needs. `LONG` sentences have less, as their nodes cost more besides.
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
            if maker.scorer is not None and DelayedScorer.takes(maker.scorer.templates):
                self._delayed = DelayedScorer(maker.scorer)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        factors: Iterable[str | type[FactorFamily] | FactorFamily] = (),
    ) -> Parser:
        """Read a model file; see `bbparse.model.file.load_model`."""
        return cls(load_model(path, factors))

    def __reduce__(self) -> tuple[Any, ...]:
        return Parser, (self.model,)  # of which all is made

    def needed_cutter(self) -> Tokenizer:
        """What cuts running text; raises `ModelError` if the model has none."""
        return self.model.needed_cutter()

    def with_projective(self, projective: bool) -> Parser:
        """The same parser for other trees; see `Model.with_projective`."""
        model = self.model.with_projective(projective)
        return self if model is self.model else Parser(model)

    def with_members(self, members: int) -> Parser:
        """The same parser with fewer of its networks, which is faster; see `Model.with_members`."""
        model = self.model.with_members(members)
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
            parser.calibrate(dev)
            if options.get("model") is not None:
                parser.save(options["model"])
        return parser

    def tagged(self, sentence: Sentence) -> Sentence:
        """Return a sentence with tags; see `Model.tagged`."""
        return self.model.tagged(sentence)

    def problem(
        self, sentence: Sentence, prune: int | None = None, margin: float | None = None
    ) -> Problem:
        """The scored problem of a sentence; see `bbparse.scoring.problem_maker.ProblemMaker`."""
        return self.maker([sentence], prune, margin)[0].problem

    def solve(self, sentence: Sentence, **limits: Unpack[Limits]) -> Solution:
        """The solution of a sentence's problem, with its statistics.

        Where the candidate arcs hold fewer than ``k_best`` trees, pruning is loosened: first the
        margin goes, then the limit on heads, so that fewer trees than asked for come back only
        where no more exist. Parameters are those of `parse`.
        """
        return self._widened(sentence, Wanted(**limits).begun())[1]

    def _widened(self, sentence: Sentence, wanted: Wanted) -> tuple[Scored, Solution]:
        """What `solve` does, and what it solved."""
        prune = wanted.prune
        if self._delayed is not None and not prune:
            return self._on_demand(self._delayed, sentence, wanted.limits)
        wider: list[tuple[int | None, float | None]] = [(prune, None)]
        if wanted.k_best > 1 and prune != 0:
            # all arcs of a long sentence are too many; ten heads a word hold more than k trees
            wider += [(prune, np.inf), (10, np.inf), (0, None)]
        for heads, margin in wider:
            scored = self.maker([sentence], heads, margin)[0]
            solution = self.solve_problem(scored.problem, **wanted.limits)
            if not wanted.more_than(solution):
                break
        return scored, solution

    def _on_demand(
        self, delayed: DelayedScorer, sentence: Sentence, limits: dict[str, Any]
    ) -> tuple[Scored, Solution]:
        """As `_widened`, over all arcs, with scores of grandchildren on demand."""
        values, config = encode(sentence), self.config
        problem = Problem.from_arc_scores(
            delayed.arcs.score_all_arcs(values),
            projective=config.projective,
            single_root=config.model.single_root,
        )
        if limits.pop("by_work"):
            limits["node_limit"] = NODE_LIMIT
        solution = price_and_cut(problem, columns=delayed.columns(values), **limits)
        return Scored(sentence, values, problem), solution

    def solve_problem(
        self, problem: Problem, spent: float = 0.0, by_work: bool = False, **limits: Any
    ) -> Solution:
        """The solution of a problem that `problem` made, by the search the model is set up for.

        ``limits`` are `k_best`, `time_limit` and `node_limit` of `bbparse.solve`; without the last
        two, or where it is to be limited `by_work`, work that takes about a second, less what was
        ``spent`` on the sentence before.
        """
        limited = limits.get("time_limit") is not None or limits.get("node_limit") is not None
        if (by_work or not limited) and "method" not in self.config.method:
            left = max(WORK_LIMIT - spent, 0.25 * WORK_LIMIT)
            limits["work_limit"] = left * min(1.0, LONG / problem.n_words)
        # it is made for problems without labels, as rules do not leave them
        own = "method" not in self.config.method or problem.arc_label is None
        return solve(problem, **(self.config.method if own else {}), **limits)

    def parse(self, sentence: Sentence, **asked: Unpack[Asked]) -> list[ScoredTree]:
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
        return self._parsed(sentence, self.wanted(**asked)).trees

    def _parsed(self, sentence: Sentence, wanted: Wanted) -> Parse:
        wanted = wanted.begun()
        return self._finished(*self._widened(sentence, wanted), wanted)

    def wanted(
        self, *, valid: str | Rules | None = None, confidence: bool = False, **limits: Any
    ) -> Wanted:
        """What is asked, whose parameters are those of `parse`, if it can be had."""
        check_type("confidence", confidence, bool, "True or False", ProblemError)
        sure = Calibration.of(self.model) if confidence else None
        return Wanted(rules=rules_for(valid, self.labeller), calibration=sure, **limits)

    def labelled(self, sentence: Sentence, solution: Solution) -> Parse:
        """A solution of a sentence's problem, with the labels of its trees."""
        labels = [] if self.labeller is None else [self.labels(sentence, h) for h in solution.heads]
        return Parse(sentence, solution, labels)

    def labels(self, sentence: Sentence, heads: NDArray[np.int32]) -> list[str]:
        """Labels of the arcs of a tree, int[n+1] with element 0 not read; none without labels."""
        if self.labeller is None:
            return []
        values = encode(sentence)
        tree = checked_heads(values, heads)
        order = np.lexsort((np.arange(1, len(tree)), tree[1:]))
        mods = (1 + order).astype(np.int32)
        scored = self.maker.over_arcs(sentence, values, tree[mods], mods)
        return best_labels(self.labeller, self.labeller.tree_scores(scored, tree))

    def _finished(
        self, scored: Scored, solution: Solution, wanted: Wanted,
        given: Mapping[int, str] | None = None,
    ) -> Parse:  # fmt: skip
        """A solution of a scored sentence with its labels, solved again where it breaks rules.

        ``given`` are labels that stay, by word.
        """
        found = Parse(scored.sentence, solution, [])
        rows: list[NDArray[np.float64]] = []
        labeller = self.labeller
        if labeller is not None:
            trees = wanted.deadline.through(solution.heads)
            rows = [labeller.tree_scores(scored, heads) for heads in trees]
            solution = solution.first(len(rows))
            names = [best_labels(labeller, own) for own in rows]
            if given:
                names = [
                    [given.get(m, label) for m, label in enumerate(own, start=1)] for own in names
                ]
            found = found._replace(solution=solution, labels=names)
            if wanted.rules is not None and len(solution):
                whole = scored
                if self._delayed is not None and not len(scored.problem.gc_score):
                    whole = self.maker([scored.sentence])[0]  # all parts, but of likely arcs only
                found = kept_parse(
                    labeller, whole, found, wanted.rules, wanted, self.solve_problem, given,
                    rows[0] if whole is scored else None,
                )  # fmt: skip
                if found.solution is not solution:
                    scored, rows = whole, []
        if wanted.calibration is not None:
            labels = found.labels or [[]] * len(found.solution)
            known = wanted.deadline.through(zip_longest(found.solution.arcs, labels, rows))
            sure = [wanted.calibration(evidence_of(self.model, scored, *one)) for one in known]
            found = found.first(len(sure))._replace(sure=sure)
        return found

    def parse_all(
        self, sentences: Iterable[Sentence], *, keep_heads: bool = False, threads: int = 1,
        **asked: Unpack[Asked],
    ) -> Iterator[Parse]:  # fmt: skip
        """What `solve` gives for many sentences, in their order, with labels, and keeping rules.

        Parameters
        ----------
        sentences : iterable of Sentence
            Read a little ahead only.
        keep_heads : bool
            Find the best trees around the heads and labels that sentences have, one by one.
        threads : int
            Batches that are parsed at the same time. Threads take turns in Python, a fifth of the
            work; ``bbparse parse`` has processes instead.
        asked
            As for `parse`.
        """
        check_options({"threads": threads}, ProblemError)
        check_type("keep_heads", keep_heads, bool, "True or False", ProblemError)
        if keep_heads:
            yield from self.parse_around(sentences, **asked)
            return
        wanted = self.wanted(**asked)
        some = batches(sentences, together=wanted.prune != 0)
        for found, error in in_order(partial(self._tried, wanted), some, threads):
            yield from found
            if error is not None:
                raise error

    def parse_around(
        self, sentences: Iterable[Sentence], *, restrict: Restriction | None = None,
        reasons: bool = True, **asked: Unpack[Asked],
    ) -> Iterator[Parse]:  # fmt: skip
        """Parses of one sentence after the other with the heads, and their labels, that each has.

        Words whose head is -1 get one. Rules that the given arcs break themselves are told with the
        tree, as are all that no tree around them keeps.

        Parameters
        ----------
        sentences : iterable of Sentence
        restrict : callable, optional
            Makes a problem of the problem of each sentence: may forbid arcs, or add factors; raises
            `ProblemError` if that cannot be done.
        reasons : bool
            Whether an error says which of all that contradict each other.
        asked
            As for `parse`.

        Raises
        ------
        TreebankError
            If no tree has all these heads; says which of them contradict each other.
        """
        whole = self.wanted(**asked)
        for sentence in sentences:
            wanted = whole.begun()
            rows = list(zip(sentence.heads, sentence.deprels))
            if restrict is None and all(head == NO_HEAD for head, _ in rows):
                found = self._widened(sentence, wanted)
            else:
                found = fill_in(
                    self.maker, self.solve_problem, sentence, wanted, restrict, reasons
                )
            given = {
                m: own for m, (head, own) in enumerate(rows, 1) if head != NO_HEAD and own != "_"
            }
            yield self._finished(*found, wanted, given)

    def _tried(
        self, wanted: Wanted, batch: list[Sentence]
    ) -> tuple[list[Parse], Exception | None]:
        """What is found for a batch up to the first sentence that fails, and its error."""
        try:
            return self._parse_together(wanted, batch), None
        except Exception:  # which of them it was shows one by one
            found: list[Parse] = []
            try:
                for sentence in batch:
                    found.append(self._parsed(sentence, wanted))
            except Exception as error:  # raised after the sentences before it have come back
                return found, error
            return found, None

    def _parse_together(self, wanted: Wanted, batch: list[Sentence]) -> list[Parse]:
        if self._delayed is not None and not wanted.prune:
            return [self._parsed(one, wanted) for one in batch]
        parses = []
        for one in self.maker(batch, wanted.prune):
            own = wanted.begun()
            solution = self.solve_problem(one.problem, **own.limits)
            if own.more_than(solution):
                one, solution = self._widened(one.sentence, own)
            parses.append(self._finished(one, solution, own))
        return parses

    def calibrate(self, sentences: Iterable[Sentence]) -> NDArray[np.bool_]:
        """Note in the model how sure it may be, and tell which arcs are right, bool[arcs].

        Parameters
        ----------
        sentences : iterable of Sentence
            Gold trees that it was not trained on.
        """
        rows = list(self.judged(sentences))
        self.notes[NOTE] = Calibration.fitted(rows).note()
        return np.concatenate([one.right for one in rows])

    def judged(self, sentences: Iterable[Sentence]) -> Iterator[Judged]:
        """The evidence on the arcs of each sentence's best tree, and whether each is right."""
        wanted = self.wanted(node_limit=200)
        for batch in batches(sentences):
            # without a tagger as they are: a sentence without tags does not end a training
            given = batch if self.tagger is None else [self.tagged(one) for one in batch]
            for gold, scored in zip(batch, self.maker(given)):
                solution = self.solve_problem(scored.problem, **wanted.limits)
                found = self._finished(scored, solution, wanted)
                if len(found.solution):
                    labels = found.labels[0] if found.labels else []
                    yield judged(self.model, scored, found.solution.arcs[0], labels, gold)
