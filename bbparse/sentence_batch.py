"""Sentences on their way through a parser, a few at a time and step by step.

Each step (candidates, the guide's marks, scores, factors, search, labels) reads tables of its own,
of up to tens of megabytes, and code of its own. Taking some dozens of sentences through one step
before the next keeps these in the caches: a fifth of the time of a sentence by itself. What comes
out is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ProblemError
from bbparse.factors import FactorView, alive_counts, alive_factors
from bbparse.problem import Problem
from bbparse.scoring.encode import encode
from bbparse.scoring.labeller import NO_MARKS
from bbparse.scoring.marginals import arcs_in_trees
from bbparse.scoring.marks import steps_of, sure_marks
from bbparse.scoring.scorer import PartScores
from bbparse.treebank.sections import SECTION_WORDS

if TYPE_CHECKING:
    from bbparse.parser import Parser
    from bbparse.problem import Solution
    from bbparse.treebank import Sentence

Ints = NDArray[np.int32]

__all__ = ["MAX_PARTS", "Work", "chunks", "name_arcs", "prepare", "score_all", "view_of"]

# Candidate parts that a sentence may have before memory is in danger (24 bytes each and more).
MAX_PARTS = 60_000_000
#: Words that a batch may have together, unless it is a single sentence: their scored parts are in
#: memory at the same time.
_BATCH_WORDS = SECTION_WORDS


class Work:
    """What is known of a sentence so far.

    Attributes
    ----------
    sentence : Sentence
    values : uint64[...]
        As `encode` gives them.
    arc_head, arc_mod : int32[A]
    marks : uint16[n+1, n+1] or None
        The guide's.
    problem : Problem
    """

    __slots__ = ("arc_head", "arc_mod", "marks", "parts", "problem", "sentence", "values")

    arc_head: NDArray[np.int32]
    arc_mod: NDArray[np.int32]
    marks: NDArray[np.uint16] | None
    parts: PartScores
    problem: Problem

    def __init__(self, sentence: Sentence, values: NDArray[np.uint64]) -> None:
        self.sentence = sentence
        self.values = values
        self.marks = None


def chunks(sentences: Iterable[Sentence], together: bool = True) -> Iterator[list[Sentence]]:
    """Sentences in batches; one by one, if they are not to be taken together.

    Where the sentences end in an error, those before it come first.
    """
    chunk: list[Sentence] = []
    words = 0
    source = iter(sentences)
    while True:
        try:
            sentence = next(source)
        except StopIteration:
            break
        except Exception:
            if chunk:
                yield chunk
            raise
        if chunk and (not together or words + sentence.n_words > _BATCH_WORDS):
            yield chunk
            chunk, words = [], 0
        chunk.append(sentence)
        words += sentence.n_words
    if chunk:
        yield chunk


def prepare(
    parser: Parser, sentences: Sequence[Sentence], prune: int | None, margin: float | None
) -> list[Work]:
    """The scored problems of sentences; see `Parser.problem`."""
    if prune is not None and prune < 0:
        raise ProblemError(f"prune is {prune}, expected 0 (all arcs) or more")
    batch = [Work(sentence, encode(sentence)) for sentence in sentences]
    for work in batch:
        work.arc_head, work.arc_mod = parser.pruner.candidates(work.values, prune, margin)
    if prune != 0:
        if parser.guide is not None:  # an arc's odds are those against all candidates
            for work in batch:
                work.marks = parser.guide.marks(work.values, work.arc_head, work.arc_mod)
        single_root = parser.config.model.single_root
        least = parser.config.guide.least if margin is None else 0
        for work in batch:
            work.arc_head, work.arc_mod = _in_trees(work, least, single_root)
    return score_all(parser, batch)


def _in_trees(work: Work, least: int, single_root: bool) -> tuple[Ints, Ints]:
    """Candidate arcs that some tree has, of those the guide finds likely if these have a tree."""
    n, head, mod = work.sentence.n_words, work.arc_head, work.arc_mod
    if least and work.marks is not None:
        likely = steps_of(work.marks[head, mod]) >= least
        found = arcs_in_trees(n, head[likely], mod[likely], single_root)
        if len(found[0]):
            return found
    found = arcs_in_trees(n, head, mod, single_root)
    return found if len(found[0]) else (head, mod)


def score_all(parser: Parser, batch: list[Work]) -> list[Work]:
    """Problems over candidate arcs, sorted by (head, mod); see `Parser.score_arcs`."""
    single_root = parser.config.model.single_root
    for work in batch:
        _check_size(work)
    if parser.guide is not None:
        for work in batch:
            if work.marks is None:
                work.marks = parser.guide.marks(work.values, work.arc_head, work.arc_mod)
    for work in batch:
        work.parts = parser.scorer.score(
            work.values, work.arc_head, work.arc_mod, True, single_root, work.marks, frozen=True
        )
    if not parser.families or not len(parser.table):
        for work in batch:
            _set_problem(parser, work, {})
        return batch
    for work in batch:
        # The view has copies of the arcs: those of the problem become read-only.
        view = FactorView(
            work.sentence, work.arc_head, work.arc_mod, work.values, work.marks, label_names(parser)
        )
        _set_problem(parser, work, _factors(parser, view))
    return batch


def _check_size(work: Work) -> None:
    n, n_arcs = work.sentence.n_words, len(work.arc_head)
    per_word = n_arcs / n
    if n_arcs * per_word * (1.0 + per_word / 4.0) > MAX_PARTS:
        s = work.sentence
        raise ProblemError(
            f"{s.source or 'input'}, {s.name}: {n} words with "
            f"{per_word:.0f} candidate heads each are too many parts for memory; prune more"
        )


def _set_problem(parser: Parser, work: Work, factors: dict[str, Any]) -> None:
    work.problem = Problem.trusted(
        work.sentence.n_words, work.arc_head, work.arc_mod, **work.parts._asdict(),
        single_root=parser.config.model.single_root, quantum=parser.quantum, **factors,
    )  # fmt: skip


def _factors(parser: Parser, view: FactorView) -> dict[str, Any]:
    """The fields of a problem that the families fill."""
    factors = alive_factors(parser.families, view, parser.table)
    found: dict[str, Any] = {
        "factor_ptr": factors.ptr, "factor_arcs": factors.arcs, "factor_score": factors.scores
    }  # fmt: skip
    counts = alive_counts(parser.families, view, parser.table)
    if counts is not None:
        found.update(
            count_ptr=counts.ptr, count_arcs=counts.arcs,
            count_score_ptr=counts.score_ptr, count_score=counts.scores,
        )  # fmt: skip
    return found


def view_of(
    parser: Parser,
    sentence: Sentence,
    problem: Problem,
    values: NDArray[np.uint64] | None = None,
    arcs: NDArray[np.int64] | None = None,
    marks: NDArray[np.uint16] | None = None,
) -> FactorView:
    """What families see of a sentence's problem; see `Parser.view_of`."""
    chosen: NDArray[np.int64] | slice = slice(None) if arcs is None else arcs
    head, mod = problem.arc_head[chosen], problem.arc_mod[chosen]
    if marks is None and parser.guide is not None:  # labels do not depend on the other arcs
        values = encode(sentence) if values is None else values
        marks = parser.guide.marks(values, head.copy(), mod.copy())
    return FactorView(sentence, head, mod, values, marks, label_names(parser))


def label_names(parser: Parser) -> Sequence[str]:
    """The guide's labels in order, none without a guide."""
    return () if parser.guide is None else parser.guide.labels


def name_arcs(parser: Parser, work: Work, solution: Solution) -> None:
    """Find the labels of a solution's trees, for `Parser.labels_of` to look up."""
    labeller = parser.labeller
    if labeller is None or (labeller.guided and work.marks is None):
        return
    marks = NO_MARKS if work.marks is None else sure_marks(work.marks)
    names = [labeller.name(work.values, heads, marks) for heads in solution.heads]
    solution.__dict__["_names"] = names
