"""Several at the same time, in the order of the input, and never far ahead."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator

import pytest

from bbparse.runtime import pool
from bbparse.runtime.pool import AHEAD, CAN_FORK, as_they_end, map_in_threads


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_order(threads: int) -> None:
    def slow(n: int) -> int:
        time.sleep((n % 3) / 1000)
        return n * n

    assert list(map_in_threads(slow, range(40), threads)) == [n * n for n in range(40)]
    assert list(map_in_threads(slow, [], threads)) == []


def test_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=30)
    assert len(list(map_in_threads(lambda _: together.wait(), range(6), 3))) == 6


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
        for n in map_in_threads(abs, items(), threads):
            found.append(n)
    assert found == [0, 1, 2, 3, 4]
    found.clear()
    with pytest.raises(ValueError, match="function"):
        for n in map_in_threads(picky, items(), threads):
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

    results = map_in_threads(abs, endless(), threads)
    for expected in range(1, 21):
        assert next(results) == expected
        assert read <= expected + AHEAD * threads
    results.close()  # type: ignore[attr-defined]


def end_or_double(task: int) -> int:
    """End this process if the task is negative."""
    if task < 0:
        os._exit(3)
    return 2 * task


@pytest.mark.skipif(not CAN_FORK, reason="processes are not forked")
def test_a_process_that_dies_ends_its_own_task_only() -> None:
    tasks, results = deque([1, -1, 2, 3, 4, -5, 6]), {}
    for task, future in as_they_end(end_or_double, tasks, 2):
        results[task] = "died" if future.exception() else future.result()
        if task == 4:
            tasks.append(7)
    assert results == {1: 2, -1: "died", 2: 4, 3: 6, 4: 8, -5: "died", 6: 12, 7: 14}


@pytest.mark.parametrize("forks", [True, False] if CAN_FORK else [False])
def test_workers_are_ended_whatever_they_are_doing(
    forks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "CAN_FORK", forks)
    workers = pool.Workers(time.sleep, 2)
    workers.take(0.0).result()
    started = time.monotonic()
    waiting = [workers.take(60.0 if forks else 0.1) for _ in range(6)]
    workers.close()
    assert time.monotonic() - started < 10
    assert any(future.cancelled() or future.exception() for future in waiting)
