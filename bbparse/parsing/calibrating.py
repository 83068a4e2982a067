"""Calibrating a parser: how often its arcs are right, given the evidence on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bbparse.model.model import Model
from bbparse.parsing.confidence import NOTE, Calibration, Judged, evidence_of
from bbparse.parsing.parse import Parse, Wanted
from bbparse.problem import Problem, Solution
from bbparse.scoring.problem_maker import ProblemMaker, Scored, batches
from bbparse.tagging.tagger import Tagger
from bbparse.treebank import Sentence

__all__ = ["calibrate", "judged"]


class Decoder(Protocol):
    """What is calibrated: a `Parser`, which calls `calibrate` itself when it is trained."""

    model: Model
    maker: ProblemMaker
    tagger: Tagger | None

    def tagged(self, sentence: Sentence) -> Sentence: ...

    def wanted(self, valid: None, confidence: bool) -> Wanted: ...

    def solve_problem(self, problem: Problem, **limits: Any) -> Solution: ...

    def finished(
        self, scored: Scored, solution: Solution, wanted: Wanted, limits: dict[str, Any]
    ) -> Parse: ...


def calibrate(parser: Decoder, sentences: Iterable[Sentence]) -> NDArray[np.bool_]:
    """Note in a parser's model how sure it may be; see `judged`.

    Parameters
    ----------
    parser : Parser
    sentences : iterable of Sentence
        Gold trees that it was not trained on.

    Returns
    -------
    bool[arcs]
        Whether each arc is right.
    """
    rows = list(judged(parser, sentences))
    parser.model.notes[NOTE] = Calibration.fitted(rows).note()
    return np.concatenate([one.right for one in rows])


def judged(
    parser: Decoder, sentences: Iterable[Sentence], node_limit: int = 200
) -> Iterator[Judged]:
    """The evidence on the arcs of each sentence's best tree, and whether each is right.

    An arc is right if the head is, and the label without its subtype (of a labelled model).
    """
    limits = {"k_best": 1, "time_limit": None, "node_limit": node_limit}
    wanted = parser.wanted(None, False)
    for batch in batches(sentences):
        # without a tagger as they are: a sentence without tags does not end a training
        given = batch if parser.tagger is None else [parser.tagged(one) for one in batch]
        for gold, scored in zip(batch, parser.maker(given)):
            solution = parser.solve_problem(scored.problem, **limits)
            found = parser.finished(scored, solution, wanted, limits)
            if not len(found.solution):
                continue
            labels = found.labels[0] if found.labels else []
            heads = np.array(gold.heads)
            right = found.solution.heads[0, 1:] == heads
            evidence = evidence_of(parser.model, scored, found.solution.arcs[0], labels)
            either = right | (evidence.rivals == heads)
            if labels:
                pairs = zip(labels, gold.deprels)
                right &= np.array([a.split(":")[0] == b.split(":")[0] for a, b in pairs])
            yield Judged(evidence, right, either)
