"""`Parser`: sentence → problem → solution → trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem, Solution
from bbparse.inference.solve import solve, solve_together
from bbparse.inference.trees import work_of
from bbparse.models.configuration import Configuration
from bbparse.models.scoring.candidates import LONG
from bbparse.models.scoring.labeller import Labels, best_labels, label_together
from bbparse.models.scoring.linear import checked_heads
from bbparse.models.scoring.problem_maker import Scored
from bbparse.neural.embeddings import Embeddings
from bbparse.neural.ragged import batches
from bbparse.parser.confidence import NOTE, Calibration, Judged, evidence_of, judged
from bbparse.parser.loaded import LoadedModel
from bbparse.parser.parse import USUAL, AnyTreeFamily, Parse, ParseOptions, Wanted, with_options
from bbparse.parser.valid import (
    Remake,
    Restriction,
    fill_in,
    kept_parse,
    rules_for,
    scored_around,
    suspected,
)
from bbparse.parser.whole_trees import Solve, check_found, tree_families, with_tree_scores
from bbparse.runtime.deadline import NO_DEADLINE, Deadline
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_options, check_type
from bbparse.runtime.pool import map_in_threads
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode
from bbparse.treebank.sentence import NO_HEAD, ScoredTree

#: Hyperedges that the search of one sentence may visit by default: seventy times the most that a
#: sentence of UD English EWT's dev set needs. `LONG` sentences get fewer: their nodes cost more.
WORK_LIMIT = 3e7
#: Default node limit of price and cut for one sentence; almost all sentences need one node.
NODE_LIMIT = 50


def _work_limit(problem: Problem, spent: float = 0.0) -> float:
    """Return the limit on the work of a sentence's search, some of which is ``spent``."""
    left = max(WORK_LIMIT - spent, 0.25 * WORK_LIMIT)
    return left * min(1.0, LONG / problem.n_words)


class Parser(LoadedModel):
    """A trained parser. Parsing changes nothing in it, so threads may share it."""

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
        """Train a parser by `models.learning.train.train`; calibrate it if `dev` has sentences.

        `embeddings` returns pretrained embeddings for the networks, given `sentences` and `dev`: a
        partial `bbparse.embeddings.read_vectors` or `fit_encoder`. Other options are those of
        `train`.
        """
        from bbparse.models.learning.train import (
            train,  # keep the imports of training out of parsing
        )

        if isinstance(config, str):
            config = Configuration.load(config)
        dev = list(dev)
        parser = cls(train(list(sentences), dev, config, embeddings=embeddings, **options))
        if dev:
            parser.calibrate(dev)
            if options.get("model") is not None:
                parser.save(options["model"])
        return parser

    def problem(
        self, sentence: Sentence, prune: int | None = None, margin: float | None = None
    ) -> Problem:
        """Return the scored problem of a sentence; see `bbparse.models.scoring.problem_maker`."""
        return self.maker([sentence], prune, margin)[0].problem

    def solve(
        self, sentence: Sentence, options: ParseOptions = USUAL, **changes: Any
    ) -> Solution:
        """Solve a sentence's problem and return the solution with its statistics.

        If the candidate arcs contain fewer than ``k_best`` trees, pruning is loosened: first the
        margin is dropped, then the limit on heads. So fewer trees come back only if no more exist.
        The parameters are those of `parse`.
        """
        wanted = Wanted(replace(options, **changes), trees=tree_families(self.model))
        return self._widened(sentence, wanted.begun())[1]

    def _widened(self, sentence: Sentence, wanted: Wanted) -> tuple[Scored, Solution]:
        """Return the problem that `solve` solves last, and its solution."""
        pruning: Iterable[tuple[int | None, float | None]]
        pruning = [(0, None)] if self._takes_all_arcs(wanted) else wanted.wider(sentence.n_words)
        for heads, margin in pruning:
            scored = self.maker([sentence], heads, margin)[0]
            solution = self._solver(wanted, scored)(scored.problem, **wanted.limits)
            if not wanted.more_than(solution):
                return scored, solution
        if heads != 0:
            solution = solution.stopped("work_limit")  # more trees may exist
        return scored, solution

    def _solver(self, wanted: Wanted, scored: Scored) -> Solve:
        """Return `solve_problem` with the scores of whole trees of a sentence."""
        return with_tree_scores(self.solve_problem, self.model, wanted, scored)

    def _takes_all_arcs(self, wanted: Wanted) -> bool:
        """Return True if price and cut solves the problem of all arcs."""
        return self._unpruned and not (wanted.options.prune or wanted.trees)

    def solve_problem(
        self, problem: Problem, spent: float = 0.0, by_work: bool = False, **limits: Any
    ) -> Solution:
        """Solve a problem that `problem` made, by the search of the model's configuration.

        ``limits`` are `k_best`, `time_limit`, `node_limit` and those of tree scores of
        `bbparse.solve`. Without a limit on time or nodes, or with `by_work`, the limit is the work
        of about a second, less the work already ``spent`` on the sentence.
        """
        limited = limits.get("time_limit") is not None or limits.get("node_limit") is not None
        # A configured method solves problems without labels; validity rules add labels.
        configured = "method" not in self.config.method or problem.arc_label is None
        if by_work or not limited:
            if "method" not in self.config.method:
                limits["work_limit"] = _work_limit(problem, spent)
            elif configured:
                limits["node_limit"] = NODE_LIMIT
        return solve(problem, **(self.config.method if configured else {}), **limits)

    @with_options
    def parse(
        self, sentence: Sentence, options: ParseOptions = USUAL, **changes: Any
    ) -> list[ScoredTree]:
        """Return the k best trees of a sentence, best first.

        Parameters
        ----------
        sentence : Sentence
            Its heads and labels are ignored, unless ``keep_heads`` is asked for.
        options : ParseOptions
        changes
            Options by name, and `tree_score`, `until` and `threads` of `parse_all`.
        """
        return next(self.parse_all([sentence], options, **changes)).trees

    def _parsed(self, sentence: Sentence, wanted: Wanted) -> Parse:
        wanted = wanted.begun()
        return self._finished(*self._widened(sentence, wanted), wanted)

    def wanted(
        self, options: ParseOptions = USUAL, *, tree_score: AnyTreeFamily | None = None,
        until: Deadline = NO_DEADLINE, **changes: Any,
    ) -> Wanted:  # fmt: skip
        """Return options with what of this parser applies; they are those of `parse_all`."""
        check_type("options", options, ParseOptions, "ParseOptions", ProblemError)
        options = replace(options, **changes)
        sure = Calibration.of(self.model) if options.confidence else None
        trees = tree_families(self.model, tree_score)
        return Wanted(options, rules_for(options.valid, self.labeller), sure, trees, until)

    def labelled(self, sentence: Sentence, solution: Solution) -> Parse:
        """Return a solution of a sentence's problem with the labels of its trees."""
        labels = [] if self.labeller is None else [self.labels(sentence, h) for h in solution.heads]
        return Parse(sentence, solution, labels)

    def labels(self, sentence: Sentence, heads: NDArray[np.int32]) -> list[str]:
        """Return the labels of a tree's arcs, int32[n + 1] heads; an empty list without labels."""
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
        given: Mapping[int, str] | None = None, known: Labels | None = None,
        remake: Remake | None = None,
    ) -> Parse:  # fmt: skip
        """Label a solution of a scored sentence, and solve again if its trees break validity rules.

        ``given`` are fixed labels by word; ``known`` are the labels of the only tree, if known.
        ``remake`` makes the scored sentence with other pruning.
        """
        check_found(scored, solution, wanted)
        if known is not None:
            rows = [known.scores]
            parse = Parse(scored.sentence, solution, [known.names])
        else:
            parse, rows = self._with_labels(scored, solution, wanted, given or {})
        if wanted.rules is not None and len(parse.solution):
            remake = remake or (lambda *pruning: self.maker([scored.sentence], *pruning)[0])
            found = parse.solution
            scored, parse = self._valid(scored, parse, rows[0], wanted, given or {}, remake)
            if parse.solution is not found:
                rows = []
        if wanted.calibration is not None:
            labels = parse.labels or [[]] * len(parse.solution)
            evidence = wanted.deadline.through(zip_longest(parse.solution.arcs, labels, rows))
            sure = [wanted.calibration(evidence_of(self.model, scored, *row)) for row in evidence]
            parse = parse.first(len(sure))._replace(sure=sure)
        return parse

    def _with_labels(
        self, scored: Scored, solution: Solution, wanted: Wanted, given: Mapping[int, str]
    ) -> tuple[Parse, list[NDArray[np.float64]]]:
        """Return a solution with the labels of its trees, and the scores of all labels by tree."""
        if self.labeller is None:
            return Parse(scored.sentence, solution, []), []
        trees = wanted.deadline.through(zip(solution.heads, solution.arcs))
        rows = [self.labeller.tree_scores(scored, *tree) for tree in trees]
        names = [
            [given.get(m, label) for m, label in enumerate(best_labels(self.labeller, row), 1)]
            for row in rows
        ]
        return Parse(scored.sentence, solution.first(len(rows)), names), rows

    def _valid(
        self, scored: Scored, parse: Parse, labels: NDArray[np.float64], wanted: Wanted,
        given: Mapping[int, str], remake: Remake,
    ) -> tuple[Scored, Parse]:  # fmt: skip
        """Return the best valid trees, over more arcs where the candidates have too few of them.

        ``labels`` are the scores of the labels of the parse's best tree. A tree that breaks rules
        is proved to be the best one only over all arcs.
        """
        labeller, rules = self.labeller, wanted.rules
        assert labeller is not None and rules is not None
        whole = scored
        if self._takes_all_arcs(wanted):
            whole = remake(None, None)  # labels of likely arcs only
        own = labels if whole is scored else None
        kept = kept_parse(
            labeller, whole, parse, rules, wanted, self._solver(wanted, whole), given, own
        )
        if kept.solution is parse.solution:
            return scored, kept
        complete = wanted.options.prune == 0
        for pruning in islice(wanted.wider(scored.sentence.n_words), 1, None):
            if complete or not wanted.lacks_valid(kept, given):
                break
            try:
                more = remake(*pruning)
            except ProblemError:  # too many parts for memory
                break
            solver, spent = self._solver(wanted, more), work_of(kept.solution)
            solution = solver(more.problem, spent, explain=False, **wanted.limits)
            if not len(solution):
                break
            again, rows = self._with_labels(more, solution, wanted, given)
            again = kept_parse(labeller, more, again, rules, wanted, solver, given, rows[0])
            if again.solution.status not in ("optimal", "gap"):
                break
            whole, kept, complete = more, again, pruning[0] == 0
        if not complete and wanted.lacks_valid(kept, given):
            kept = kept._replace(solution=kept.solution.stopped("work_limit", any(kept.faults)))
        return whole, kept

    def parse_all(
        self, sentences: Iterable[Sentence], options: ParseOptions = USUAL, *,
        threads: int = 1, **more: Any,
    ) -> Iterator[Parse]:  # fmt: skip
        """Parse many sentences, in order, with labels and validity rules; yield a `Parse` for each.

        Parameters
        ----------
        sentences : iterable of Sentence
            Read only a little ahead.
        options : ParseOptions
        threads : int
            Number of batches that are parsed at the same time. Python code, a fifth of the work,
            runs in one thread at a time; ``bbparse parse`` uses processes instead.
        tree_score : TreeFamily, its class or its name, optional
            A score of whole trees beside those of the model (`bbparse.factors.TreeFamily`).
        until : Deadline, optional
            For all sentences together.
        more
            Options by name.
        """
        check_options({"threads": threads}, ProblemError)
        wanted = self.wanted(options, **more)
        if wanted.options.keep_heads:
            yield from self._around(sentences, wanted)
            return
        groups = batches(sentences, together=wanted.options.prune != 0)
        for parses, error in map_in_threads(partial(self._tried, wanted), groups, threads):
            yield from parses
            if error is not None:
                raise error

    def parse_around(
        self, sentences: Iterable[Sentence], options: ParseOptions = USUAL, *,
        restrict: Restriction | None = None, reasons: bool = True, **more: Any,
    ) -> Iterator[Parse]:  # fmt: skip
        """Parse sentences one at a time around the heads and labels that each of them has.

        Words whose head is -1 get one. Validity rules that the given arcs break, or that no tree
        around them satisfies, are reported with the tree.

        Parameters
        ----------
        sentences : iterable of Sentence
        options : ParseOptions
        restrict : callable, optional
            Called with the problem of each sentence, returns a restricted problem: it may forbid
            arcs or add factors, and raises `ProblemError` if it cannot.
        reasons : bool
            Name the contradicting heads in an error.
        more
            As in `parse_all`.

        Raises
        ------
        TreebankError
            If no tree has all these heads; names those that contradict each other.
        """
        return self._around(sentences, self.wanted(options, **more), restrict, reasons)

    def _around(
        self, sentences: Iterable[Sentence], whole: Wanted, restrict: Restriction | None = None,
        reasons: bool = True,
    ) -> Iterator[Parse]:  # fmt: skip
        for sentence in sentences:
            wanted = whole.begun()
            rows = list(zip(sentence.heads, sentence.deprels))
            remake = None
            if restrict is None and all(head == NO_HEAD for head, _ in rows):
                result = self._widened(sentence, wanted)
            else:
                remake = partial(scored_around, self.maker, sentence, restrict)
                result = fill_in(
                    self.maker, partial(self._solver, wanted), sentence, wanted, restrict, reasons
                )
            given = {
                m: label
                for m, (head, label) in enumerate(rows, 1)
                if head != NO_HEAD and label != "_"
            }
            yield self._finished(*result, wanted, given, remake=remake)

    def _tried(
        self, wanted: Wanted, batch: list[Sentence]
    ) -> tuple[list[Parse], Exception | None]:
        """Parse a batch up to the first sentence that fails; return the parses and the error."""
        try:
            return self._parse_together(wanted, batch), None
        except Exception:  # parsing one by one shows which sentence failed
            parses: list[Parse] = []
            try:
                for sentence in batch:
                    parses.append(self._parsed(sentence, wanted))
            except Exception as error:  # raised after the sentences before it are returned
                return parses, error
            return parses, None

    def _parse_together(self, wanted: Wanted, batch: list[Sentence]) -> list[Parse]:
        if self._takes_all_arcs(wanted):
            return [self._parsed(sentence, wanted) for sentence in batch]
        batch_of = self.maker(batch, wanted.options.prune)
        if wanted.trees or "method" in self.config.method:
            return [self._parsed_alone(scored, wanted.begun()) for scored in batch_of]
        problems = [scored.problem for scored in batch_of]
        solutions = self._solved_together(problems, wanted)
        known: Sequence[Labels | None] = [None] * len(batch)
        if self.labeller is not None and all(len(solution) == 1 for solution in solutions):
            known = label_together(self.labeller, batch_of, solutions)
        suspects = suspected(self.labeller, batch_of, solutions, known, wanted)
        parses = []
        for scored, solution, labels, suspect in zip(batch_of, solutions, known, suspects):
            if labels is not None and not suspect:
                parses.append(Parse(scored.sentence, solution, [labels.names]))
                continue
            begun = wanted.begun(solution.stats.get("seconds", 0.0))
            if begun.more_than(solution):
                scored, solution = self._widened(scored.sentence, begun)
                labels = None
            parses.append(self._finished(scored, solution, begun, known=labels))
        return parses

    def _parsed_alone(self, scored: Scored, wanted: Wanted) -> Parse:
        """Parse a scored sentence."""
        solution = self._solver(wanted, scored)(scored.problem, **wanted.limits)
        if wanted.more_than(solution):
            scored, solution = self._widened(scored.sentence, wanted)
        return self._finished(scored, solution, wanted)

    def _solved_together(self, problems: Sequence[Problem], wanted: Wanted) -> list[Solution]:
        """Solve the problems of a batch in one call, and those that it leaves open one by one."""
        asked, works = wanted.options, None
        if asked.time_limit is None and asked.node_limit is None:
            works = [_work_limit(problem) for problem in problems]
        return solve_together(
            problems, works, wanted.until, k_best=asked.k_best, time_limit=asked.time_limit,
            node_limit=asked.node_limit, **self.config.method,
        )  # fmt: skip

    def calibrate(self, sentences: Iterable[Sentence]) -> NDArray[np.bool_]:
        """Calibrate the model's confidence on gold trees that it was not trained on.

        Returns which arcs are right, bool[arcs].
        """
        rows = list(self.judged(sentences))
        self.notes[NOTE] = Calibration.fitted(rows).note()
        return np.concatenate([row.right for row in rows])

    def judged(self, sentences: Iterable[Sentence]) -> Iterator[Judged]:
        """Yield the calibration features of each sentence's best tree, and which arcs are right."""
        wanted = self.wanted(node_limit=200)
        for batch in batches(sentences):
            # Without a tagger, sentences stay as they are: one without tags must not end training.
            given = batch if self.tagger is None else list(self.tag(batch))
            for gold, scored in zip(batch, self.maker(given)):
                solution = self._solver(wanted, scored)(scored.problem, **wanted.limits)
                parse = self._finished(scored, solution, wanted)
                if len(parse.solution):
                    labels = parse.labels[0] if parse.labels else []
                    yield judged(self.model, scored, parse.solution.arcs[0], labels, gold)
