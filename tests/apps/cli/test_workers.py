"""Workers answer in order, a little ahead, and what becomes of them is told."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from select import select

import pytest

from bbparse.apps.cli.parse import answers
from bbparse.runtime import pool
from bbparse.runtime.errors import WorkerError
from bbparse.runtime.pool import CAN_FORK
from bbparse.treebank.reading import Block
from bbparse.treebank.sections import Section

# processes where they can be forked, and threads everywhere
KINDS = [True, False] if CAN_FORK else [False]


@pytest.fixture(params=KINDS, ids=lambda forks: "forks" if forks else "threads")
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether workers are processes."""
    monkeypatch.setattr(pool, "CAN_FORK", request.param)
    return bool(request.param)


def made(line: bytes, number: int) -> Section:
    return Section([Block([line], 1, number, "", "")])


def numbered(count: int) -> Iterator[Section]:
    for number in range(count):
        yield made(b"%d" % number, number + 1)


def shout(section: Section) -> str:
    return f"{section.raw.decode()}!ä"


def answered(found: Iterator[tuple[Section, bytes | None]]) -> list[str]:
    """All answers; those that are left to the caller as ``-``."""
    return ["-" if answer is None else answer.decode() for _, answer in found]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_order(kind: bool, count: int) -> None:
    def slow(section: Section) -> str:
        time.sleep((section.number % 3) / 500)
        return shout(section)

    for most in (2, 3):
        found = list(answers(slow, numbered(count), most))
        assert [section for section, _ in found] == list(numbered(count))
        assert answered(iter(found)) == ["-", *(f"{n}!ä" for n in range(1, count))]
    assert answered(answers(shout, numbered(count), 1)) == ["-"] * count
    assert answered(answers(shout, [], 2)) == []


def test_answers_of_any_size(kind: bool) -> None:
    big = "x" * 3_000_000
    sections = [made(big.encode(), 1)] * 9
    assert answered(answers(lambda section: section.raw.decode(), sections, 2)) == [
        "-", *[big] * 8,
    ]  # fmt: skip
    assert answered(answers(lambda section: "", numbered(3), 2)) == ["-", "", ""]


def test_what_fails_is_left_to_the_caller(kind: bool) -> None:
    def picky(section: Section) -> str:
        if section.number in (3, 7):
            raise ValueError(section.number)
        if section.number == 5:
            return "\udcff"  # no text that can be written
        return shout(section)

    found = answered(answers(picky, numbered(8), 2))
    assert found == ["-", "1!ä", "-", "3!ä", "-", "5!ä", "-", "7!ä"]


def children() -> set[str]:
    """Processes that this one has started, those that have ended and were not waited for, too."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {pid for task in tasks for pid in task.read_text().split()}


#: What other tests have left: multiprocessing keeps a process of its own.
_before: set[str] = set()


@pytest.fixture(autouse=True)
def _children_before() -> None:
    _before.clear()
    _before.update(children())


def assert_no_children() -> None:
    assert children() <= _before


def test_everything_is_answered_before_more_is_waited_for(kind: bool) -> None:
    """One section, or three, then nothing until they are answered."""
    out = 0

    def talk() -> Iterator[Section | None]:
        given = 0
        for count in (1, 3, 1, 7):
            for section in numbered(count):
                yield section
                given += 1
            yield None
            assert out == given

    for _ in answers(shout, talk(), 2):
        out += 1
    assert out == 12


if CAN_FORK:

    def test_a_worker_that_dies_is_told_of() -> None:
        def deadly(section: Section) -> str:
            if section.number == 6:
                os.kill(os.getpid(), signal.SIGKILL)
            return shout(section)

        with pytest.raises(WorkerError, match="has died, as when memory runs out"):
            answered(answers(deadly, numbered(20), 2))
        assert_no_children()

    def test_a_worker_that_is_killed_while_it_has_nothing_to_do() -> None:
        found = answers(lambda section: str(os.getpid()), numbered(40), 2)
        _, pid = [next(found) for _ in range(2)][1]
        assert pid is not None
        os.kill(int(pid), signal.SIGKILL)
        with pytest.raises(WorkerError, match="has died"):
            answered(found)
        assert_no_children()

    def test_answers_come_while_more_input_is_waited_for() -> None:
        """A pipe that is read, and is empty, does not hold up what a slow worker makes."""
        reading, writing = os.pipe()

        def lines() -> Iterator[Section | None]:
            number = 0
            while True:
                yield None
                for line in os.read(reading, 100).split():
                    number += 1
                    yield made(line, number)
                if not number or number == 6:
                    return

        def slow(section: Section) -> str:
            time.sleep(0.05)
            return shout(section)

        found = answers(slow, lines(), 2, lambda: bool(select([reading], [], [], 0.0)[0]))
        os.write(writing, b"a b c d ")
        assert answered(next(found) for _ in range(4)) == ["-", "b!ä", "c!ä", "d!ä"]
        os.write(writing, b"e f ")
        assert answered(found) == ["e!ä", "f!ä"]
        os.close(reading)
        os.close(writing)
        assert_no_children()
