"""Kernels give what their functions give, and free what they allocate, however they are lowered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from typing import NamedTuple

import numpy as np
from numba.core.runtime import rtsys

from bbparse.runtime.jit import kernel


class Pair(NamedTuple):
    left: object
    right: object
    swapped: bool


class Held(NamedTuple):
    pair: object
    table: object


@kernel
def swapped(pair):
    return Pair(pair.right, pair.left, not pair.swapped)


@kernel
def first_of(*pairs):
    return pairs[0].left


@kernel
def fill(held, row):
    pair = held.pair
    for _ in range(row):
        pair = swapped(pair)  # now what is given, now what is made
    total = 0.0
    for j in range(pair.left.shape[0]):
        total += pair.left[j] * pair.right[-1 - j] ** 2 + held.table[row, np.uint32(j)]
    held.table[row, -1] = total
    held.table[-1 - row, 0] -= pair.left.size // 2
    return pair, total


@kernel
def tail(numbers):
    return numbers[1:], numbers


@kernel
def is_odd(numbers, n):
    return numbers[0] if n == 0 else is_even(numbers, n - 1)


@kernel
def is_even(numbers, n):
    return numbers[1] if n == 0 else is_odd(numbers, n - 1)


@kernel
def product(numbers, n):
    return 1.0 if n == 0 else numbers[n - 1] * product(numbers, n - 1)


@kernel
def everything(left, right, table):
    held = Held(Pair(left, right, False), table)
    kept = left
    sums = 0.0
    for i in range(table.shape[0]):
        pair, total = fill(held, i)
        sums += total
        if pair.swapped:
            kept = pair.left
    ends, whole = tail(np.arange(5) * 2)
    odd = is_odd(np.arange(3.0), 3), product(left, 3)
    return sums, kept, first_of(pair, held.pair), ends, whole, held.pair, odd


def arguments():
    wide = np.arange(24.0).reshape(3, 8)
    return np.arange(1.0, 5.0), np.arange(8.0)[::2] ** 2, wide[:, ::2]


given, expected = arguments(), arguments()
found = everything(*given)
reference = everything.py_func(*expected)


def same(one, other):
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other)


assert same(found, reference), (found, reference)
assert all(map(np.array_equal, arguments()[:2], given[:2]))
del found, reference
before = rtsys.get_allocation_stats()
for _ in range(100):
    everything(*arguments())
after = rtsys.get_allocation_stats()
assert after.alloc - before.alloc == after.free - before.free > 0
"""


def test_kernels_give_what_their_functions_give(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "NUMBA_NRT_STATS": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment, check=True)
