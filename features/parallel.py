"""Parallel structure: modifiers that a word and its conjunct have in common.

*He came and he saw*, *in A and in B*, *$ 5 for A, $ 6 for B*: where two words are joined, they tend
to have modifiers of one kind. The two modifiers are as far apart as can be in the tree's terms, so
that no part of a backbone sees both. What kind a modifier is, the network's labels say.
"""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import FactorView, TemplateFamily
from bbparse.models.factors.view import MAX_LABEL

_JOINS = frozenset(("conj", "appos", "parataxis", "list"))


@lru_cache(maxsize=8)
def _joining(names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return, for each number of a label, True if the label joins parallel phrases."""
    joins = np.zeros(MAX_LABEL + 1, np.bool_)
    joins[1 : len(names) + 1] = [name in _JOINS for name in names]
    return joins


class ParallelLabels(TemplateFamily):
    """Two words that are joined, and a modifier of each, both by one label.

    Joined are words with an arc from one to the other that the network would label conj, appos,
    parataxis or list (Universal Dependencies).
    """

    name = "parallel-labels"
    summary = "modifiers with the same label of a word and its conjunct"
    arcs = ("h m", "h s", "m c")
    templates = (
        "@m",
        "@s h.xpos m.xpos",
        "@m @s",
        "@m @s h.upos m.upos",
        "@m @s s.upos c.upos",
        "@m @s s.xpos c.xpos",
        "@m s.lexpos c.lexpos",
    )
    order: ClassVar = {"h m": 8, "h s": 4, "m c": 2, "s = c": 1}
    alike = "s"

    def first_arcs(self, view: FactorView) -> NDArray[np.int64]:
        of_root = int(view.head_ptr[1])
        joined = _joining(tuple(view.label_names))[view.arc_labels[of_root:]]
        return np.flatnonzero(joined) + of_root
