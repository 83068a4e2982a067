"""Kernel of the loss of gold trees: their probability among all trees over candidate arcs."""

from __future__ import annotations

import numpy as np

from bbparse.inference.oracles.projective.recurrences import GRANDSIB
from bbparse.inference.oracles.projective.sums import gold_parts, log_sum, tree_chart
from bbparse.models.scoring.candidates import prune_arcs
from bbparse.models.scoring.part_kernels import part_scores, part_scores_back
from bbparse.runtime.jit import kernel

_GRANDSIB = GRANDSIB.mode
# Candidates of the trees in the loss: heads per word, and score margin. Every `_WIDE`th sentence
# has no margin: parts of unlikely arcs must learn that they are unlikely, or they mislead a search
# without pruning.
_K, _MARGIN, _WIDE = 8, 6.0, 8


@kernel
def _minus_gold(part, gold, d_part, unit):
    """Return the score of the gold parts; make marginals the gradient of the loss times `unit`."""
    score = 0.0
    for i in range(part.shape[0]):
        if gold[i]:
            score += part[i]
            d_part[i] -= 1.0
        d_part[i] *= unit
    return score


@kernel
def trees_loss(layout, heads, single_root, unit, values, gradients):
    """Return the log-loss of gold trees among all projective trees over the candidate arcs.

    ``layout`` has the first row of each sentence, its number of words, root included, and whether
    its tree counts. ``heads`` int32[R] are the gold heads. ``values`` are the scores of all arcs
    (`models.scoring.pair_kernels.pair_scores`), the vectors of endpoints, and for siblings and for
    grandchildren the first column and the weights (`models.scoring.part_kernels.part_scores`).
    The gradients times ``unit`` are added to ``gradients``, alike but without the columns.
    """
    (scores, ends, columns, weights), (d_scores, d_ends, d_weights) = values, gradients
    first, size, counts = layout
    loss, at = 0.0, 0
    for s in range(first.shape[0]):
        n, begin = size[s], first[s]
        square = scores[at : at + n * n].reshape((n, n))
        gradient = d_scores[at : at + n * n].reshape((n, n))
        at += n * n
        if not counts[s]:
            continue
        tree = heads[begin : begin + n]
        head, mod = prune_arcs(square, _K, np.inf if s % _WIDE == 0 else _MARGIN, tree)
        chart = tree_chart(n - 1, head, mod, _GRANDSIB, single_root)
        sib, gc = chart.sib, chart.gc
        words = (sib[0], sib[1], sib[2]), (gc[1], gc[0], gc[2])  # head, third word, modifier
        arc_score = np.empty(head.shape[0])
        for b in range(head.shape[0]):
            arc_score[b] = square[head[b], mod[b]]
        sib_score = part_scores(words[0], ends, begin, columns[0], weights[0])
        gc_score = part_scores(words[1], ends, begin, columns[1], weights[1])
        d_arc, d_sib, d_gc = np.zeros(head.shape[0]), np.zeros(sib.shape[1]), np.zeros(gc.shape[1])
        loss += log_sum(chart, arc_score, sib_score, gc_score, d_arc, d_sib, d_gc)
        gold = gold_parts(tree, head, mod, sib, gc)
        loss -= _minus_gold(arc_score, gold[0], d_arc, unit)
        loss -= _minus_gold(sib_score, gold[1], d_sib, unit)
        loss -= _minus_gold(gc_score, gold[2], d_gc, unit)
        for b in range(head.shape[0]):
            gradient[head[b], mod[b]] += np.float32(d_arc[b])
        for kind, d_part in enumerate((d_sib, d_gc)):
            part_scores_back(
                words[kind],
                ends,
                begin,
                columns[kind],
                weights[kind],
                d_part,
                d_ends,
                d_weights[kind],
            )
    return loss
