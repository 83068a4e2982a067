"""What a `Problem` demands of its arrays as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ProblemError
from bbparse.jit import kernel
from bbparse.problem.arrays import check_lengths, check_range, check_scores, first_off_quantum
from bbparse.problem.base import DTYPES, ProblemArrays
from bbparse.problem.parts import KINDS, PART_NAMES, GrandSiblings, Siblings

#: The longest sentence: keys of four word indices must fit 64 bits (see `_part_keys`).
MAX_WORDS = 32_000


@kernel
def first_equal(left: NDArray[Any], right: NDArray[Any]) -> int:
    """First index where the two arrays hold the same value, -1 if there is none."""
    for i in range(left.shape[0]):
        if left[i] == right[i]:
            return i
    return -1


@kernel
def first_not_between(head: NDArray[Any], inner: NDArray[Any], outer: NDArray[Any]) -> int:
    """First index whose inner is neither -1 nor strictly between head and outer, -1 if none."""
    for i in range(head.shape[0]):
        if inner[i] == -1:
            continue
        if not (head[i] < inner[i] < outer[i] or outer[i] < inner[i] < head[i]):
            return i
    return -1


@kernel
def first_repeat(keys: NDArray[np.int64]) -> tuple[int, int]:
    """First index whose key was seen before and the index of that key; (-1, -1) if none.

    A pass finds keys that already rise strictly; otherwise a hash table with open addressing.
    """
    count = keys.shape[0]
    rising = True
    for i in range(1, count):
        if keys[i] <= keys[i - 1]:
            rising = False
            break
    if rising:
        return -1, -1
    bits = 4
    while (1 << bits) < 2 * count:
        bits += 1
    table = np.full(1 << bits, -1, dtype=np.int64)
    shift = np.uint64(64 - bits)
    mask = (1 << bits) - 1
    for i in range(count):
        # Fibonacci hashing: the high bits of a product with 2^64 / golden ratio.
        slot = np.int64((np.uint64(keys[i]) * np.uint64(0x9E3779B97F4A7C15)) >> shift)
        while table[slot] >= 0:
            if keys[table[slot]] == keys[i]:
                return i, table[slot]
            slot = (slot + 1) & mask
        table[slot] = i
    return -1, -1


@kernel
def second_required(arc_mod: NDArray[np.int32], arc_state: NDArray[np.int8], n: int) -> int:
    """First required arc whose modifier already has a required arc, -1 if there is none."""
    seen = np.zeros(n + 1, dtype=np.bool_)
    for a in range(arc_mod.shape[0]):
        if arc_state[a] == 1:
            if seen[arc_mod[a]]:
                return a
            seen[arc_mod[a]] = True
    return -1


@kernel
def first_bad_set(
    ptr: NDArray[np.int64], arcs: NDArray[np.int32], n_arcs: int, least: int
) -> tuple[int, int]:
    """(code, place) of the first fault of compressed sets of arcs, (0, -1) if there is none.

    Codes: 1 `ptr[place]` is below the value before it; 2 set `place` has fewer than `least` arcs;
    3 `arcs[place]` is out of range; 4 `arcs[place]` repeats an arc of its own set.
    """
    for f in range(ptr.shape[0] - 1):
        if ptr[f + 1] < ptr[f] or ptr[f + 1] > arcs.shape[0]:
            return 1, f + 1
        if ptr[f + 1] - ptr[f] < least:
            return 2, f
    last_factor = np.full(n_arcs, -1, dtype=np.int64)
    for f in range(ptr.shape[0] - 1):
        for i in range(ptr[f], ptr[f + 1]):
            a = arcs[i]
            if a < 0 or a >= n_arcs:
                return 3, i
            if last_factor[a] == f:
                return 4, i
            last_factor[a] = f
    return 0, -1


def check_problem(p: ProblemArrays) -> None:
    """Check every rule of the `Problem` contract; dtypes and dimensions are right already.

    Raises
    ------
    ProblemError
        For the first rule that is broken, naming the array and the index.
    """
    _check_arcs(p)
    for kind in KINDS:
        _check_parts(p, kind)
    _check_factors(p)
    _check_counts(p)
    if not (np.isfinite(p.quantum) and p.quantum >= 0):
        raise ProblemError(f"quantum is {p.quantum}, expected a finite number >= 0")
    if p.quantum > 0:
        for name in (name for name in DTYPES if name.endswith("_score")):
            i = first_off_quantum(getattr(p, name), p.quantum)
            if i >= 0:
                raise ProblemError(
                    f"{name}[{i}] is {getattr(p, name)[i]}, expected a multiple of"
                    f" quantum = {p.quantum}"
                )


def _check_distinct(name: str, other: str, values: NDArray[Any], others: NDArray[Any]) -> None:
    i = first_equal(values, others)
    if i >= 0:
        raise ProblemError(f"{name}[{i}] is {values[i]}, the same word as {other}[{i}]")


def _check_arcs(p: ProblemArrays) -> None:
    n, count = p.n_words, len(p.arc_head)
    arrays: dict[str, NDArray[Any]] = {
        "arc_mod": p.arc_mod, "arc_score": p.arc_score, "arc_state": p.arc_state
    }  # fmt: skip
    if p.arc_label is not None:
        arrays["arc_label"] = p.arc_label
    check_lengths(arrays, count, "arc_head")
    if not count:
        return
    check_range("arc_head", p.arc_head, 0, n)
    check_range("arc_mod", p.arc_mod, 1, n)
    check_range("arc_state", p.arc_state, -1, 1)
    _check_distinct("arc_mod", "arc_head", p.arc_mod, p.arc_head)
    check_scores("arc_score", p.arc_score)
    keys = p.arc_head.astype(np.int64) * (n + 1) + p.arc_mod
    if p.arc_label is not None:
        check_range("arc_label", p.arc_label, 0, np.iinfo(np.int32).max)
        keys = (keys << 31) + p.arc_label
    i, j = first_repeat(keys)
    if i >= 0:
        labelled = "" if p.arc_label is None else f" with label {p.arc_label[i]}"
        raise ProblemError(
            f"arc_mod[{i}] repeats the arc {p.arc_head[i]} -> {p.arc_mod[i]}{labelled} of"
            f" arc_mod[{j}]"
        )
    i = second_required(p.arc_mod, p.arc_state, n)
    if i >= 0:
        raise ProblemError(f"arc_state[{i}] requires a second head of word {p.arc_mod[i]}")


def _part_keys(n: int, *columns: NDArray[np.int32]) -> NDArray[np.int64]:
    """One integer per part, different for different parts: up to four columns of words -1..n."""
    keys = columns[0].astype(np.int64) + 1
    for column in columns[1:]:
        keys = keys * (n + 2) + (column + 1)
    return keys


def _check_repeats(kind: str, n: int, *columns: NDArray[np.int32]) -> None:
    i, j = first_repeat(_part_keys(n, *columns))
    if i >= 0:
        words = ", ".join(str(column[i]) for column in columns)
        raise ProblemError(
            f"{kind}_score[{i}] scores the part ({words}) of {kind}_score[{j}] again"
        )


#: Of each kind of part, the smallest word in each column: the root is 0, and -1 is no word.
_LOWEST = {"sib": (0, -1, 1), "gc": (0, 1, 1), "ogc": (0, 1, 1), "gsib": (-1, 0, -1, 1)}


def _check_parts(p: ProblemArrays, kind: str) -> None:
    part = getattr(p.parts, kind)
    arrays = dict(zip(PART_NAMES[kind], part))
    check_lengths(arrays, len(part.head), f"{kind}_head")
    if not len(part.head):
        return
    for (name, words), lowest in zip(arrays.items(), _LOWEST[kind]):
        check_range(name, words, lowest, p.n_words)
    if kind.endswith("sib"):
        _check_siblings(p.n_words, kind, part)
    else:
        _check_distinct(f"{kind}_head", f"{kind}_grand", part.head, part.grand)
        _check_distinct(f"{kind}_mod", f"{kind}_head", part.mod, part.head)
        _check_distinct(f"{kind}_mod", f"{kind}_grand", part.mod, part.grand)
    check_scores(f"{kind}_score", part.score)
    _check_repeats(kind, p.n_words, *part[:-1])


def _check_siblings(n: int, kind: str, part: Siblings | GrandSiblings) -> None:
    head, inner, outer = part.head, part.inner, part.outer
    _check_distinct(f"{kind}_outer", f"{kind}_head", outer, head)
    i = first_not_between(head, inner, outer)
    if i >= 0:
        raise ProblemError(
            f"{kind}_inner[{i}] is {inner[i]}, expected -1 or a word strictly between"
            f" {kind}_head[{i}] = {head[i]} and {kind}_outer[{i}] = {outer[i]}"
        )
    if isinstance(part, Siblings):
        return
    grand = part.grand
    bad = np.flatnonzero((grand == -1) != (head == 0))
    if len(bad):
        i = int(bad[0])
        wanted = "-1" if head[i] == 0 else f"0..{n}"
        raise ProblemError(
            f"gsib_grand[{i}] is {grand[i]}, expected {wanted} as gsib_head[{i}] is {head[i]}"
        )
    _check_distinct("gsib_grand", "gsib_head", grand, head)
    _check_distinct("gsib_grand", "gsib_outer", grand, outer)
    _check_distinct("gsib_inner", "gsib_grand", np.where(inner == -1, -2, inner), grand)


def _check_sets(p: ProblemArrays, kind: str, what: str, least: int) -> None:
    """The sets of arcs of factors or of count factors; least: the fewest arcs of one."""
    ptr, arcs = getattr(p, f"{kind}_ptr"), getattr(p, f"{kind}_arcs")
    if not len(ptr):
        raise ProblemError(f"{kind}_ptr is empty, expected one element more than {what}s")
    if ptr[0] != 0:
        raise ProblemError(f"{kind}_ptr[0] is {ptr[0]}, expected 0")
    code, i = first_bad_set(ptr, arcs, len(p.arc_head), least)
    if code == 1:
        raise ProblemError(
            f"{kind}_ptr[{i}] is {ptr[i]}, expected {ptr[i - 1] + least}..{len(arcs)}"
            f" after {kind}_ptr[{i - 1}] = {ptr[i - 1]}"
        )
    if code == 2:
        raise ProblemError(
            f"{kind}_ptr[{i + 1}] is {ptr[i + 1]}: {what} {i} has {ptr[i + 1] - ptr[i]} arcs,"
            f" expected at least {least}"
        )
    if code == 3:
        raise ProblemError(f"{kind}_arcs[{i}] is {arcs[i]}, expected 0..{len(p.arc_head) - 1}")
    if code == 4:
        raise ProblemError(f"{kind}_arcs[{i}] is {arcs[i]}, an arc its factor has already")
    if ptr[-1] != len(arcs):
        raise ProblemError(
            f"{kind}_ptr[{len(ptr) - 1}] is {ptr[-1]}, expected {len(arcs)}:"
            f" the number of elements of {kind}_arcs"
        )


def _check_factors(p: ProblemArrays) -> None:
    if len(p.factor_score) != len(p.factor_ptr) - 1 and len(p.factor_ptr):
        raise ProblemError(
            f"factor_score has {len(p.factor_score)} elements, expected {len(p.factor_ptr) - 1}:"
            " one fewer than factor_ptr"
        )
    _check_sets(p, "factor", "factor", 2)
    check_scores("factor_score", p.factor_score, allow_minus_inf=True)


def _check_counts(p: ProblemArrays) -> None:
    _check_sets(p, "count", "count factor", 1)
    ptr = p.count_score_ptr
    check_lengths({"count_score_ptr": ptr}, len(p.count_ptr), "count_ptr")
    # A set of r arcs has a score for each of the numbers 0..r.
    wanted = p.count_ptr + np.arange(len(ptr))
    bad = np.flatnonzero(ptr != wanted)
    if len(bad):
        i = int(bad[0])
        sizes = f": count factor {i - 1} has {p.count_ptr[i] - p.count_ptr[i - 1]} arcs"
        raise ProblemError(
            f"count_score_ptr[{i}] is {ptr[i]}, expected {wanted[i]}{sizes if i else ''}"
        )
    if len(p.count_score) != ptr[-1]:
        raise ProblemError(
            f"count_score has {len(p.count_score)} elements, expected {ptr[-1]} ="
            f" count_score_ptr[{len(ptr) - 1}]"
        )
    check_scores("count_score", p.count_score, allow_minus_inf=True)
