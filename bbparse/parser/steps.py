"""Steps of the parser: score, solve, label, validate, calibrate.

`Steps` holds the options of one call of the parser, resolved against its model. A batch is scored
together. Then each sentence goes through the steps by itself: its trees are found and get labels,
those that break validity rules give way to valid ones, all this over more arcs as long as there
are too few trees (`Steps.best_trees`), and arcs get their probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.inference.oracles.projective.recurrences import GRANDSIB
from bbparse.models.factors.registry import load_families
from bbparse.models.factors.tree_family import TreeFamily, tree_options
from bbparse.models.graph.enhancer import Enhancer
from bbparse.models.model import Model
from bbparse.models.scoring.arc_network import BatchArcs, BatchScores, ScoredArcs
from bbparse.models.scoring.candidates import LONG
from bbparse.models.scoring.labels import best_labels
from bbparse.models.scoring.problem_maker import Scored, ScoredBatch
from bbparse.parser.confidence import Calibration, evidence_of
from bbparse.parser.edges import EdgeFamily, has_edges, named_edges
from bbparse.parser.parse import AnyTreeFamily, Parse, ParseOptions, graphs_of
from bbparse.parser.spans import Spans
from bbparse.parser.valid import (
    Restriction,
    check_crossing,
    no_tree,
    rules_for,
    scored_around,
    valid_parse,
)
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.deadline import NO_DEADLINE, Deadline
from bbparse.runtime.errors import FactorError, ProblemError, TreebankError
from bbparse.runtime.options import check_type
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import NO_HEAD

#: Hyperedges that the search of one sentence may visit by default: seventy times the most that a
#: sentence of UD English EWT's dev set needs. `LONG` sentences get fewer: their nodes cost more.
WORK_LIMIT = 3e7
#: Default node limit of price and cut for one sentence; almost all sentences need one node.
NODE_LIMIT = 50
#: Default limit on the trees of one sentence that tree families score.
TREE_LIMIT = 1000
#: Seconds for a sentence in which its best tree is surely found without a search.
_AT_ONCE = 0.1
#: Seconds that scoring all arcs of a sentence may take, per cube of its length.
_ALL_ARCS = 2e-6
#: Candidate heads a word that often contain a tree that the fewest do not.
_SOME_HEADS = 10

#: Counts of a search that ends with its first tree.
_AT_ROOT = {"nodes": 1, "dp_calls": 1, "trees_tried": 1, "closed_at_root": 1, "dp_work": 1.0}

#: Scores a sentence over the arcs that the `prune` and `margin` of `ProblemMaker` keep.
Score = Callable[[int | None, float | None], Scored]
_NO_LABELS: Mapping[int, str] = {}


def _work_limit(problem: Problem, spent: float = 0.0) -> float:
    """Return the limit on the work of a sentence's search, some of which is ``spent``."""
    left = max(WORK_LIMIT - spent, 0.25 * WORK_LIMIT)
    return left * min(1.0, LONG / problem.n_words)


def tree_families(model: Model, extra: AnyTreeFamily | None = None) -> tuple[TreeFamily, ...]:
    """Return the tree families of a model, and an extra one."""
    own = tuple(family for family in model.maker.families if isinstance(family, TreeFamily))
    if extra is None:
        return own
    *_, family = load_families([*own, extra])
    if not isinstance(family, TreeFamily):
        raise FactorError(f"tree_score is the family {family.name!r}, expected a TreeFamily")
    return *own, family


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of parsing, with the options of one call; see `with_deadline`."""

    model: Model
    options: ParseOptions
    rules: Rules | None = None
    calibration: Calibration | None = None
    families: tuple[TreeFamily, ...] = ()  #: Scores of whole trees.
    spans: Spans | None = None
    tags: bool = False  #: Words without tags are tagged first.
    until: Deadline = NO_DEADLINE  #: For all sentences together.
    deadline: Deadline = NO_DEADLINE  #: For one sentence.

    @classmethod
    def of(
        cls,
        model: Model,
        options: ParseOptions,
        *,
        tree_score: AnyTreeFamily | None = None,
        until: Deadline = NO_DEADLINE,
        tags: bool = False,
        **changes: Any,
    ) -> Steps:
        """Resolve options, some of them changed, against a model; see `Parser.parse_all`."""
        check_type("options", options, ParseOptions, "ParseOptions", ProblemError)
        check_type("until", until, Deadline, "a Deadline", ProblemError)
        options = replace(options, **changes)
        calibration = Calibration.of(model) if options.confidence else None
        families = tree_families(model, tree_score)
        rules = rules_for(options.valid, model.labeller)
        spans = None if options.spans is None else Spans.parsed(options.spans)
        if options.enhanced:
            model.needed_enhancer()
        if options.edges is not None:
            families = *families, EdgeFamily(options.edges, model.needed_enhancer(), rules)
        return cls(model, options, rules, calibration, families, spans, tags, until)

    @property
    def enhancer(self) -> Enhancer | None:
        """The maker of graphs, if they are wanted."""
        is_wanted = self.options.enhanced is not False or self.options.edges is not None
        return self.model.enhancer if is_wanted else None

    @property
    def edges(self) -> EdgeFamily | None:
        """The edges that graphs must have, one of the families."""
        return next((own for own in self.families if isinstance(own, EdgeFamily)), None)

    # ---- the whole way -------------------------------------------------------------------------

    def parse_batch(self, batch: Sequence[Sentence]) -> list[Parse]:
        """Parse a batch: tag, score, decode and make the graphs of all sentences together."""
        parses = self._parse_batch([*self.model.tag(batch)] if self.tags else batch)
        if self.enhancer is None:
            return parses
        graphs = graphs_of(parses, self.enhancer)
        return [parse._replace(graphs=own) for parse, own in zip(parses, graphs)]

    def _parse_batch(self, batch: Sequence[Sentence]) -> list[Parse]:
        if self.takes_all_arcs:
            return [self.with_deadline().parse(sentence) for sentence in batch]
        scored = self.model.maker(batch, self.options.prune)
        if not self.needs_no_search(batch):
            return [*map(self._searched, scored)]
        parses: list[Parse] = []
        for i, best in enumerate(self.best_of_batch(scored)):
            if best is None or self._breaks_rules(best):
                parses.append(self._searched(scored[i]))
            elif self.calibration is not None:
                parses.append(self.with_confidence(scored[i], best))
            else:
                parses.append(best)
        return parses

    def _breaks_rules(self, best: Parse) -> bool:
        if self.rules is None:
            return False
        ((_, *heads),), (labels,) = best.solution.heads.tolist(), best.labels
        return bool(RuledSentence(self.rules, best.sentence).faults(heads, labels, True))

    def _searched(self, scored: Scored) -> Parse:
        return self.with_deadline().parse(scored.sentence, self.with_spans(scored))

    def needs_no_search(self, batch: Sequence[Sentence]) -> bool:
        """Return True if the best trees of sentences are those of charts, unless rules forbid."""
        options, maker, limit = self.options, self.model.maker, self.options.time_limit
        time = min(math.inf if limit is None else limit, self.until.left() / len(batch))
        return (
            time >= _AT_ONCE
            and options.k_best == 1
            and not (self.families or self.spans or maker.families)
            and maker.network is not None
            and self.model.labeller in (None, maker.network)
            and maker.config.method.get("backbone") == GRANDSIB.name
        )

    def best_of_batch(self, scored: ScoredBatch) -> Iterator[Parse | None]:
        """Yield the best trees of sentences, found all at once; None if a search has to."""
        # both are of the network
        linear, scores = cast(ScoredArcs, scored.linear), cast(BatchScores, scored.scores)
        ptr = np.append(0, np.cumsum(linear.n_words))
        found = linear.best_trees(scored.kind[1])
        heads, proved = np.insert(found.heads, ptr[:-1], -1), np.ones(len(ptr), np.bool_)
        labels: list[str] = []
        if self.model.labeller is not None:
            words = np.arange(1, ptr[-1] + 1) - np.repeat(ptr[:-1], linear.n_words)
            labels = scores.best_labels(BatchArcs(ptr, found.heads, words.astype(np.int32)))
        rows = zip(
            scored.sentences, *(column.tolist() for column in (ptr[:-1], ptr[1:], *found[2:]))
        )
        for i, (sentence, a, b, score, edges, is_settled) in enumerate(rows):
            if not is_settled:
                yield None
                continue
            one, stats = slice(i, i + 1), {**_AT_ROOT, "edges": edges, "upper_bound": score}
            solution = Solution(
                heads[np.newaxis, a + i : b + i + 1],
                found.arcs[np.newaxis, a:b],
                found.scores[one],
                found.scores[one],
                proved[one],
                "optimal",
                stats,
            )
            yield Parse(sentence, solution, [labels[a:b]] if labels else [])

    def parse(self, sentence: Sentence, scored: Scored | None = None) -> Parse:
        """Parse one sentence, which may be ``scored`` already."""
        scored, parse, _ = self.best_trees(sentence, partial(self.score, sentence), scored)
        return self.with_confidence(scored, parse)

    def parse_around(
        self, sentence: Sentence, restrict: Restriction | None = None, reasons: bool = True
    ) -> Parse:
        """Parse one sentence around its heads and labels; name firm spans that are in the way."""
        try:
            parse = self._parse_around(sentence, restrict, reasons)
        except TreebankError as error:
            against = self._blame(sentence, restrict, math.inf)
            raise TreebankError(f"{error}{against}") from None
        if any(parse.faults[:1]):
            first, *others = parse.faults
            against = self._blame(sentence, restrict, len(first))
            named = [fault._replace(name=fault.name + against) for fault in first]
            parse = parse._replace(faults=[named, *others])
        if self.enhancer is None:
            return parse
        return parse._replace(graphs=graphs_of([parse], self.enhancer)[0])

    def _blame(self, sentence: Sentence, restrict: Restriction | None, n_faults: float) -> str:
        """Name the spans without which a sentence has fewer faults."""

        def count(spans: Spans) -> float:
            try:
                other = replace(self, spans=spans)._parse_around(sentence, restrict, False)
            except TreebankError:
                return math.inf
            return sum(map(len, other.faults[:1]))

        return "" if self.spans is None else self.spans.blame(sentence, count, n_faults)

    def _parse_around(
        self, sentence: Sentence, restrict: Restriction | None, reasons: bool
    ) -> Parse:
        rows = list(enumerate(zip(sentence.heads, sentence.deprels), start=1))
        fixed = {m: label for m, (head, label) in rows if head != NO_HEAD and label != "_"}
        is_free = restrict is None and all(head == NO_HEAD for head in sentence.heads)
        score: Score = partial(self.score, sentence)
        if not is_free or self.has_constraints:
            check_crossing(sentence, self.model.config.projective)

            def score(prune: int | None, margin: float | None) -> Scored:
                around = scored_around(self.model.maker, sentence, restrict, prune, margin)
                return self.with_spans(around)

        scored, parse, complete = self.best_trees(sentence, score, fixed=fixed, reasons=reasons)
        if parse.solution.status == "infeasible":
            restricted = any(x is not None for x in (restrict, self.spans, self.edges))
            raise no_tree(scored, parse.solution, complete, restricted)
        return self.with_confidence(scored, parse)

    # ---- score ---------------------------------------------------------------------------------

    def score(self, sentence: Sentence, prune: int | None, margin: float | None) -> Scored:
        """Return a scored sentence over the arcs that pruning retains."""
        return self.with_spans(self.model.maker([sentence], prune, margin)[0])

    @property
    def has_constraints(self) -> bool:
        """True if trees must have spans, or their graphs edges, which may leave none."""
        has_spans = self.spans is not None and self.spans.weight is None
        return has_spans or self.edges is not None

    def with_spans(self, scored: Scored) -> Scored:
        """Return a scored sentence under its spans, and with paths for its edges."""
        problem = scored.problem
        for constraint in (self.spans, self.edges):
            if constraint is not None:
                problem = constraint.onto(problem, scored.sentence)
        return scored if problem is scored.problem else replace(scored, problem=problem)

    @property
    def takes_all_arcs(self) -> bool:
        """True if price and cut solves the problem of all arcs and grandchildren, unpruned."""
        maker = self.model.maker
        if self.options.prune or self.families or maker.families or maker.scorer is None:
            return False
        kinds = set(maker.scorer.features.kinds)
        return maker.config.model.solver == "price-and-cut" and kinds == {"arc", "grandchild"}

    def pruning(self, n_words: int) -> Iterator[tuple[int | None, float | None]]:
        """Yield `prune` and the model's `margin`, then looser ones, in time, up to all arcs."""
        prune, usual = self.options.prune, self.model.config.pruner.k
        yield prune, None
        if prune == 0:
            return
        # All arcs of a long sentence are many; ten heads a word often contain what is looked for.
        more = [(_SOME_HEADS, np.inf)] if (prune or usual) < _SOME_HEADS else []
        for heads, margin in ((prune, np.inf), *more, (0, None)):
            needed = _ALL_ARCS * n_words**3 if heads == 0 else 0.0
            if self.deadline.left() <= needed:
                return
            yield heads, margin

    # ---- solve ---------------------------------------------------------------------------------

    @property
    def by_work(self) -> bool:
        """True if the work of a search is limited, because neither time nor nodes are."""
        return self.options.time_limit is None and self.options.node_limit is None

    def with_deadline(self) -> Steps:
        """Return the steps of a sentence whose time begins now."""
        deadline = self.until.within(self.options.time_limit)
        return self if deadline is self.deadline else replace(self, deadline=deadline)

    def whole_trees(self, scored: Scored) -> dict[str, Any]:
        """Return options of `bbparse.solve` for the scores that families give to whole trees."""
        if not self.families:
            return {}
        view, labels_of = self.model.maker.view_of(scored), partial(self.model.labels_of, scored)
        options = tree_options(self.families, view, labels_of)
        if self.by_work:
            options["tree_limit"] = TREE_LIMIT
        return options

    def solver(self, scored: Scored) -> Callable[..., Solution]:
        """Return a function that solves problems of a sentence within the limits.

        It takes a problem, the work already ``spent`` on the sentence, and other options of
        `bbparse.solve`.
        """
        from bbparse.inference.solve import solve  # most batches have no need of a search

        config, options, deadline = self.model.config, self.options, self.deadline
        of_trees = self.whole_trees(scored)

        def solve_within(problem: Problem, spent: float = 0.0, **changes: Any) -> Solution:
            limits: dict[str, Any] = {
                "k_best": options.k_best,
                "node_limit": options.node_limit,
                "time_limit": deadline.limit(),
            }
            # Branch and bound solves problems with labels, which validity rules add.
            is_configured = "method" not in config.method or problem.arc_label is None
            if self.by_work and "method" not in config.method:
                limits["work_limit"] = _work_limit(problem, spent)
            elif self.by_work and is_configured:
                limits["node_limit"] = NODE_LIMIT
            method = config.method if is_configured else {}
            return solve(problem, **method, **{**of_trees, **limits, **changes})

        return solve_within

    # ---- find valid trees, label, rate ---------------------------------------------------------

    def best_trees(
        self,
        sentence: Sentence,
        score: Score,
        scored: Scored | None = None,
        *,
        fixed: Mapping[int, str] = _NO_LABELS,
        reasons: bool = True,
    ) -> tuple[Scored, Parse, bool]:
        """Find the best valid trees with labels, over more arcs as long as there are too few.

        A tree that breaks rules is proved to be the best one only over all arcs; also returns True
        if no arc was pruned.
        """
        if self.takes_all_arcs:
            scored = score(0, None)
            best = self.label(scored, self.solver(scored)(scored.problem), fixed)
            best = self._with_faults(scored, best)
            if not any(best.faults):
                return scored, best, True
            scored = None  # rules need labels, which likely arcs have
        looser = self.pruning(sentence.n_words)
        prune, margin = next(looser)
        if scored is None:
            scored = score(prune, margin)
        best = self._valid(scored, fixed, explain=reasons and prune == 0)
        complete = prune == 0
        for prune, margin in looser:
            if not self._lacks_trees(best, fixed):
                break
            try:
                more = score(prune, margin)
                spent = best.solution.work
                again = self._valid(more, fixed, spent, explain=reasons and prune == 0)
            except ProblemError:  # too many arcs or parts for memory
                break
            is_limited = again.solution.status not in ("optimal", "gap", "infeasible")
            if len(best.solution) and _merit(again) < _merit(best, is_limited):
                break
            scored, best, complete = more, again, prune == 0
        solution = best.solution
        if self.edges and self.families == (self.edges,) and not len(solution):
            raise self.edges.no_tree(sentence, solution)
        if self.families and not len(solution):
            names = ", ".join(repr(one.name) for one in self.families)
            raise FactorError(
                f"{sentence.source or 'input'}, {sentence.name}: the tree families {names} allow"
                f" none of the {int(solution.stats.get('trees_scored', 0))} trees scored"
                f" ({solution.status}): prune less, or relax them"
            )
        if not complete and len(solution) and self._lacks_trees(best, fixed):
            best = best._replace(solution=solution.stopped("work_limit", any(best.faults)))
        elif self.families and any(best.faults[:1]) and solution.proved[0]:
            # The families may give a tree with fewer faults less than these faults cost.
            best = best._replace(solution=solution.stopped("gap", unproved=True))
        if self.edges is not None:
            (graphs,) = graphs_of([best], self.edges.enhancer)
            edges = named_edges(sentence, self.edges.key)
            have_edges = all(has_edges(graph, edges) for graph in graphs)
            if not have_edges or id(scored.sentence) in self.edges.in_doubt:
                best = best._replace(solution=best.solution.stopped("gap", unproved=True))
            self.edges.in_doubt.discard(id(scored.sentence))
        return scored, best, complete

    def _valid(
        self, scored: Scored, fixed: Mapping[int, str], spent: float = 0.0, *, explain: bool
    ) -> Parse:
        """Return the best valid trees with labels over the arcs of a scored sentence."""
        solver, labeller = self.solver(scored), self.model.labeller
        parse = self.label(scored, solver(scored.problem, spent, explain=explain), fixed)
        parse = self._with_faults(scored, parse)
        if self.rules is None or labeller is None or not any(parse.faults):
            return parse
        return valid_parse(
            labeller,
            self.rules,
            solver,
            scored,
            parse,
            k_best=self.options.k_best,
            deadline=self.deadline,
            fixed=fixed,
        )

    def _with_faults(self, scored: Scored, parse: Parse) -> Parse:
        """Add the rules that each tree breaks; trees that are not checked in time are left out."""
        if self.rules is None or self.model.labeller is None:
            return parse
        ruled, projective = RuledSentence(self.rules, scored.sentence), scored.problem.projective
        rows = zip(parse.solution.heads[:, 1:].tolist(), parse.labels)
        faults = [ruled.faults(*row, projective) for row in self.deadline.through(rows)]
        return parse.first(len(faults))._replace(faults=faults)

    def label(
        self, scored: Scored, solution: Solution, fixed: Mapping[int, str] = _NO_LABELS
    ) -> Parse:
        """Return a solution with the labels of its trees."""
        labeller = self.model.labeller
        if labeller is None:
            return Parse(scored.sentence, solution, [])
        names = []
        for heads, arcs in self.deadline.through(zip(solution.heads, solution.arcs)):
            labels = best_labels(labeller.labels, labeller.tree_scores(scored, heads, arcs))
            for m, label in fixed.items():
                labels[m - 1] = label
            names.append(labels)
        return Parse(scored.sentence, solution.first(len(names)), names)

    def _lacks_trees(self, parse: Parse, fixed: Mapping[int, str]) -> bool:
        """Return True if more arcs may have more valid trees, or one that breaks fewer rules."""
        if parse.solution.status not in ("optimal", "gap"):
            return parse.solution.status == "infeasible"
        if self.rules is None or not any(parse.faults[:1]):
            return len(parse.solution) < self.options.k_best
        entries = self.rules.entries
        return any(
            entries[fault.entry].rule.unless is not None or not fixed.keys() >= {*fault.arcs}
            for fault in parse.faults[0]
        )

    def with_confidence(self, scored: Scored, parse: Parse) -> Parse:
        """Return a parse with the probabilities of its arcs and trees, if they are requested."""
        if self.calibration is None:
            return parse
        trees = zip(parse.solution.arcs, parse.labels or [[]] * len(parse.solution))
        confidences = [
            self.calibration(evidence_of(self.model, scored, arcs, labels))
            for arcs, labels in self.deadline.through(trees)
        ]
        return parse.first(len(confidences))._replace(confidences=confidences)


def _merit(parse: Parse, is_limited: bool = False) -> tuple[int, int, bool]:
    """Rank parses by the number of trees that break no rule, then by the faults of the first.

    Of two that are equal, the one over more arcs is better, unless its search `is_limited`.
    """
    n_valid = len(parse.solution) - sum(map(bool, parse.faults))
    return n_valid, -sum(map(len, parse.faults[:1])), is_limited
