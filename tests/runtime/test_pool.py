"""Several at the same time, in the order of the input, and never far ahead."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from bbparse.runtime import processes
from bbparse.runtime.pool import AHEAD, Ended, WorkerLost, map_in_threads
from bbparse.runtime.processes import ProcessPool


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
    """End this process if the task is negative: by a signal, or with a status."""
    if task < 0:
        os.kill(os.getpid(), -task)
    if task > 100:
        os._exit(task)
    return 2 * task


def ended(pool: ProcessPool[int], count: int) -> list[Ended]:
    found: list[Ended] = []
    while len(found) < count:
        found += pool.wait()
    return found


def test_processes_do_queued_tasks_and_new_ones_take_the_place_of_those_lost() -> None:
    pool = ProcessPool(end_or_double, 1, queued=1)
    lost: list[tuple[int, str]] = []
    for task in (3, 123, *([-signal.SIGUSR1] if os.name == "posix" else [])):
        pool.take(task)
        assert pool.has_room()
        pool.take(7)
        assert not pool.has_room()
        last, first = sorted(ended(pool, 2), key=lambda end: end.task != 7)
        if first.error is None:
            assert (first.result, last.result) == (6, 14)
        else:
            assert first.error is last.error
            lost.append((task, str(first.error)))
    assert lost[0] == (123, "ended with 123")
    if os.name == "posix":
        assert lost[1] == (-signal.SIGUSR1, "died of SIGUSR1")
    pool.close()
    pool.close()


def test_signals_without_a_name() -> None:
    assert str(WorkerLost(-999)) == "died of signal 999"


@pytest.mark.skipif(sys.platform == "win32", reason="waits for a descriptor")
def test_processes_are_waited_for_together_with_input() -> None:
    reading, writing = os.pipe()
    pool = ProcessPool(time.sleep, 1)
    pool.take(3600)
    os.write(writing, b"x")
    assert pool.wait(reading) == []
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 60
    os.close(reading)
    os.close(writing)


def test_spawned_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "CAN_FORK", False)
    pool = ProcessPool(abs, 2)
    pool.take(-1)
    pool.take(-2)
    assert {end.task: end.result for end in ended(pool, 2)} == {-1: 1, -2: 2}
    pool.close()
