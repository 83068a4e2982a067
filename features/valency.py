"""Valency and OR: how many modifiers a word has on each side, of all kinds or of one (QL13 §5.1).

`Valency` counts all modifiers on a side, `ModifiersOfKind` those of one class of tags: whether a
verb has a nominal on its left (an OR of arcs), whether a noun has a second determiner. Both are
count factors, each number of modifiers having features of its own; four and more are one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import CountBatch, FactorFamily, FactorTable, FactorView
from bbparse.factors.keys import mix, salt
from bbparse.factors.table import ALL_PASS, passes, shift_of
from bbparse.jit import kernel
from bbparse.treebank.encode import ATTRIBUTES, PAD

__all__ = ["CLASSES", "MOST", "ModifiersOfKind", "Valency"]

#: Numbers from here on are one.
MOST = 4

#: Tags that are counted together; each tag is in one class at most.
CLASSES = (
    ("NOUN", "PROPN", "PRON", "NUM"), ("VERB",), ("AUX",), ("ADP",), ("DET",), ("ADJ",), ("ADV",),
    ("CCONJ", "CONJ"), ("SCONJ",), ("PART",), ("PUNCT",), ("INTJ", "SYM", "X"),
)  # fmt: skip
_CLASS_OF = {tag: number for number, tags in enumerate(CLASSES, 1) for tag in tags}

#: Attributes of the head that features read.
_HEAD = ("upos", "xpos", "lexpos", "lemma", "verbform")


class _Counted(FactorFamily):
    """Sets of arcs from one head to one side, to words of one class."""

    def __init__(self) -> None:
        n_classes = 1 + len(CLASSES)
        self._columns = np.array([ATTRIBUTES.index(name) for name in _HEAD], np.int32)
        self._salts = np.array(
            [
                [
                    [
                        [salt(self.name, (name, side, kind, k)) for name in _HEAD]
                        for k in range(1, MOST + 1)
                    ]
                    for kind in range(n_classes)
                ]
                for side in range(2)
            ],
            dtype=np.uint64,
        )

    def _classes(self, view: FactorView) -> NDArray[np.int32]:
        """Class of each word int32[n + 1], -1 for words that are not counted."""
        raise NotImplementedError

    def propose_counts(self, view: FactorView, table: FactorTable | None = None) -> CountBatch:
        """As `FactorFamily.propose_counts`; with a table, what it does not know is left out."""
        bits = ALL_PASS if table is None else table.key_bits
        return self._propose(view, bits, slice(None))

    def _propose(self, view: FactorView, bits: NDArray[np.uint64], which: slice) -> CountBatch:
        """The sets with a key of some of the templates that the filter passes."""
        return CountBatch(
            *_sets(
                view.arc_mod, view.head_ptr, view.values, PAD, self._classes(view),
                1 + len(CLASSES), self._columns[which], self._salts[..., which].copy(), bits,
                shift_of(bits),
            )
        )  # fmt: skip

    def name_features(self, view: FactorView) -> dict[int, str]:
        """As `FactorFamily.name_features`."""
        names: dict[int, str] = {}
        classes = self._classes(view)
        for t, attribute in enumerate(_HEAD):
            batch = self._propose(view, ALL_PASS, slice(t, t + 1))
            for c in range(len(batch)):
                start, end = int(batch.ptr[c]), int(batch.ptr[c + 1])
                arc = batch.arcs[start]
                head, mod = int(view.arc_head[arc]), int(view.arc_mod[arc])
                kind = int(classes[mod])
                what = "/".join(CLASSES[kind - 1]) if kind else "modifiers"
                side = "right" if mod > head else "left"
                for i in range(start, end):  # one template, one key for each number
                    k = i - start + 1
                    number = f"{k} or more" if k >= MOST else str(k)
                    names[int(batch.feat_keys[i])] = (
                        f"{number} {what} on the {side}"
                        f" head.{attribute}={view.attribute(head, attribute)}"
                    )
        return names


class Valency(_Counted):
    """How many modifiers a word has on its left, and on its right."""

    name = "valency"
    summary = "how many modifiers a word has on each side (QL13 valency)"

    def _classes(self, view: FactorView) -> NDArray[np.int32]:
        return np.zeros(view.n_words + 1, np.int32)


class ModifiersOfKind(_Counted):
    """How many modifiers of one class of tags a word has on each side."""

    name = "modifiers-of-kind"
    summary = "whether a word has any, and how many, modifiers of a kind on a side (QL13 OR)"

    def _classes(self, view: FactorView) -> NDArray[np.int32]:
        return np.array([_CLASS_OF.get(tag, -1) for tag in view.upos], np.int32)


@kernel
def _sets(
    arc_mod: NDArray[np.int32],
    head_ptr: NDArray[np.int32],
    values: NDArray[np.uint64],
    pad: int,
    classes: NDArray[np.int32],
    n_classes: int,
    columns: NDArray[np.int32],
    salts: NDArray[np.uint64],
    bits: NDArray[np.uint64],
    shift: np.uint64,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.uint64]]:
    """Sets that have a key whose bit is set; arrays as in `CountBatch`. The root has none.

    Cost: one look at a bit for each arc and template.
    """
    n_templates = columns.shape[0]
    n_arcs = arc_mod.shape[0]
    ptr = np.zeros(n_arcs + 1, np.int64)
    arcs = np.empty(n_arcs, np.int32)
    feat_ptr = np.zeros(n_arcs + 1, np.int64)
    feat_keys = np.empty(n_arcs * n_templates, np.uint64)
    n_sets = used = n_keys = 0
    for h in range(1, head_ptr.shape[0] - 1):
        for side in range(2):
            for kind in range(n_classes):
                start = used
                before = n_keys
                for a in range(head_ptr[h], head_ptr[h + 1]):
                    m = arc_mod[a]
                    if classes[m] != kind or int(m > h) != side:
                        continue
                    k = min(used - start, salts.shape[2] - 1)
                    arcs[used] = a
                    for t in range(n_templates):
                        key = mix(values[pad + h, columns[t]] ^ salts[side, kind, k, t])
                        if passes(key, bits, shift):
                            feat_keys[n_keys] = key
                            n_keys += 1
                    used += 1
                    feat_ptr[used] = n_keys
                if n_keys == before:
                    used = start
                    continue
                n_sets += 1
                ptr[n_sets] = used
    return (
        ptr[: n_sets + 1].copy(), arcs[:used].copy(), feat_ptr[: used + 1].copy(),
        feat_keys[:n_keys].copy(),
    )  # fmt: skip
