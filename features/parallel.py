"""Parallel structure: what a word and its conjunct (or the like) both have.

*He came and he saw*, *in A and in B*, *$ 5 for A, $ 6 for B*: where two words are joined, they tend
to have modifiers of one kind. The two modifiers are as far apart as can be in the tree's terms, so
that no part of a backbone sees both. What kind a modifier is, the guide's labels say.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import FactorView, TemplateFamily
from bbparse.factors.view import NO_LABEL
from bbparse.jit import kernel
from bbparse.treebank.encode import ATTRIBUTES, PAD

from .enumerate import beyond, passes, with_room

__all__ = ["ParallelLabels"]

Ints = NDArray[np.int32]
Hashes = NDArray[np.uint64]

_JOINS = frozenset(("conj", "appos", "parataxis", "list"))


@kernel
def parallel_modifiers(
    arc_head: Ints,
    arc_mod: Ints,
    head_ptr: Ints,
    gate_words: Hashes,
    gate_orders: Hashes,
    gate_bits: Hashes,
    gate_shift: np.uint64,
    labels: Ints,
    joins: NDArray[np.bool_],
    words: Hashes,
) -> Ints:
    """Arcs h → m, h → s, m → c: the first with a label that joins, the others with one label.

    Roles h, m, s, c. Order: side of m, of s, of c, and whether s and c are one word
    (2 · 2 · 2 · 2). No distances.
    """
    rows = np.empty((64, 4), np.int32)
    count = np.int64(0)
    for i in range(arc_head.shape[0]):
        h, m = arc_head[i], arc_mod[i]
        if h == 0 or not joins[labels[i]]:
            continue
        for j in range(head_ptr[h], head_ptr[h + 1]):
            s = arc_mod[j]
            if s == m:
                continue
            partial = gate_words[0, h] + gate_words[1, m] + gate_words[2, s]
            rows = with_room(rows, count, head_ptr[m + 1] - head_ptr[m])
            for k in range(head_ptr[m], head_ptr[m + 1]):
                c = arc_mod[k]
                if labels[k] != labels[j] or c == s or beyond(h, m, c) or beyond(s, m, c):
                    continue
                order = int(h < m) * 8 + int(h < s) * 4 + int(m < c) * 2 + int(words[s] == words[c])
                gate = partial + gate_words[3, c] + gate_orders[order]
                if passes(gate, gate_bits, gate_shift):
                    rows[count, 0] = i
                    rows[count, 1] = j
                    rows[count, 2] = k
                    rows[count, 3] = order
                    count += 1
    return rows[:count]


@lru_cache(maxsize=8)
def _joining(names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which numbers are those of labels that join, for all numbers that marks can hold."""
    joins = np.zeros(NO_LABEL + 1, np.bool_)
    joins[1 : len(names) + 1] = [name in _JOINS for name in names]
    return joins


class ParallelLabels(TemplateFamily):
    """Two words that are joined, and a modifier of each, both by one label.

    Joined are words with an arc from one to the other that the guide would label conj, appos,
    parataxis or list (Universal Dependencies).
    """

    name = "parallel-labels"
    summary = "modifiers of one label that two joined words have"
    roles = (("h", 0, "head"), ("m", 0, "mod"), ("s", 1, "mod"), ("c", 2, "mod"))
    templates = (
        "@m",
        "@s h.xpos m.xpos",
        "@m @s",
        "@m @s h.upos m.upos",
        "@m @s s.upos c.upos",
        "@m @s s.xpos c.xpos",
        "@m s.lexpos c.lexpos",
    )
    n_orders = 16
    kernel = staticmethod(parallel_modifiers)

    def enumerated(
        self, view: FactorView, gate_words: Hashes, gate_bits: Hashes, gate_shift: np.uint64
    ) -> Ints:
        """See `TemplateFamily.enumerated`."""
        labels, joins = view.arc_labels, _joining(tuple(view.label_names))
        rows: Ints = parallel_modifiers(
            view.arc_head, view.arc_mod, view.head_ptr, gate_words, self._gate_orders, gate_bits,
            gate_shift, labels, joins,
            view.values[PAD : PAD + view.n_words + 1, ATTRIBUTES.index("lower")].copy(),
        )  # fmt: skip
        return rows
