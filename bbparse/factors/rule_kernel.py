"""The machine that runs compiled families: a loop over instructions of six numbers.

`bbparse.factors.rule_compiler` makes the instructions. All families of a sentence run in one call,
and one machine serves all: a family more costs nothing to compile.

An instruction is ``op, a, b, c, d, e``. Registers hold 64-bit integers: words, numbers, truth
values, and numbers of texts. ``cols[w, c]`` is what column c says of word w.
"""

from __future__ import annotations

import numpy as np

from bbparse.factors.blake2b import blake2b_64
from bbparse.factors.table import first_place
from bbparse.factors.template_kernels import mix
from bbparse.jit import kernel

(
    END, MOVE, ADD, SUB, DIV, MIN, MAX, ABS, LOAD, JUMP_LOAD, JUMP_LT, JUMP_LE, JUMP_EQ, JUMP_NE,
    JUMP, COUNT, HEADS, NEXT_HEAD, MODS, NEXT_MOD, NEXT, FIND, JUMP_ARC, FACTOR, FEATURE, DONE,
    SET_CLEAR, SET_ADD, JUMP_SET, FAMILY,
) = range(30)  # fmt: skip

#: Kinds of pieces of a feature's text: as it stands, a text in a register, a number in a register.
LITERAL, TEXT, NUMBER = range(3)

#: What the kernel returns where the arrays are too small. (-1 - f: family f needs Python.)
NO_ROOM = -(1 << 40)
#: Arcs that a compiled factor may have.
MOST_ARCS = 32
_BUFFER = 8192  # bytes of a feature's text


@kernel
def _into(n, head_ptr, arc_mod):
    """Candidate heads of each word, ascending, as (in_ptr, in_head), and every arc's place."""
    in_ptr = np.zeros(n + 2, np.int64)
    for a in range(arc_mod.shape[0]):
        in_ptr[arc_mod[a] + 1] += 1
    for w in range(n + 1):
        in_ptr[w + 1] += in_ptr[w]
    fill = np.empty(n + 2, np.int64)
    for w in range(n + 2):
        fill[w] = in_ptr[w]
    in_head = np.empty(arc_mod.shape[0], np.int64)
    place = np.empty((n + 1, n + 1), np.int32)
    for h in range(n + 1):
        for m in range(n + 1):
            place[h, m] = -1
    for h in range(n + 1):
        for a in range(head_ptr[h], head_ptr[h + 1]):
            m = arc_mod[a]
            in_head[fill[m]] = h
            fill[m] += 1
            place[h, m] = a
    return in_ptr, in_head, place


@kernel
def run_rules(
    code, args, registers, n_sets, text_ptr, text, known, cols, arc_mod, head_ptr,
    keep_keys, key_bits, key_shift, starts, pairs, weights,
    n_factors, ptr, arcs, scores, feat_ptr, feat_keys,
):  # fmt: skip
    """Run all families, and append their factors to a buffer.

    Parameters
    ----------
    code : int64[I, 6]
    args : int64[...]
        Operands of `FACTOR` (registers of head and modifier of each arc) and `FEATURE` (kind of
        each piece and its text or register).
    registers : int64[R]
        What they hold at first; register 0 is set to the number of words.
    n_sets : int
        Sets of words that the families use.
    text_ptr, text : int64[T + 1], uint8[...]
        Canonical texts (`bbparse.factors.family.feature_key`).
    known : uint64[a power of 2, 2]
        Keys of features that were asked for lately, each with what tells that it is whole: threads
        may write at the same time. At first no key.
    cols : int32[n + 1, C]
    arc_mod, head_ptr : int32[A], int32[n + 2]
        Of a `FactorView`.
    keep_keys : bool
        Keep all factors with all their keys; otherwise those whose score is not 0.
    key_bits .. weights
        As `bbparse.factors.FactorTable.index` and `pair_weights`; not read with ``keep_keys``.
    n_factors, ptr, arcs, scores
        The buffer, as in `bbparse.factors.batch.FactorBuffer`. ``scores`` only grows without
        ``keep_keys``.
    feat_ptr, feat_keys
        As in `FactorBatch`; only with ``keep_keys``.

    Returns
    -------
    int
        How many factors the buffer has; `NO_ROOM`; or -1 - f, where family f did what only Python
        has an answer to (an index out of range, an impossible arc).
    """
    n = cols.shape[0] - 1
    in_ptr, in_head, place = _into(n, head_ptr, arc_mod)
    r = np.empty(registers.shape[0], np.int64)
    for i in range(1, registers.shape[0]):
        r[i] = registers[i]
    r[0] = n
    sets = np.zeros(n_sets * (n + 1), np.bool_)
    buffer = np.empty(_BUFFER, np.uint8)
    words = buffer.view(np.uint64)
    chosen = np.empty(MOST_ARCS, np.int32)
    n_chosen = 0
    total = 0.0
    n_keys = feat_ptr[n_factors] if keep_keys else 0
    at = ptr[n_factors]
    family = 0
    one = np.uint64(1)
    pc = 0
    while True:
        op, a, b, c, d = code[pc, 0], code[pc, 1], code[pc, 2], code[pc, 3], code[pc, 4]
        pc += 1
        if op == LOAD or op == JUMP_LOAD:
            w = r[c] + d
            if w < 0:
                w += n + 1
            if w < 0 or w > n:
                return -1 - family
            value = np.int64(cols[w, b])
            if op == LOAD:
                r[a] = value
            elif (value != 0) == (code[pc - 1, 5] != 0):
                pc = a
        elif op == FIND:
            w = r[a]
            if w < r[d] and (w < 0 or r[d] > n + 1):
                return -1 - family
            while w < r[d] and not cols[w, code[pc - 1, 5]]:
                w += 1
            if w < r[d]:
                r[b] = w
                r[a] = w + 1
            else:
                pc = c
        elif op == NEXT:
            if r[a] < r[d]:
                r[b] = r[a]
                r[a] += 1
            else:
                pc = c
        elif op == HEADS or op == MODS:
            w = r[b]
            if w < 0 or w > n:
                return -1 - family
            if op == HEADS:
                r[a], r[a + 1] = in_ptr[w], in_ptr[w + 1]
            else:
                r[a], r[a + 1] = head_ptr[w], head_ptr[w + 1]
        elif op == NEXT_HEAD or op == NEXT_MOD:
            if r[a] < r[a + 1]:
                r[b] = in_head[r[a]] if op == NEXT_HEAD else np.int64(arc_mod[r[a]])
                r[a] += 1
            else:
                pc = c
        elif op == JUMP_LT:
            if r[b] < r[c]:
                pc = a
        elif op == JUMP_LE:
            if r[b] <= r[c]:
                pc = a
        elif op == JUMP_EQ:
            if r[b] == r[c]:
                pc = a
        elif op == JUMP_NE:
            if r[b] != r[c]:
                pc = a
        elif op == JUMP:
            pc = a
        elif op == MOVE:
            r[a] = r[b]
        elif op == ADD:
            r[a] = r[b] + r[c]
        elif op == SUB:
            r[a] = r[b] - r[c]
        elif op == DIV:
            if r[c] <= 0:
                return -1 - family
            r[a] = r[b] // r[c]
        elif op == MIN:
            r[a] = min(r[b], r[c])
        elif op == MAX:
            r[a] = max(r[b], r[c])
        elif op == ABS:
            r[a] = abs(r[b])
        elif op == COUNT:
            low, high = r[c], r[d]
            if low < 0:
                low = max(low + n + 1, 0)
            if high < 0:
                high += n + 1
            wanted = r[code[pc - 1, 5]]
            count = 0
            for w in range(low, min(high, n + 1)):
                count += cols[w, b] == wanted
            r[a] = count
        elif op == JUMP_ARC:
            h, m = r[b], r[c]
            has = 0 <= h <= n and 0 <= m <= n and place[h, m] >= 0
            if has == (d != 0):
                pc = a
        elif op == FACTOR:
            n_chosen = 0
            dead = False
            for i in range(b):
                h, m = r[args[a + 2 * i]], r[args[a + 2 * i + 1]]
                if h < 0 or h > n or m < 1 or m > n:
                    return -1 - family
                arc = place[h, m]
                dead = dead or arc < 0
                j = n_chosen
                while j > 0 and chosen[j - 1] > arc:
                    chosen[j] = chosen[j - 1]
                    j -= 1
                chosen[j] = arc
                # An arc that is named twice stands once; a word has one head.
                n_chosen += 1
                if j > 0 and chosen[j - 1] == arc:
                    n_chosen -= 1
                    for k in range(j, n_chosen):
                        chosen[k] = chosen[k + 1]
            if not dead and n_chosen < 2:
                return -1 - family
            for i in range(n_chosen):
                for j in range(i):
                    dead = dead or arc_mod[chosen[i]] == arc_mod[chosen[j]]
            total = 0.0
            if dead:
                pc = c
        elif op == FEATURE:
            # Most features were asked for before: one number for the feature and its values leads
            # to the key. (An entry is the exclusive or of both, and the key, as in Hyatt & Mann's
            # shared tables: one of which another thread wrote half fits no number.)
            number = mix(np.uint64(a))
            for i in range(a, a + 2 * b, 2):
                if args[i] != LITERAL:
                    number = mix(number ^ np.uint64(r[args[i + 1]]))
            slot = number & np.uint64(known.shape[0] - 1)
            key = known[slot, 1]
            if known[slot, 0] ^ key == number:
                size = -1
            else:
                size = 0
            for i in range(a, a + 2 * b if size == 0 else a, 2):
                value = args[i + 1]
                if args[i] != LITERAL:
                    value = r[value]
                if args[i] == NUMBER:
                    # As "i%d;", from behind.
                    if size + 24 > _BUFFER:
                        return -1 - family
                    buffer[size] = 105
                    size += 1
                    if value < 0:
                        buffer[size] = 45
                        size += 1
                        value = -value
                    digits = 1
                    scale = np.int64(10)
                    while digits < 18 and scale <= value:
                        scale *= 10
                        digits += 1
                    for k in range(digits):
                        buffer[size + digits - 1 - k] = 48 + value % 10
                        value //= 10
                    size += digits
                    buffer[size] = 59
                    size += 1
                    continue
                first, last = text_ptr[value], text_ptr[value + 1]
                if size + last - first > _BUFFER - 128:
                    return -1 - family
                for k in range(last - first):
                    buffer[size + k] = text[first + k]
                size += last - first
            if size >= 0:
                key = blake2b_64(buffer, size, words)
                known[slot, 1] = key
                known[slot, 0] = number ^ key
            if keep_keys:
                if n_keys >= feat_keys.shape[0]:
                    return NO_ROOM
                feat_keys[n_keys] = key
                n_keys += 1
                continue
            bit = key >> key_shift
            if (key_bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & one:
                where = first_place(key, key_bits, key_shift, starts)
                while where < pairs.shape[0] and pairs[where, 0] < key:
                    where += one
                if where < pairs.shape[0] and pairs[where, 0] == key:
                    total += weights[where, 1]
        elif op == DONE:
            if not keep_keys and total == 0.0:
                continue
            if n_factors + 1 >= ptr.shape[0] or at + n_chosen > arcs.shape[0]:
                return NO_ROOM
            if keep_keys:
                if n_factors + 1 >= feat_ptr.shape[0]:
                    return NO_ROOM
                feat_ptr[n_factors + 1] = n_keys
            else:
                if n_factors >= scores.shape[0]:
                    return NO_ROOM
                scores[n_factors] = total
            for i in range(n_chosen):
                arcs[at + i] = chosen[i]
            at += n_chosen
            n_factors += 1
            ptr[n_factors] = at
        elif op == SET_CLEAR:
            for w in range(n + 1):
                sets[a * (n + 1) + w] = False
        elif op == SET_ADD:
            if r[b] < 0 or r[b] > n:
                return -1 - family
            sets[a * (n + 1) + r[b]] = True
        elif op == JUMP_SET:
            has = 0 <= r[c] <= n and sets[b * (n + 1) + r[c]]
            if has == (d != 0):
                pc = a
        elif op == FAMILY:
            family = a
        else:
            return n_factors
