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
from bbparse.factors.table import ALL_PASS, passes, shift_of
from bbparse.jit import kernel
from bbparse.treebank.encode import ATTRIBUTES, PAD

__all__ = ["MAX_LENGTH", "MIN_LENGTH", "Combs"]

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
        bits = ALL_PASS if table is None else table.key_bits
        return self._propose(view, bits, slice(None))

    def _propose(self, view: FactorView, bits: NDArray[np.uint64], which: slice) -> FactorBatch:
        """The combs with a key of some of the templates that the filter passes."""
        ptr, arcs, feat_ptr, feat_keys = enumerate_combs(
            view.arc_mod, view.head_ptr, view.values, PAD, self._head_column[which],
            self._word_column[which], self._kind[which], self._salts[which], bits,
            shift_of(bits),
        )  # fmt: skip
        return FactorBatch(ptr, arcs, feat_ptr, feat_keys, np.zeros(len(ptr) - 1, np.uint64))

    def name_features(self, view: FactorView) -> dict[int, str]:
        """As `FactorFamily.name_features`."""
        names: dict[int, str] = {}
        for t, (head_name, word_name, kind) in enumerate(TEMPLATES):
            batch = self._propose(view, ALL_PASS, slice(t, t + 1))
            for f, key in enumerate(batch.feat_keys.tolist()):  # one template, one key a comb
                arcs = batch.arcs[batch.ptr[f] : batch.ptr[f + 1]]
                head = view.attribute(int(view.arc_head[arcs[0]]), head_name)
                words = [view.attribute(int(view.arc_mod[a]), word_name) for a in arcs]
                if kind == BAG:
                    run = f"{', '.join(sorted(words))} in any order"
                elif kind == ENDS:
                    run = f"{words[0]} … {words[-1]}, {len(words)} words"
                else:
                    run = " ".join(words)
                names[key] = f"head.{head_name}={head} run.{word_name}={run}"
        return names


@kernel
def _count_combs(arc_mod: NDArray[np.int32], head_ptr: NDArray[np.int32]) -> tuple[int, int]:
    """How many combs there are, and how many arcs they have together."""
    n_combs = n_arcs = 0
    for h in range(head_ptr.shape[0] - 1):
        run = 0
        for i in range(head_ptr[h], head_ptr[h + 1]):
            run = run + 1 if run > 0 and arc_mod[i] == arc_mod[i - 1] + 1 else 1
            for length in range(MIN_LENGTH, min(run, MAX_LENGTH) + 1):
                n_combs += 1
                n_arcs += length
    return n_combs, n_arcs


@kernel
def enumerate_combs(
    arc_mod: NDArray[np.int32],
    head_ptr: NDArray[np.int32],
    values: NDArray[np.uint64],
    pad: int,
    head_column: NDArray[np.int32],
    word_column: NDArray[np.int32],
    kind: NDArray[np.int32],
    salts: NDArray[np.uint64],
    bits: NDArray[np.uint64],
    shift: np.uint64,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.uint64]]:
    """Combs over candidate arcs that have a key whose bit is set; arrays as in `FactorBatch`.

    A run is a stretch of the arcs of one head, which are sorted by modifier. Hashes are carried
    along as the run grows, so each (start, length, template) costs O(1).
    """
    n_combs, n_arcs = _count_combs(arc_mod, head_ptr)
    n_templates = kind.shape[0]
    ptr = np.zeros(n_combs + 1, np.int64)
    arcs = np.empty(n_arcs, np.int32)
    feat_ptr = np.zeros(n_combs + 1, np.int64)
    feat_keys = np.empty(n_combs * n_templates, np.uint64)
    state = np.empty(n_templates, np.uint64)
    n_factors = n_keys = n_used = 0
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
                    if length < MIN_LENGTH:
                        continue
                    key = state[t]
                    if kind[t] == ENDS:
                        key = mix(key ^ value) + np.uint64(length)
                    key = mix(key ^ salts[t, place])
                    if passes(key, bits, shift):
                        feat_keys[n_keys] = key
                        n_keys += 1
                if n_keys == feat_ptr[n_factors]:
                    continue
                for j in range(start, i + 1):
                    arcs[n_used] = j
                    n_used += 1
                n_factors += 1
                ptr[n_factors] = n_used
                feat_ptr[n_factors] = n_keys
    return (
        ptr[: n_factors + 1].copy(),
        arcs[:n_used].copy(),
        feat_ptr[: n_factors + 1].copy(),
        feat_keys[:n_keys].copy(),
    )
