"""Combs: a head with more than three adjacent words that all modify it (QL13 §4.3).

A comb is the set of arcs from one head to a run of four or more words that are adjacent in the
sentence (the head is not among them, so a run lies on one side of it).

**When a comb fires.** A factor is a set of arcs and cannot say "and no further": it fires when all
its arcs are in the tree, so *every* run of four or more words fires, not only the longest one of
its head. That is the same in training and in parsing: a run of six contributes one comb of six, two
of five and three of four. Runs longer than `MAX_LENGTH` words have no comb of their own; their
sub-runs have.

This is the pattern for families whose factors vary in size: `propose` with a kernel of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.factors import FactorBatch, FactorFamily, FactorTable, FactorView
from bbparse.factors.keys import mix, salt
from bbparse.jit import kernel
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
    summary = "a head with four or more adjacent modifiers: all those arcs (QL13 combs)"

    def __init__(self) -> None:
        self._head_column = np.array([ATTRIBUTES.index(head) for head, _, _ in TEMPLATES], np.int32)
        self._word_column = np.array([ATTRIBUTES.index(word) for _, word, _ in TEMPLATES], np.int32)
        self._kind = np.array([kind for _, _, kind in TEMPLATES], np.int32)
        self._salts = np.array(
            [
                [salt(self.name, (*entry, place)) for place in range(4)]
                for entry in TEMPLATES
            ],
            dtype=np.uint64,
        )

    def propose(self, view: FactorView, table: FactorTable | None = None) -> FactorBatch:
        """As `FactorFamily.propose`; with a table, what it does not know is left out."""
        spans, keys = self._runs(view)
        ptr = np.append(0, np.cumsum(spans[:, 1]))
        arcs = np.arange(ptr[-1]) + np.repeat(spans[:, 0] - ptr[:-1], spans[:, 1])
        return FactorBatch.from_keys(ptr, arcs.astype(np.int32), keys, table)

    def _runs(self, view: FactorView) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        return find_combs(
            view.arc_mod, view.head_ptr, view.values, PAD, self._head_column, self._word_column,
            self._kind, self._salts,
        )  # fmt: skip

    def name_features(self, view: FactorView) -> dict[int, str]:
        """As `FactorFamily.name_features`."""
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


@kernel
def find_combs(
    arc_mod: NDArray[np.int32],
    head_ptr: NDArray[np.int32],
    values: NDArray[np.uint64],
    pad: int,
    head_column: NDArray[np.int32],
    word_column: NDArray[np.int32],
    kind: NDArray[np.int32],
    salts: NDArray[np.uint64],
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Combs over candidate arcs: first arc and length int32[F, 2], and keys uint64[F, T].

    A run is a stretch of the arcs of one head, which are sorted by modifier. Hashes are carried
    along as the run grows, so each (start, length, template) costs O(1).
    """
    n_templates = kind.shape[0]
    most = arc_mod.shape[0] * (MAX_LENGTH - MIN_LENGTH + 1)
    spans = np.empty((most, 2), np.int32)
    keys = np.empty((most, n_templates), np.uint64)
    state = np.empty(n_templates, np.uint64)
    found = 0
    for h in range(head_ptr.shape[0] - 1):
        end = head_ptr[h + 1]
        for start in range(head_ptr[h], end):
            first = arc_mod[start]
            shortest = start + MIN_LENGTH - 1
            if shortest >= end or arc_mod[shortest] != first + MIN_LENGTH - 1:
                continue  # most words begin no comb
            for i in range(start, min(start + MAX_LENGTH, end)):
                last = arc_mod[i]
                length = i - start + 1
                if last != first + length - 1:
                    break
                # 0: left of the head and apart from it, 1: left and touching, 2, 3: right
                if last < h:
                    place = 1 if last == h - 1 else 0
                else:
                    place = 3 if first == h + 1 else 2
                for t in range(n_templates):
                    value = values[pad + last, word_column[t]]
                    if length == 1:
                        state[t] = mix(values[pad + h, head_column[t]] ^ salts[t, 0])
                        if kind[t] == ENDS:
                            state[t] = mix(state[t] ^ value)
                    if kind[t] == BAG:
                        state[t] += mix(value)
                    elif kind[t] == SEQUENCE:
                        state[t] = mix(state[t] ^ value)
                    if length >= MIN_LENGTH:
                        key = state[t]
                        if kind[t] == ENDS:
                            key = mix(key ^ value) + np.uint64(length)
                        keys[found, t] = mix(key ^ salts[t, place])
                if length >= MIN_LENGTH:
                    spans[found, 0], spans[found, 1] = start, length
                    found += 1
    return spans[:found].copy(), keys[:found].copy()
