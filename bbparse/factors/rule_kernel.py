"""The machine that runs rules: a loop over instructions of six numbers.

`bbparse.factors.rule_language` makes the instructions. All families of a sentence run in one call,
and one machine serves all: a family more costs nothing to compile.

An instruction is ``op, a, b, c, d, e``. Registers hold 64-bit integers: words, numbers, truth
values, and numbers of texts. Tests and loads give register a a value or, if a is -1, go to
instruction e where the value is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.factors.table import NUMBER, TEXT, KeyIndex, mix, place_of
from bbparse.jit import kernel
from bbparse.oracle.projective.weights import index_groups

(
    END, ADD, SUB, MIN, MAX, LT, LE, EQ, NE, ARC, LOAD, COUNT, CHOOSE, JUMP, WORDS, HEADS, MODS,
    ROWS, NEXT_WORD, NEXT_HEAD, NEXT_MOD, NEXT_ROW, FACTOR, FEATURE, DONE,
) = range(25)  # fmt: skip

#: What the kernel returns where the arrays are too small.
NO_ROOM = -1
#: Arcs that a factor may have.
MOST_ARCS = 32


class Program(NamedTuple):
    """Instructions int64[I, 6]; operands int64[...] of `FACTOR` (registers of head and modifier of
    each arc) and `FEATURE` (its start, then kind and register of each piece); what the registers
    hold at first, int64[R], of which 0 is set to the number of words.
    """

    code: NDArray[np.int64]
    operands: NDArray[np.int64]
    registers: NDArray[np.int64]


class WordTable(NamedTuple):
    """``columns[w, c]`` is what column c says of word w: int32[n + 2, C], of which the last row is
    for words that are not there; ``hashes[t]`` is the
    token of text t, uint64[T]; ``rows`` (int64) has the rows of relation k, numbers end to end,
    from ``rows[k]`` to ``rows[k + 1] - 1``.
    """

    columns: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    rows: NDArray[np.int64]


class Kept(NamedTuple):
    """Features of all factors: ``ptr`` and ``keys`` as in `FactorBatch`; feature i is made of the
    operands at ``made[said_ptr[i]]``, and its pieces hold what follows there up to ``said_ptr[i +
    1]``. No room at all where features are not wanted.
    """

    ptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    said_ptr: NDArray[np.int64]
    said: NDArray[np.int64]


@kernel
def _arc(n, place, head, mod):
    """Index of an arc, -1 if it is no candidate, be it of words at all or not."""
    if head < 0 or head > n or mod < 0 or mod > n:
        return np.int32(-1)
    return place[head, mod]


@kernel
def _choose_arcs(operands, first, n_arcs, r, n, place, arc_mod, chosen):
    """Ascending indices of different arcs; how many, 0 for a factor that cannot fire."""
    for i in range(n_arcs):
        arc = _arc(n, place, r[operands[first + 2 * i]], r[operands[first + 2 * i + 1]])
        if arc < 0:
            return 0
        j = i
        while j > 0 and chosen[j - 1] > arc:
            chosen[j] = chosen[j - 1]
            j -= 1
        chosen[j] = arc
    for i in range(n_arcs):
        for j in range(i):
            if arc_mod[chosen[i]] == arc_mod[chosen[j]]:
                return 0
    return n_arcs


@kernel
def run_rules(program, words, arcs, index, keep, out, kept):
    """Run all rules, and put their factors into ``out``; how many there are, or `NO_ROOM`.

    The tuples are a `Program`, a `WordTable`, `FactorView.arcs`, a `KeyIndex`, `Factors` and what
    is `Kept`. With ``keep`` all of them, and all their features into ``kept``; otherwise those
    whose score by the ``index`` of the known features is not 0, with it.
    """
    code, operands, registers = program
    columns, hashes, relations = words
    arc_head, arc_mod, _, _ = arcs
    table = KeyIndex(*index)
    out_ptr, out_arcs, out_score = out
    kept_ptr, kept_keys, said_ptr, kept_said = kept
    n = columns.shape[0] - 2
    place, head_ptr, _, in_ptr, in_list, _ = index_groups(n, arc_head, arc_mod)
    r = registers.copy()
    r[0] = n
    chosen = np.empty(MOST_ARCS, np.int32)
    n_factors = at = n_chosen = n_keys = said = 0
    total = 0.0
    pc = 0
    while True:
        op, a, b, c, d = code[pc, 0], code[pc, 1], code[pc, 2], code[pc, 3], code[pc, 4]
        pc += 1
        if LT <= op <= LOAD:
            if op == LOAD:
                w = r[c] + d
                value = np.int64(columns[w if 0 <= w <= n else n + 1, b])
            elif op == LT:
                value = np.int64(r[b] < r[c])
            elif op == LE:
                value = np.int64(r[b] <= r[c])
            elif op == EQ:
                value = np.int64(r[b] == r[c])
            elif op == NE:
                value = np.int64(r[b] != r[c])
            else:
                value = np.int64(_arc(n, place, r[b], r[c]) >= 0)
            if a >= 0:
                r[a] = value
            elif value == 0:
                pc = code[pc - 1, 5]
        elif op == NEXT_WORD:
            w = r[a]
            while w < r[a + 1] and d >= 0 and not columns[w, d]:
                w += 1
            if w < r[a + 1]:
                r[b] = w
                r[a] = w + 1
            else:
                pc = c
        elif op == NEXT_HEAD or op == NEXT_MOD:
            if r[a] < r[a + 1]:
                r[b] = arc_head[in_list[r[a]]] if op == NEXT_HEAD else arc_mod[r[a]]
                r[a] += 1
            else:
                pc = c
        elif op == HEADS or op == MODS:
            w = r[b]
            r[a] = r[a + 1] = 0
            if 0 <= w <= n:
                if op == HEADS:
                    r[a], r[a + 1] = in_ptr[w], in_ptr[w + 1]
                else:
                    r[a], r[a + 1] = head_ptr[w], head_ptr[w + 1]
        elif op == JUMP:
            pc = a
        elif op == FACTOR:
            n_chosen = _choose_arcs(operands, a, b, r, n, place, arc_mod, chosen)
            total = 0.0
            if n_chosen == 0:
                pc = c
        elif op == FEATURE:
            key = hashes[r[operands[a]]]
            for i in range(a + 1, a + 1 + 2 * b, 2):
                kind, value = operands[i], r[operands[i + 1]]
                if kind == TEXT:
                    key = mix(key ^ hashes[value])
                elif kind == NUMBER:
                    key = mix(key ^ mix(np.uint64(value) ^ np.uint64(NUMBER)))
                else:
                    key = mix(key ^ np.uint64(kind))
            if not keep:
                known = place_of(key, table)
                if known >= 0:
                    total += table.weights[known, 1]
                continue
            if n_keys + 2 > said_ptr.shape[0] or said + 1 + b > kept_said.shape[0]:
                return NO_ROOM
            kept_keys[n_keys] = key
            n_keys += 1
            kept_said[said] = a
            for i in range(b):
                kept_said[said + 1 + i] = r[operands[a + 2 + 2 * i]]
            said += 1 + b
            said_ptr[n_keys] = said
        elif op == DONE:
            if not keep and total == 0.0:
                continue
            if n_factors >= out_score.shape[0] or at + n_chosen > out_arcs.shape[0]:
                return NO_ROOM
            for i in range(n_chosen):
                out_arcs[at + i] = chosen[i]
            at += n_chosen
            out_score[n_factors] = total
            n_factors += 1
            out_ptr[n_factors] = at
            if keep:
                kept_ptr[n_factors] = n_keys
        elif op == WORDS:
            r[a], r[a + 1] = max(r[b], 0), min(r[c], n + 1)
        elif op == CHOOSE:
            r[a] = r[c] if r[b] != 0 else r[d]
        elif op == COUNT:
            count = 0
            for w in range(max(r[c], 0), min(r[d], n + 1)):
                count += columns[w, b] == r[code[pc - 1, 5]]
            r[a] = count
        elif op == ADD:
            r[a] = r[b] + r[c]
        elif op == SUB:
            r[a] = r[b] - r[c]
        elif op == MIN:
            r[a] = min(r[b], r[c])
        elif op == MAX:
            r[a] = max(r[b], r[c])
        elif op == ROWS:
            r[a], r[a + 1] = relations[b], relations[b + 1]
        elif op == NEXT_ROW:
            if r[a] < r[a + 1]:
                for i in range(d):
                    r[b + i] = relations[r[a] + i]
                r[a] += d
            else:
                pc = c
        else:
            return n_factors
