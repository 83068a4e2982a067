"""Valency and OR: how many modifiers a word has on each side, of all kinds or of one (QL13 §5.1).

`Valency` counts all modifiers on a side, `ModifiersOfKind` those of one class of tags: whether a
verb has a nominal on its left (an OR of arcs), whether a noun has a second determiner. Both are
count factors, each number of modifiers having features of its own; four and more are one.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import FactorBatch, FactorFamily, FactorView
from bbparse.models.factors.table import feature_key
from bbparse.models.hashing import mix_all
from bbparse.treebank.encode import ATTRIBUTES, PAD

#: Numbers from here on are one.
MOST = 4

#: Tags that are counted together; each tag is in one class at most.
CLASSES = (
    ("NOUN", "PROPN", "PRON", "NUM"), ("VERB",), ("AUX",), ("ADP",), ("DET",), ("ADJ",), ("ADV",),
    ("CCONJ", "CONJ"), ("SCONJ",), ("PART",), ("PUNCT",), ("INTJ", "SYM", "X"),
)
_CLASS_OF = {tag: number for number, tags in enumerate(CLASSES, 1) for tag in tags}

#: Attributes of the head that features read.
_HEAD = ("upos", "xpos", "lexpos", "lemma", "verbform")


class _Counted(FactorFamily):
    """Sets of arcs from one head to one side, to words of one class."""

    def __init__(self) -> None:
        self._columns = np.array([ATTRIBUTES.index(name) for name in _HEAD], np.int32)
        kinds, numbers = range(1 + len(CLASSES)), range(1, MOST + 1)
        self._salts = np.array(
            [
                feature_key(self.name, (name, side, kind, k))
                for side in range(2) for kind in kinds for k in numbers for name in _HEAD
            ],
            np.uint64,
        ).reshape(2, len(kinds), MOST, len(_HEAD))

    def _classes(self, view: FactorView) -> NDArray[np.int32]:
        """Class of each word int32[n + 1], -1 for words that are not counted."""
        raise NotImplementedError

    def propose_counts(self, view: FactorView) -> FactorBatch:
        ptr, arcs, keys = self._sets(view)
        return FactorBatch.from_keys(ptr, arcs, keys, cell_ptr=ptr)

    def _sets(
        self, view: FactorView
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint64]]:
        """Return sets by head (but the root), side and class, and keys of cells by template."""
        kind = self._classes(view)[view.arc_mod]
        own = (2 * view.arc_head + (view.arc_mod > view.arc_head)) * (1 + len(CLASSES)) + kind
        arcs = np.flatnonzero((kind >= 0) & (view.arc_head > 0)).astype(np.int32)
        arcs = arcs[np.argsort(own[arcs], kind="stable")]
        ptr = np.append(np.flatnonzero(np.diff(own[arcs], prepend=-1)), len(arcs)).astype(np.int64)
        number = np.arange(len(arcs)) - np.repeat(ptr[:-1], np.diff(ptr))
        head, mod = view.arc_head[arcs], view.arc_mod[arcs]
        salts = self._salts[(mod > head).astype(int), kind[arcs], np.minimum(number, MOST - 1)]
        return ptr, arcs, mix_all(view.values[PAD + head][:, self._columns] ^ salts)

    def name_features(self, view: FactorView) -> dict[int, str]:
        names: dict[int, str] = {}
        classes = self._classes(view)
        ptr, arcs, keys = self._sets(view)
        for start, end in pairwise(ptr.tolist()):
            for i in range(start, end):
                head, mod = int(view.arc_head[arcs[i]]), int(view.arc_mod[arcs[i]])
                kind, k = int(classes[mod]), i - start + 1
                what = "/".join(CLASSES[kind - 1]) if kind else "modifiers"
                side = "right" if mod > head else "left"
                number = f"{k} or more" if k >= MOST else str(k)
                for attribute, key in zip(_HEAD, keys[i].tolist()):
                    value = view.attribute(head, attribute)
                    names[key] = f"{number} {what} on the {side} head.{attribute}={value}"
        return names


class Valency(_Counted):
    """The number of modifiers that a word has on either side."""

    name = "valency"
    summary = "number of modifiers on each side of a word (QL13 valency)"

    def _classes(self, view: FactorView) -> NDArray[np.int32]:
        return np.zeros(view.n_words + 1, np.int32)


class ModifiersOfKind(_Counted):
    """The number of modifiers of one class of tags that a word has on either side."""

    name = "modifiers-of-kind"
    summary = "presence and number of modifiers of one kind on each side (QL13 OR)"

    def _classes(self, view: FactorView) -> NDArray[np.int32]:
        return np.array([_CLASS_OF.get(tag, -1) for tag in view.upos], np.int32)
