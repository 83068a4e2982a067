"""Several at the same time, in the order of the input, and never far ahead."""

from __future__ import annotations

import os
import signal
import stat
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from bbparse.runtime import pool
from bbparse.runtime.errors import WorkerError
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


class Halved:
    """A result while whose writing its process is killed, when half of it is in the pipe."""

    def __reduce__(self) -> tuple[Any, ...]:
        for name in os.listdir("/dev/fd"):
            with suppress(OSError):
                if int(name) > 2 and stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                    os.write(int(name), struct.pack("!i", 1000) + b"half")
        os.kill(os.getpid(), signal.SIGKILL)
        return int, ()


def die_or_double(task: int) -> Any:
    """Die if the task is negative, or in the middle of the result if it is less than -2."""
    if -3 < task < 0:
        os._exit(3)
    return Halved() if task < 0 else 2 * task


@pytest.mark.skipif(not CAN_FORK, reason="processes are not forked")
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_process_that_dies_ends_its_own_task_only(size: int) -> None:
    tasks, results = deque([1, -1, 2, 3, 4, -5, 6, -8]), {}
    for task, future in as_they_end(die_or_double, tasks, size):
        results[task] = "died" if future.exception() else future.result()
        if task == 4:
            tasks.append(7)
    expected = {task: 2 * task if task > 0 else "died" for task in (1, -1, 2, 3, 4, -5, 6, -8, 7)}
    assert results == expected


@pytest.mark.skipif(not CAN_FORK, reason="processes are not forked")
def test_more_processes_than_there_can_be() -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 12, limits[1]))
    try:
        with pytest.raises(WorkerError, match="no more processes can be started: Too many"):
            pool.Workers(abs, 50)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


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
