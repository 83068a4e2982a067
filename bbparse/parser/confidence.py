"""Calibrated confidence: the probability that an arc or a tree is right.

The max-marginal gap of an arc is the score of its tree minus that of the best tree without it. One
inside-outside pass of the dynamic program bounds the gaps of all arcs of a sentence. The pass holds
no factors: scores of arcs replace them, with the same sum in the tree itself and at least their sum
in any other. So the gap is at least what the pass finds. Count factors are left out, and in
non-projective trees all factors; there the result is an estimate.

A logistic regression maps the gaps and the network's log-odds of heads and labels to probabilities:
that head and label are right, that the head is this one or the second best, and that the whole tree
is right. It is fitted to a treebank that the parser was not trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.core.order import sort_arcs
from bbparse.inference.search.marginals import max_marginals
from bbparse.models.model import Model
from bbparse.models.scoring.problem_maker import Scored
from bbparse.runtime.arrays import Flags, Float64s, Ints, Longs
from bbparse.runtime.errors import ModelError, TreebankError
from bbparse.treebank import Sentence

#: Key of the calibration among the notes of a model.
NOTE = "confidence"
#: Thresholds at which gaps are clipped, one feature each: gaps saturate at
#: the last knot.
KNOTS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
#: Log-probabilities of heads that separate the steps. From the third on each step is a feature.
_ODDS = np.log([0.001, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999])
STEPS = np.arange(3, 12)
#: Fewest arcs to fit a calibration to: fewer contain too few wrong ones.
FEWEST = 1000
#: Most rounds of Newton's method.
_ROUNDS = 30


class Confidences(NamedTuple):
    """Probabilities of being right, as in `ScoredTree`."""

    confidences: tuple[float, ...]  #: For each arc, with its label if there are labels.
    confidence: float  #: For the whole tree.
    runner_up_heads: tuple[int, ...] = ()  #: Each word's second-best head, -1 if there is none.
    top2_probabilities: tuple[float, ...] = ()  #: That the head or the runner-up is right.


class Evidence(NamedTuple):
    """Calibration features of the arcs of a tree, float64[n, c], and the runner-up heads."""

    columns: Float64s
    runner_ups: Longs


class GoldEvidence(NamedTuple):
    """Calibration features of a tree's arcs, and whether the arc, or a top-2 head, is right."""

    evidence: Evidence
    right: Flags
    top2: Flags


def gap_bounds(problem: Problem, arcs: Ints) -> tuple[Float64s, Longs]:
    """Bound the max-marginal gaps of a tree's arcs (a row of `Solution.arcs`), without labels.

    Returns the bounds, float64[n], inf for an arc of every tree, and the heads in the best trees
    without the arcs, int64[n], -1 for none.
    """
    p, order = sort_arcs(problem)
    if order is not None:
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        arcs = place[arcs]
    each, score = max_marginals(p, arcs)
    each[arcs] = -np.inf
    best = np.argsort(each, kind="stable")  # the best arc into a word comes last
    others, runner_ups = np.full(p.n_words + 1, -np.inf), np.full(p.n_words + 1, -1)
    others[p.arc_mod[best]] = each[best]
    runner_ups[p.arc_mod[best]] = p.arc_head[best]
    runner_ups[others == -np.inf] = -1
    return score - others[1:], runner_ups[1:]


def evidence_of(model: Model, scored: Scored, arcs: Ints, labels: Sequence[str]) -> Evidence:
    """Return the calibration features of the arcs of a tree."""
    gaps, runner_ups = gap_bounds(scored.problem, arcs)
    heads = scored.problem.arc_head[arcs]
    n = len(arcs)
    clipped = np.minimum(np.maximum(gaps[:, None], -KNOTS), KNOTS)
    largest = clipped[:, -1]
    columns = [
        np.ones((n, 1)),
        clipped,
        np.append(KNOTS[-1], largest)[heads],
        np.full(n, largest.min()),
        np.full(n, np.log(n)),
    ]
    if scored.scores is not None:
        odds = scored.scores.log_probabilities(scored.problem.arc_head, scored.problem.arc_mod)
        steps = np.searchsorted(_ODDS, odds)
        columns.append(steps[arcs][:, None] == STEPS)
        steps[arcs] = -1
        others = np.full(n + 1, -1)  # steps of the best other head
        np.maximum.at(others, scored.problem.arc_mod, steps)
        columns.append(others[1:] / 4.0)
    if model.labeller is not None:
        scores = model.labeller.tree_scores(scored, np.append(np.int32(0), heads))
        number = {label: i for i, label in enumerate(model.labeller.labels)}
        chosen = scores[np.arange(n), [number.get(label, 0) for label in labels]]
        probability = np.exp(chosen - np.logaddexp.reduce(scores, axis=1))
        probability = np.minimum(np.maximum(probability, 1e-4), 1 - 1e-4)
        columns += [np.log(probability), np.log(probability / (1.0 - probability))]
    return Evidence(np.column_stack(columns), runner_ups)


def gold_evidence(
    model: Model, scored: Scored, arcs: Ints, labels: Sequence[str], gold: Sentence
) -> GoldEvidence:
    """Return the calibration features of a tree's arcs, and which of them a gold tree has."""
    heads = np.array(gold.heads)
    evidence = evidence_of(model, scored, arcs, labels)
    right = scored.problem.arc_head[arcs] == heads
    top2 = right | (evidence.runner_ups == heads)
    if labels:
        pairs = zip(labels, gold.deprels)
        right &= np.array([a.split(":")[0] == b.split(":")[0] for a, b in pairs])
    return GoldEvidence(evidence, right, top2)


def fit(evidence: Float64s, right: Flags) -> Float64s:
    """Fit a logistic regression by Newton's method with a small ridge penalty: float64[columns]."""
    weights = np.zeros(evidence.shape[1])
    shrink = 0.1 * np.eye(evidence.shape[1])
    for _ in range(_ROUNDS):
        predicted = probabilities(evidence, weights)
        gradient = evidence.T @ (right - predicted) - shrink @ weights
        hessian = (evidence * (predicted * (1.0 - predicted))[:, None]).T @ evidence + shrink
        step = np.linalg.solve(hessian, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def probabilities(evidence: Float64s, weights: Float64s) -> Float64s:
    """Return the probabilities of a logistic regression, float64[rows]."""
    return 1.0 / (1.0 + np.exp(-np.clip(evidence @ weights, -30.0, 30.0)))


def _tree_evidence(arcs: Float64s) -> Float64s:
    """Return the features of a tree, float64[columns], from the probabilities of its arcs."""
    surprise = -np.log(np.clip(arcs, 1e-6, 1.0))
    return np.array([1.0, surprise.sum(), surprise.max(), np.sqrt(surprise.sum())])


@dataclass(frozen=True)
class Calibration:
    """Weights of the logistic regressions from features to probabilities, float64[columns] each."""

    arc: Float64s
    top2: Float64s
    tree: Float64s

    @classmethod
    def of(cls, model: Model) -> Calibration:
        """Load the calibration of a model; raises `ModelError` if it has none."""
        note = model.notes.get(NOTE)
        if note is None or "either" not in note:
            raise ModelError(
                "the model has no calibrated confidence: calibrate it with 'bbparse calibrate'"
            )
        return cls(*(np.array(note[name]) for name in ("arc", "either", "tree")))

    @classmethod
    def fitted(cls, rows: Iterable[GoldEvidence]) -> Calibration:
        """Fit a calibration to trees; raises `TreebankError` if there are none."""
        trees = list(rows)
        if not trees:
            raise TreebankError("there are no trees to calibrate on")
        columns = [row.evidence.columns for row in trees]
        together = np.concatenate(columns)
        arc = fit(together, np.concatenate([row.right for row in trees]))
        top2 = fit(together, np.concatenate([row.top2 for row in trees]))
        whole = np.stack([_tree_evidence(probabilities(row, arc)) for row in columns])
        return cls(arc, top2, fit(whole, np.array([row.right.all() for row in trees])))

    def note(self) -> dict[str, Any]:
        """Return the weights as a model file stores them."""
        return {"arc": self.arc.tolist(), "either": self.top2.tolist(), "tree": self.tree.tolist()}

    def __call__(self, evidence: Evidence) -> Confidences:
        """Return the probabilities of the arcs of a tree and of the tree."""
        arcs = probabilities(evidence.columns, self.arc)
        top2 = np.maximum(arcs, probabilities(evidence.columns, self.top2))
        runner_ups, both = evidence.runner_ups.tolist(), top2.tolist()
        return Confidences(tuple(arcs.tolist()), self.of_tree(arcs), tuple(runner_ups), tuple(both))

    def of_tree(self, arcs: Float64s) -> float:
        """Return the probability that a tree is right, from those of its arcs, float64[n]."""
        return float(min(probabilities(_tree_evidence(arcs)[None], self.tree)[0], arcs.min()))
