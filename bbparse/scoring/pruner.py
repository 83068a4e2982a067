"""Pre-pruning: a first-order classifier that keeps a few candidate heads for each word.

The classifier is log-linear over the heads of one word, so that score differences are log-odds
and a margin on them means the same everywhere. The arcs of its own best projective tree are always
kept: a candidate set without them may hold no tree at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.problem.quantum import QUANTUM
from bbparse.scoring.candidates import LONG, all_arcs
from bbparse.scoring.scorer import PartScorer, Weights
from bbparse.treebank.encode import PAD

Ints = NDArray[np.int32]

#: Candidate arcs of a long sentence, two a word at least.
MOST_ARCS = 3000


@dataclass(frozen=True, slots=True, eq=False)
class Pruner:
    """Candidate arcs of a sentence, by arc templates and weights of the classifier.

    A word has `k` heads at most (0: all), no log-odds further than `margin` from its best one.
    """

    scorer: PartScorer
    k: int
    margin: float
    single_root: bool = True

    @classmethod
    def of(cls, config: Configuration, weights: Weights, quantum: float = QUANTUM) -> Pruner:
        """As a configuration says, with weights in quanta."""
        scorer = PartScorer(config.pruner_templates, weights, quantum)
        return cls(scorer, config.pruner.k, config.pruner.margin, config.model.single_root)

    def candidates(
        self,
        values: NDArray[np.uint64],
        k: int | None = None,
        margin: float | None = None,
    ) -> tuple[Ints, Ints]:
        """Candidate arcs ``(arc_head, arc_mod)``, int32[A], sorted by (head, mod).

        `k` and `margin` may be others than the pruner's own; its k is less for sentences of more
        than `LONG` words. A k of 0 keeps every arc, whatever the margin.
        """
        n = len(values) - 2 * PAD - 1
        if k is None:
            k = self.k
            if n > LONG and k > 0:  # else their charts are of a size that no limit on work holds
                k = min(k, max(2, MOST_ARCS // n))
        if margin is None:
            margin = self.margin
        if k == 0:
            return all_arcs(n, n)
        return self.scorer.likely_arcs(values, int(k), float(margin), self.single_root)


def with_arcs_of(arc_head: Ints, arc_mod: Ints, heads: Ints) -> tuple[Ints, Ints]:
    """Candidate arcs and those of a tree, int32[n + 1] heads, together, sorted by (head, mod)."""
    n = len(heads) - 1
    keys = arc_head.astype(np.int64) * (n + 1) + arc_mod
    tree = heads[1:].astype(np.int64) * (n + 1) + np.arange(1, n + 1)
    both = np.union1d(keys, tree)
    return (both // (n + 1)).astype(np.int32), (both % (n + 1)).astype(np.int32)
