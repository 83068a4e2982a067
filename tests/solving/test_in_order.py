"""Several at the same time, in the order of the input, and never far ahead."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from bbparse.solving.in_order import AHEAD, in_order


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_order(threads: int) -> None:
    def slow(n: int) -> int:
        time.sleep((n % 3) / 1000)
        return n * n

    assert list(in_order(slow, range(40), threads)) == [n * n for n in range(40)]
    assert list(in_order(slow, [], threads)) == []


def test_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=30)
    assert len(list(in_order(lambda _: together.wait(), range(6), 3))) == 6


@pytest.mark.parametrize("threads", [1, 2])
def test_results_before_an_error_come_first(threads: int) -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise KeyError("items")

    def picky(n: int) -> int:
        if n == 3:
            raise ValueError("function")
        return n

    found = []
    with pytest.raises(KeyError, match="items"):
        for n in in_order(abs, items(), threads):
            found.append(n)
    assert found == [0, 1, 2, 3, 4]
    found.clear()
    with pytest.raises(ValueError, match="function"):
        for n in in_order(picky, items(), threads):
            found.append(n)
    assert found == [0, 1, 2]


@pytest.mark.parametrize("threads", [1, 2])
def test_endless_items_are_read_a_little_ahead_only(threads: int) -> None:
    read = 0

    def endless() -> Iterator[int]:
        nonlocal read
        while True:
            read += 1
            yield read

    results = in_order(abs, endless(), threads)
    for expected in range(1, 21):
        assert next(results) == expected
        assert read <= expected + AHEAD * threads
    results.close()  # type: ignore[attr-defined]
