"""`ModelScores`: a model's scores of all labelled arcs, for `bbparse.parser.validity.repair`."""

from __future__ import annotations

from typing import cast

import numpy as np

from bbparse.core import Problem
from bbparse.models.scoring.candidates import all_arcs
from bbparse.models.scoring.linear import LinearScorer
from bbparse.models.scoring.problem_maker import Scored
from bbparse.parser.parser import Parser
from bbparse.runtime.arrays import Float64s
from bbparse.runtime.errors import ModelError
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode


class ModelScores:
    """Log-probabilities of labelled arcs: of the head among all heads, and of the label.

    Parts and factors are ignored. Templates score labels in the sentence's own tree.
    """

    def __init__(self, parser: Parser) -> None:
        if parser.model.labeller is None:
            raise ModelError("the model has no labels, expected one that was trained with labels")
        self.maker, self.labeller = parser.model.maker, parser.model.labeller
        self.tagged = parser.tagged
        self.labels = parser.model.labeller.labels

    def __call__(self, sentence: Sentence) -> Float64s:
        """Return log-probabilities by dependent, head and label, float64[n + 1, n + 1, L]."""
        sentence = self.tagged(sentence)
        n, maker = sentence.n_words, self.maker
        head, mod = all_arcs(n, n)
        labels = np.zeros((n + 1, n + 1, len(self.labels)))
        known = maker.scores([sentence])
        if known is not None:
            (scores,) = known.sentences()
            arcs = scores.scores.astype(np.float64)
            labels[mod, head] = scores.label_scores(head, mod)
        else:
            pruner = cast(LinearScorer, maker.pruner)  # templates come with a pruner
            values = encode(sentence)
            arcs = pruner.score_all_arcs(values)
            scored = Scored(sentence, values, Problem.from_arc_scores(np.zeros((n + 1, n + 1))))
            tree = np.maximum([0, *sentence.heads], 0).astype(np.int32)
            labels[mod, head] = self.labeller.scores_around(scored, tree, head, mod)
        arcs[:, 0] = 0.0
        of_heads: Float64s = arcs.T - np.logaddexp.reduce(arcs.T, axis=1, keepdims=True)
        of_labels: Float64s = labels - np.logaddexp.reduce(labels, axis=2, keepdims=True)
        return of_heads[:, :, None] + of_labels
