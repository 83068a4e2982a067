"""`Parser`: sentence → problem → solution → trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.errors import BBParseError, ModelError
from bbparse.factors import FactorFamily, FactorTable, FactorView
from bbparse.in_order import in_order
from bbparse.problem import Problem, Solution
from bbparse.scoring.encode import encode
from bbparse.scoring.labeller import Labeller
from bbparse.scoring.network import Network
from bbparse.scoring.pruner import Pruner
from bbparse.scoring.scorer import PartScorer
from bbparse.sentence_batch import Work, chunks, name_arcs, prepare, score_all, view_of
from bbparse.solve import solve
from bbparse.treebank import Sentence
from bbparse.treebank.columns import has_tags

if TYPE_CHECKING:
    from bbparse.tagging.tagger import Tagger


@dataclass(frozen=True, slots=True)
class ScoredTree:
    """One tree of a sentence.

    Attributes
    ----------
    heads : tuple of int, length n
        Head of each word, 0 for the root.
    score : float
        φ of the tree.
    upper_bound : float
        No tree of this rank scores more.
    proved : bool
        Whether this is proved to be the tree of its rank.
    labels : tuple of str, length n
        Label of the arc to each word; empty where the parser has no labels.
    """

    heads: tuple[int, ...]
    score: float
    upper_bound: float
    proved: bool
    labels: tuple[str, ...] = ()


class Parser:
    """A trained parser. Nothing in it changes while it parses, so threads may share it.

    Parameters
    ----------
    config : Configuration
    pruner : Pruner
    scorer : PartScorer
        Backbone templates and weights.
    families : sequence of FactorFamily
    table : FactorTable
        Weights of the factors' features.
    notes : dict
        What is worth knowing about the training; saved with the model.
    labeller : Labeller, optional
        Names the arcs of the trees found.
    guide : Network, optional
        Whose opinion on the candidate arcs the templates build on.
    tagger : Tagger, optional
        Gives words their tags where the input has none; see :meth:`tagged`.
    quantum : float, optional
        All scores, those of factors too, are multiples of it; the scorer's by default.
    """

    def __init__(
        self,
        config: Configuration,
        pruner: Pruner,
        scorer: PartScorer,
        families: Sequence[FactorFamily] = (),
        table: FactorTable | None = None,
        notes: dict[str, Any] | None = None,
        labeller: Labeller | None = None,
        guide: Network | None = None,
        tagger: Tagger | None = None,
        quantum: float | None = None,
    ) -> None:
        self.config = config
        self.pruner = pruner
        self.scorer = scorer
        self.families = list(families)
        self.table = FactorTable(np.zeros(0, np.uint64)) if table is None else table
        self.notes = dict(notes or {})
        self.labeller = labeller
        self.guide = guide
        self.tagger = tagger
        self.quantum = scorer.quantum if quantum is None else quantum

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        factors: Iterable[type[FactorFamily] | FactorFamily] = (),
    ) -> Parser:
        """Read a model file.

        Parameters
        ----------
        path : path
        factors : iterable of families, optional
            Families the model was trained with that are not installed as plug-ins.

        Raises
        ------
        ModelError
            If the file is missing, truncated, no model, or of a newer version.
        FactorError
            If a family the model needs is neither installed nor given.
        """
        from bbparse.model.file import load_parser

        return load_parser(path, factors)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, whole or not at all."""
        from bbparse.model.file import save_parser

        save_parser(self, path)

    @classmethod
    def train(
        cls,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] = (),
        config: Configuration | str = "english",
        **options: Any,
    ) -> Parser:
        """Train a parser; see :func:`bbparse.learning.train.train`."""
        from bbparse.learning.train import train

        if isinstance(config, str):
            config = Configuration.load(config)
        return train(list(sentences), list(dev), config, **options)

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
            if not self.notes.get("tagged", True):
                return sentence
            raise ModelError(
                f"{sentence.source or 'input'}, {sentence.name}: the words have no tags, and the"
                " model has no tagger: tag them with 'bbparse tag', or put a tagger into the model"
                " with 'bbparse bundle'"
            )
        return self.tagger(sentence)

    def problem(
        self,
        sentence: Sentence,
        prune: int | None = None,
        margin: float | None = None,
    ) -> Problem:
        """The scored problem of a sentence.

        Parameters
        ----------
        sentence : Sentence
        prune : int, optional
            Most heads of a word, instead of the model's; 0: all arcs.
        margin : float, optional
            Largest log-odds of a candidate head against the word's best, instead of the model's.

        Raises
        ------
        ProblemError
            If so many arcs are left that the parts would not fit into memory, or ``prune`` is
            negative.
        """
        return prepare(self, [sentence], prune, margin)[0].problem

    def score_arcs(
        self,
        sentence: Sentence,
        values: NDArray[np.uint64],
        arc_head: NDArray[np.int32],
        arc_mod: NDArray[np.int32],
        marks: NDArray[np.uint16] | None = None,
    ) -> Problem:
        """The problem over given candidate arcs, sorted by (head, mod).

        ``marks`` are the guide's (for training sentences, those of one that did not see them);
        where they are not given, the guide is asked.
        """
        work = Work(sentence, values)
        work.arc_head, work.arc_mod, work.marks = arc_head, arc_mod, marks
        return score_all(self, [work])[0].problem

    def view_of(
        self,
        sentence: Sentence,
        problem: Problem,
        values: NDArray[np.uint64] | None = None,
        arcs: NDArray[np.int64] | None = None,
        marks: NDArray[np.uint16] | None = None,
    ) -> FactorView:
        """What families see of a sentence's problem: its arcs, with labels if they have them.

        ``arcs`` are the indices of some of them, ascending; all by default. ``marks`` are the
        guide's (for training sentences, those of one that did not see them); it is asked where
        they are not given.
        """
        return view_of(self, sentence, problem, values, arcs, marks)

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
        wider: list[tuple[int | None, float | None]] = [(prune, None)]
        if k_best > 1 and prune != 0:
            # all arcs of a long sentence are too many; ten heads a word hold more than k trees
            wider += [(prune, np.inf), (10, np.inf), (0, None)]
        for heads, margin in wider:
            problem = self.problem(sentence, heads, margin)
            solution = self.solve_problem(problem, k_best, time_limit, node_limit)
            if len(solution) >= k_best or solution.status != "optimal":
                break
        return solution

    def solve_problem(
        self, problem: Problem, k_best: int, time_limit: float | None, node_limit: int | None
    ) -> Solution:
        """The solution of a problem that `problem` made, by the search the model is set up for."""
        return solve(
            problem,
            k_best=k_best,
            time_limit=time_limit,
            node_limit=node_limit,
            backbone=self.config.model.backbone,
            settings=self.config.search,
        )

    def _solve_together(
        self,
        sentences: list[Sentence],
        *,
        k_best: int = 1,
        prune: int | None = None,
        time_limit: float | None = None,
        node_limit: int | None = None,
    ) -> list[Solution]:
        """What `solve` gives for each of the sentences, with the labels of the trees found."""
        batch = prepare(self, sentences, prune, None)
        solutions = [
            self.solve_problem(work.problem, k_best, time_limit, node_limit) for work in batch
        ]
        for i, work in enumerate(batch):
            if len(solutions[i]) < k_best and solutions[i].status == "optimal":
                solutions[i] = self.solve(
                    work.sentence, k_best=k_best, prune=prune, time_limit=time_limit,
                    node_limit=node_limit,
                )  # fmt: skip
            else:
                name_arcs(self, work, solutions[i])
        return solutions

    def parse(
        self,
        sentence: Sentence,
        *,
        k_best: int = 1,
        prune: int | None = None,
        time_limit: float | None = None,
        node_limit: int | None = None,
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
        time_limit : float, optional
            Seconds for the search.
        node_limit : int, optional
            Nodes for the search.
        """
        solution = self.solve(
            sentence, k_best=k_best, prune=prune, time_limit=time_limit, node_limit=node_limit
        )
        return self.scored_trees(sentence, solution)

    def scored_trees(self, sentence: Sentence, solution: Solution) -> list[ScoredTree]:
        """The trees of a sentence's solution as plain records, with labels."""
        labels = [
            tuple(self.labels_of(sentence, solution, k) or ()) for k in range(len(solution))
        ]
        return trees_of(solution, labels)

    def labels_of(self, sentence: Sentence, solution: Solution, k: int = 0) -> list[str] | None:
        """Labels of the k-th tree of a solution of `solve`; None without labels."""
        names: list[list[str]] | None = solution.__dict__.get("_names")
        if names is not None:
            return list(names[k])
        return self.labels(sentence, solution.heads[k])

    def labels(self, sentence: Sentence, heads: NDArray[np.int32]) -> list[str] | None:
        """Labels of the arcs of a tree, int[n+1] with element 0 not read; None without labels."""
        if self.labeller is None:
            return None
        values = encode(sentence)
        marks = None
        if self.guide is not None and self.labeller.guided:
            tree = np.array(heads[1:], np.int32)
            marks = self.guide.marks(values, tree, np.arange(1, len(heads), dtype=np.int32))
        return self.labeller.label(values, heads, marks)

    def parse_all(
        self, sentences: Iterable[Sentence], *, threads: int = 1, **options: Any
    ) -> Iterator[tuple[Sentence, Solution]]:
        """Solutions of many sentences, in their order, whatever the number of threads.

        Parameters
        ----------
        sentences : iterable of Sentence
            Read a little ahead only.
        threads : int
            Batches of sentences that are parsed at the same time. Threads take turns in Python, a
            fifth of the work; ``bbparse parse`` has processes instead.
        options
            As for :meth:`solve`.
        """
        batches = chunks(sentences, together=options.get("prune") != 0)
        for batch, found, error in in_order(partial(self._tried, options), batches, threads):
            yield from zip(batch, found)
            if error is not None:
                raise error

    def _tried(
        self, options: dict[str, Any], batch: list[Sentence]
    ) -> tuple[list[Sentence], list[Solution], Exception | None]:
        """A batch with its solutions up to the first sentence that fails, and its error."""
        try:
            return batch, self._solve_together(batch, **options), None
        except (BBParseError, MemoryError):  # which of them it was shows one by one
            found: list[Solution] = []
            try:
                for sentence in batch:
                    found.append(self.solve(sentence, **options))
            except (BBParseError, MemoryError) as error:  # after the sentences before it
                return batch, found, error
            return batch, found, None


def trees_of(
    solution: Solution, labels: Sequence[tuple[str, ...]] | None = None
) -> list[ScoredTree]:
    """The trees of a solution as plain records, with the labels of each if they are given."""
    rows = zip(
        solution.heads[:, 1:].tolist(), solution.scores.tolist(), solution.upper_bounds.tolist(),
        solution.proved.tolist(), labels or [()] * len(solution),
    )  # fmt: skip
    return [
        ScoredTree(tuple(heads), score, bound, proved, own)
        for heads, score, bound, proved, own in rows
    ]
