"""Kernels of dense families: hashes of words, keys of factors, their scores.

See `bbparse.factors.templates` for the hashing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.factors.batch import FactorArrays
from bbparse.factors.keys import mix
from bbparse.factors.table import KeyIndex, first_place
from bbparse.jit import kernel


@kernel
def hash_words(
    values: NDArray[np.uint64],
    gate_ptr: NDArray[np.int32],
    gate_offset: NDArray[np.int32],
    gate_column: NDArray[np.int32],
    gate_salts: NDArray[np.uint64],
    ptr: NDArray[np.int32],
    offset: NDArray[np.int32],
    column: NDArray[np.int32],
    salts: NDArray[np.uint64],
    gate_words: NDArray[np.uint64],
    parts: NDArray[np.uint64],
) -> None:
    """Fill gate_words[r, w] and parts[r, w, t]: what word w at role r adds to gate and keys."""
    n_roles, n_rows, n_templates = parts.shape
    pad = (values.shape[0] - n_rows) // 2
    for r in range(n_roles):
        for w in range(n_rows):
            gate = gate_salts[r, 0]
            for i in range(gate_ptr[r], gate_ptr[r + 1]):
                gate = mix(gate ^ values[pad + w + gate_offset[i], gate_column[i]])
            gate_words[r, w] = gate
            for t in range(n_templates):
                x = mix(gate ^ salts[r, t])
                for i in range(ptr[t * n_roles + r], ptr[t * n_roles + r + 1]):
                    x = mix(x ^ values[pad + w + offset[i], column[i]])
                parts[r, w, t] = x


@kernel
def hash_labels(
    labels: NDArray[np.int32],
    used: NDArray[np.bool_],
    salts: NDArray[np.uint64],
    parts: NDArray[np.uint64],
) -> None:
    """Fill parts[s, a, t]: what the label of arc a at place s of a factor adds to keys."""
    for s in range(parts.shape[0]):
        for a in range(parts.shape[1]):
            for t in range(parts.shape[2]):
                parts[s, a, t] = (
                    mix(salts[s, t] ^ np.uint64(labels[a])) if used[s, t] else np.uint64(0)
                )


@kernel
def make_keys(
    rows: NDArray[np.int32],
    arc_head: NDArray[np.int32],
    arc_mod: NDArray[np.int32],
    role_arc: NDArray[np.int32],
    role_is_mod: NDArray[np.bool_],
    gate_words: NDArray[np.uint64],
    gate_orders: NDArray[np.uint64],
    parts: NDArray[np.uint64],
    label_parts: NDArray[np.uint64],
    codes: NDArray[np.uint64],
    key_bits: NDArray[np.uint64],
    key_shift: np.uint64,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.uint64],
    NDArray[np.uint64],
]:
    """Keys of enumerated factors that pass the filter, and the factors that have any.

    Cost: (roles + 1) additions and one look at a bit for each factor and template.
    """
    n_rows, size = rows.shape[0], rows.shape[1] - 1
    n_roles, n_templates = parts.shape[0], parts.shape[2]
    n_distances = codes.shape[0] // gate_orders.shape[0]
    arcs = np.empty(n_rows * size, np.int32)
    feat_ptr = np.zeros(n_rows + 1, np.int64)
    # Memory that is never written is never taken from the system.
    feat_keys = np.empty((n_rows + 1) * n_templates, np.uint64)
    gates = np.empty(n_rows, np.uint64)
    keys = np.empty(n_templates, np.uint64)
    low = np.uint64(63)
    six = np.uint64(6)
    one = np.uint64(1)
    n_factors, n_keys = 0, np.int64(0)
    for i in range(n_rows):
        code = rows[i, size]
        gate = gate_orders[code // n_distances]
        for t in range(n_templates):
            keys[t] = codes[code, t]
        for r in range(n_roles):
            arc = rows[i, role_arc[r]]
            word = arc_mod[arc] if role_is_mod[r] else arc_head[arc]
            gate += gate_words[r, word]
            for t in range(n_templates):
                keys[t] += parts[r, word, t]
        for s in range(label_parts.shape[0]):
            for t in range(n_templates):
                keys[t] += label_parts[s, rows[i, s], t]
        for t in range(n_templates):
            # Written always, kept by counting it: no branch to be mispredicted.
            feat_keys[n_keys] = keys[t]
            bit = keys[t] >> key_shift
            n_keys += np.int64((key_bits[bit >> six] >> (bit & low)) & one)
        if n_keys == feat_ptr[n_factors]:
            continue
        gates[n_factors] = gate
        for j in range(size):
            arcs[n_factors * size + j] = rows[i, j]
        n_factors += 1
        feat_ptr[n_factors] = n_keys
    return (
        np.arange(n_factors + 1) * size,
        arcs[: n_factors * size].copy(),
        feat_ptr[: n_factors + 1].copy(),
        feat_keys[:n_keys].copy(),
        gates[:n_factors].copy(),
    )


@kernel
def score_rows(
    rows: NDArray[np.int32],
    arc_head: NDArray[np.int32],
    arc_mod: NDArray[np.int32],
    role_arc: NDArray[np.int32],
    role_is_mod: NDArray[np.bool_],
    parts: NDArray[np.uint64],
    label_parts: NDArray[np.uint64],
    codes: NDArray[np.uint64],
    index: KeyIndex,
    n_factors: int,
    out: FactorArrays,
) -> int:
    """Append the enumerated factors whose score is not 0 to a buffer; how many it then has.

    Cost: as `make_keys`, and a look-up for each key that passes the filter.
    """
    n_rows, size = rows.shape[0], rows.shape[1] - 1
    n_roles, n_templates = parts.shape[0], np.uint64(parts.shape[2])
    # Keys of a block of factors first, then their weights: the look-ups wait for memory together.
    block = 64
    key_bits, key_shift, pairs = index.bits, index.shift, index.pairs
    keys = np.empty((np.uint64(block) + np.uint64(1)) * n_templates, np.uint64)
    places = np.empty(np.uint64(block) * n_templates, np.uint64)
    ends = np.empty(block, np.uint64)
    n_known = np.uint64(pairs.shape[0])
    sums = np.empty(n_templates, np.uint64)
    low = np.uint64(63)
    six = np.uint64(6)
    one = np.uint64(1)
    at = out.ptr[n_factors]
    for first in range(0, n_rows, block):
        last = min(first + block, n_rows)
        n_keys = np.uint64(0)
        for i in range(first, last):
            code = np.uint64(rows[i, size])
            for t in range(n_templates):
                sums[t] = codes[code, t]
            for r in range(n_roles):
                arc = rows[i, role_arc[r]]
                word = np.uint64(arc_mod[arc] if role_is_mod[r] else arc_head[arc])
                for t in range(n_templates):
                    sums[t] += parts[np.uint64(r), word, t]
            for s in range(label_parts.shape[0]):
                arc = rows[i, s]
                for t in range(n_templates):
                    sums[t] += label_parts[s, arc, t]
            for t in range(n_templates):
                # Written always, kept by counting it: no branch to be mispredicted.
                keys[n_keys] = sums[t]
                bit = sums[t] >> key_shift
                n_keys += (key_bits[bit >> six] >> (bit & low)) & one
            ends[i - first] = n_keys
        for at_key in range(n_keys):
            places[at_key] = first_place(keys[at_key], key_bits, key_shift, index.starts)
        j = np.uint64(0)
        for i in range(first, last):
            total = 0.0
            while j < ends[i - first]:
                place = places[j]
                key = keys[j]
                while place < n_known and pairs[place, 0] < key:
                    place += one
                # Neither is this a branch: a filter is wrong too often to be guessed right.
                place = min(place, n_known - one)
                total += index.weights[place, 1] if pairs[place, 0] == key else 0.0
                j += one
            if total == 0.0:
                continue
            out.scores[n_factors] = total
            for k in range(size):
                out.arcs[at] = rows[i, k]
                at += 1
            n_factors += 1
            out.ptr[n_factors] = at
    return n_factors
