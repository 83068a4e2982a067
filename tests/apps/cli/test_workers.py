"""Workers answer all that has arrived before more input is waited for."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from bbparse.apps.corpus.files import answers
from bbparse.runtime import pool
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
    return Section([Block(line, 1, number, "", "")])


def numbered(count: int) -> Iterator[Section]:
    return (made(b"%d" % number, number + 1) for number in range(count))


def shout(section: Section) -> str:
    time.sleep((section[0].number % 3) / 500)
    return f"{section.raw.decode()}!ä"


def test_everything_is_answered_before_more_is_waited_for(kind: bool) -> None:
    """One section, or three, then nothing until they are answered."""
    out = 0

    def talk() -> Iterator[Section | None]:
        given = 0
        for count in (1, 3, 1, 7):
            yield from numbered(count)
            given += count
            yield None
            assert out == given

    for _ in answers(shout, talk(), 2):
        out += 1
    assert out == 12


@pytest.mark.skipif(not CAN_FORK, reason="processes are not forked")
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

    found = answers(slow, lines(), 2)
    os.write(writing, b"a b c d ")
    assert [next(found)[1] for _ in range(4)] == ["a!ä", "b!ä", "c!ä", "d!ä"]
    os.write(writing, b"e f ")
    assert [answer for _, answer in found] == ["e!ä", "f!ä"]
    os.close(reading)
    os.close(writing)
