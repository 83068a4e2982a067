"""How sure a parser is of its arcs: what is lost without them, as chances of being right.

The loss of an arc is the score of its tree minus that of the best tree without it. One inside and
outside pass of the dynamic program finds a bound for all arcs of a sentence: factors, which it does
not hold, are replaced by scores of their arcs that sum up to no less in any tree and to the same in
the tree itself, so that the loss is at least what the pass finds (count factors are left out, and
in crossing trees all parts; there it is an estimate). A logistic regression, fitted to a treebank
that the parser did not see, turns losses, the network's odds of heads and labels into chances: of
head and label, of the head being this one or its best rival, and of the whole tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError, TreebankError
from bbparse.model.model import Model
from bbparse.oracle.trees import Arborescences
from bbparse.problem import Problem
from bbparse.problem.order import in_order
from bbparse.scoring.problem_maker import Scored
from bbparse.solving.marginals import factors_as_arcs, max_marginals
from bbparse.treebank import Sentence

Floats = NDArray[np.float64]

#: The name of a calibration among the notes of a model.
NOTE = "confidence"
#: Losses beyond these say no more.
KNOTS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
#: Probabilities of heads between which steps lie; from the third on each is evidence of its own.
_ODDS = np.log([0.001, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999])
STEPS = np.arange(3, 12)
#: Arcs to learn chances from: with fewer, there are too few wrong ones to tell them by.
FEWEST = 1000
#: Columns of evidence, where a model has all that it is made of.
N_COLUMNS = 7 + len(KNOTS) + len(STEPS)


class Confidences(NamedTuple):
    """Chances of being right."""

    arcs: tuple[float, ...]  #: Of each arc, with its label, if there are labels.
    tree: float  #: Of all.
    rivals: tuple[int, ...] = ()  #: Each word's best other head; -1: it has no other.
    either: tuple[float, ...] = ()  #: The chance that one of the two is right.


class Losses(NamedTuple):
    """For each arc of a tree, what is lost without it."""

    #: float64[n]: a bound; negative for trees that are not the best, inf for an arc of every tree.
    least: Floats
    #: int64[n]: head in the best tree without it, as far as the bound tells; -1: there is none.
    rivals: NDArray[np.int64]


class Evidence(NamedTuple):
    """What is known of the arcs of a tree: float64[n, c], and the rivals of `Losses`."""

    columns: Floats
    rivals: NDArray[np.int64]


class Judged(NamedTuple):
    """Evidence on a tree's arcs, whether each is right, and whether the head or its rival is."""

    evidence: Evidence
    right: NDArray[np.bool_]
    either: NDArray[np.bool_]


def least_losses(problem: Problem, arcs: NDArray[np.int32]) -> Losses:
    """What is lost without the arcs of a tree, a row of `Solution.arcs`; no labels."""
    p, order = in_order(problem)
    if order is not None:
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        arcs = place[arcs]
    if p.projective:
        each, score = max_marginals(p, arcs)
    else:
        own = factors_as_arcs(len(p.arc_head), p.factors, arcs)
        score = float(own[arcs].sum()) + float(p.arc_score[arcs].sum())
        each = Arborescences(p).with_each(own)
    each[arcs] = -np.inf
    best = np.argsort(each, kind="stable")  # the best arc into a word comes last
    others, rivals = np.full(p.n_words + 1, -np.inf), np.full(p.n_words + 1, -1)
    others[p.arc_mod[best]] = each[best]
    rivals[p.arc_mod[best]] = p.arc_head[best]
    rivals[others == -np.inf] = -1
    return Losses(score - others[1:], rivals[1:])


def evidence_of(
    model: Model,
    scored: Scored,
    arcs: NDArray[np.int32],
    labels: list[str],
    label_rows: Floats | None = None,
) -> Evidence:
    """What is known of the arcs of a tree; ``label_rows`` are what
    `Labelling.tree_scores` gives, if known."""
    losses, rivals = least_losses(scored.problem, arcs)
    heads = scored.problem.arc_head[arcs]
    n = len(arcs)
    columns = np.ones((n, N_COLUMNS))
    clipped = columns[:, 1 : 1 + len(KNOTS)]
    np.minimum(np.maximum(losses[:, None], -KNOTS), KNOTS, out=clipped)
    most, used = clipped[:, -1], 1 + len(KNOTS)
    columns[:, used] = np.append(KNOTS[-1], most)[heads]
    columns[:, used + 1] = most.min()
    columns[:, used + 2] = np.log(n)
    used += 3
    if scored.scores is not None:
        odds = scored.scores.log_odds(scored.problem.arc_head, scored.problem.arc_mod)
        steps = np.searchsorted(_ODDS, odds)
        columns[:, used : used + len(STEPS)] = steps[arcs][:, None] == STEPS
        used += len(STEPS)
        steps[arcs] = -1
        others = np.full(n + 1, -1)  # steps of the best other head
        np.maximum.at(others, scored.problem.arc_mod, steps)
        columns[:, used] = others[1:] / 4.0
        used += 1
    if model.labeller is not None:
        if label_rows is None:
            label_rows = model.labeller.tree_scores(scored, np.append(np.int32(0), heads))
        number = {label: i for i, label in enumerate(model.labeller.labels)}
        own = label_rows[np.arange(n), [number.get(label, 0) for label in labels]]
        own = np.exp(own - np.logaddexp.reduce(label_rows, axis=1))
        own = np.minimum(np.maximum(own, 1e-4), 1 - 1e-4)
        columns[:, used] = np.log(own)
        columns[:, used + 1] = np.log(own / (1.0 - own))
        used += 2
    return Evidence(columns[:, :used].copy(), rivals)


def judged(
    model: Model, scored: Scored, arcs: NDArray[np.int32], labels: list[str], gold: Sentence
) -> Judged:
    """What is known of the arcs of a tree, and whether they are those of a gold sentence.

    An arc is right if the head is, and the label without its subtype (of a labelled model).
    """
    heads = np.array(gold.heads)
    evidence = evidence_of(model, scored, arcs, labels)
    right = scored.problem.arc_head[arcs] == heads
    either = right | (evidence.rivals == heads)
    if labels:
        pairs = zip(labels, gold.deprels)
        right &= np.array([a.split(":")[0] == b.split(":")[0] for a, b in pairs])
    return Judged(evidence, right, either)


def fit(evidence: Floats, right: NDArray[np.bool_], rounds: int = 30) -> Floats:
    """Weights of a logistic regression, by Newton's method with a little shrinking, that tells from
    evidence, float64[rows, columns], what is right, bool[rows]."""
    weights = np.zeros(evidence.shape[1])
    shrink = 0.1 * np.eye(evidence.shape[1])
    for _ in range(rounds):
        chance = chances(evidence, weights)
        slope = evidence.T @ (right - chance) - shrink @ weights
        bend = (evidence * (chance * (1.0 - chance))[:, None]).T @ evidence + shrink
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def chances(evidence: Floats, weights: Floats) -> Floats:
    """What a logistic regression makes of evidence."""
    return 1.0 / (1.0 + np.exp(-np.clip(evidence @ weights, -30.0, 30.0)))


def _tree_evidence(arcs: Floats) -> Floats:
    """What the chances of its arcs say of a tree: float64[columns]."""
    surprise = -np.log(np.clip(arcs, 1e-6, 1.0))
    return np.array([1.0, surprise.sum(), surprise.max(), np.sqrt(surprise.sum())])


@dataclass(frozen=True)
class Calibration:
    """From evidence to chances, by the weights of logistic regressions, float64[columns]."""

    arc: Floats
    either: Floats
    tree: Floats

    @classmethod
    def of(cls, model: Model) -> Calibration:
        """That of a model; `ModelError` if it has none."""
        note = model.notes.get(NOTE)
        if note is None or "either" not in note:
            raise ModelError(
                "the model cannot say how sure it is: calibrate it with 'bbparse calibrate'"
            )
        return cls(*(np.array(note[name]) for name in ("arc", "either", "tree")))

    @classmethod
    def fitted(cls, rows: Iterable[Judged]) -> Calibration:
        """Fitted to trees; `TreebankError` if there are none."""
        trees = list(rows)
        if not trees:
            raise TreebankError("there are no trees to learn from how sure a model may be")
        columns = [one.evidence.columns for one in trees]
        together = np.concatenate(columns)
        arc = fit(together, np.concatenate([one.right for one in trees]))
        either = fit(together, np.concatenate([one.either for one in trees]))
        whole = np.stack([_tree_evidence(chances(one, arc)) for one in columns])
        return cls(arc, either, fit(whole, np.array([one.right.all() for one in trees])))

    def note(self) -> dict[str, Any]:
        """What a model keeps of it."""
        return {name: getattr(self, name).tolist() for name in ("arc", "either", "tree")}

    def __call__(self, evidence: Evidence) -> Confidences:
        """Chances of the arcs of a tree, and of the tree."""
        arcs = chances(evidence.columns, self.arc)
        either = np.maximum(arcs, chances(evidence.columns, self.either))
        tree = chances(_tree_evidence(arcs)[None], self.tree)
        rivals, both = evidence.rivals.tolist(), either.tolist()
        return Confidences(tuple(arcs.tolist()), float(tree[0]), tuple(rivals), tuple(both))
