"""Combs: a head with more than three adjacent words that all modify it (QL13 §4.3).

A comb is the set of arcs from one head to a run of four or more words that are adjacent in the
sentence (the head is not among them, so a run lies on one side of it).

**When a comb fires.** A factor is a set of arcs and cannot say "and no further": it fires when all
its arcs are in the tree, so *every* run of four or more words fires, not only the longest one of
its head. That is the same in training and in parsing: a run of six contributes one comb of six, two
of five and three of four. Runs longer than `MAX_LENGTH` words have no comb of their own; their
sub-runs have.

This is the pattern for families whose factors vary in size: `propose` with arrays of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import FactorBatch, FactorFamily, FactorView
from bbparse.models.factors.table import feature_key
from bbparse.models.hashing import mix_all
from bbparse.treebank.encode import ATTRIBUTES, PAD

MIN_LENGTH = 4
MAX_LENGTH = 12

SEQUENCE, BAG, ENDS = range(3)

#: Attribute of the head, attribute of the run's words, and how the latter are put together: all in
#: their order, all in any order, or the first and the last with the length. The side of the head
#: and whether the run touches the head are part of each.
TEMPLATES = (
    ("upos", "upos", ENDS),
    ("upos", "upos", BAG),
    ("upos", "upos", SEQUENCE),
    ("lemma", "upos", SEQUENCE),
    ("xpos", "xpos", SEQUENCE),
    ("upos", "lexpos", SEQUENCE),
    ("lexpos", "lexpos", SEQUENCE),
)


class Combs(FactorFamily):
    """All runs of four to twelve adjacent words with one head."""

    name = "combs"
    summary = "a head with four or more adjacent modifiers (QL13 combs)"

    def __init__(self) -> None:
        self._head_column = np.array([ATTRIBUTES.index(head) for head, _, _ in TEMPLATES], np.int32)
        self._word_column = np.array([ATTRIBUTES.index(word) for _, word, _ in TEMPLATES], np.int32)
        self._kind = np.array([kind for _, _, kind in TEMPLATES], np.int32)
        self._salts = np.array(
            [[feature_key(self.name, (*one, place)) for place in range(4)] for one in TEMPLATES],
            dtype=np.uint64,
        )

    def propose(self, view: FactorView) -> FactorBatch:
        spans, keys = self._runs(view)
        ptr = np.append(0, np.cumsum(spans[:, 1]))
        arcs = np.arange(ptr[-1]) + np.repeat(spans[:, 0] - ptr[:-1], spans[:, 1])
        return FactorBatch.from_keys(ptr, arcs.astype(np.int32), keys)

    def _runs(self, view: FactorView) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """First arc and length of each comb, int64[F, 2], and keys uint64[F, T].

        A run is a stretch of the arcs of one head, which are sorted by modifier. Hashes are carried
        along as runs grow.
        """
        head, mod, values, kind = view.arc_head, view.arc_mod, view.values, self._kind
        borders = np.flatnonzero((np.diff(head) != 0) | (np.diff(mod) != 1))
        ends = np.append(borders, len(head) - 1)  # of runs
        longest = ends.repeat(np.diff(ends, prepend=-1)) + 1 - np.arange(len(head))
        starts = np.flatnonzero(longest >= MIN_LENGTH)
        state = mix_all(values[PAD + head[starts]][:, self._head_column] ^ self._salts[:, 0])
        spans, keys = [np.zeros((0, 2), np.int64)], [np.zeros((0, len(kind)), np.uint64)]
        for length in range(1, MAX_LENGTH + 1):
            alive = longest[starts] >= length
            starts, state = starts[alive], state[alive]
            first, last, above = mod[starts], mod[starts + length - 1], head[starts]
            own = values[PAD + last][:, self._word_column]
            ordered = mix_all(state ^ own)
            grown = (kind == SEQUENCE) | (length == 1)
            state = np.where(kind == BAG, state + mix_all(own), np.where(grown, ordered, state))
            if length >= MIN_LENGTH:
                # 0: left of the head and apart from it, 1: left and touching, 2, 3: right
                place = np.where(last < above, last == above - 1, 2 + (first == above + 1))
                whole = np.where(kind == ENDS, ordered + np.uint64(length), state)
                keys.append(mix_all(whole ^ self._salts[:, place].T))
                spans.append(np.column_stack([starts, np.full(len(starts), length)]))
        every = np.concatenate(spans)
        order = np.lexsort(every.T[::-1])
        return every[order], np.concatenate(keys)[order]

    def name_features(self, view: FactorView) -> dict[int, str]:
        names: dict[int, str] = {}
        spans, keys = self._runs(view)
        for (first, length), own in zip(spans.tolist(), keys.tolist()):
            mods = view.arc_mod[first : first + length].tolist()
            for (head_name, word_name, kind), key in zip(TEMPLATES, own):
                head = view.attribute(int(view.arc_head[first]), head_name)
                words = [view.attribute(mod, word_name) for mod in mods]
                if kind == BAG:
                    run = f"{', '.join(sorted(words))} in any order"
                elif kind == ENDS:
                    run = f"{words[0]} … {words[-1]}, {length} words"
                else:
                    run = " ".join(words)
                names[key] = f"head.{head_name}={head} run.{word_name}={run}"
        return names
