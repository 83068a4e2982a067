"""Signals end a process at once, and leave nothing behind; what handlers raise is not lost."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.runtime.jit import kernel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")

START = """
import os, signal, sys, threading, time
from pathlib import Path
from bbparse.runtime.output import open_output
from bbparse.runtime.pool import Workers
from bbparse.runtime.signals import until_signal, stopped_by, undone_by

place = Path(sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)
say = lambda text: print(text, flush=True)
"""
END = "\nsys.exit(until_signal(work))\n"
TOLD = {signal.SIGINT: "bbparse: interrupted\n", signal.SIGTERM: "bbparse: ended by SIGTERM\n"}


def started(tmp_path: Path, body: str) -> subprocess.Popen[str]:
    """A process whose work this is, when it has said that it is ready."""
    script = tmp_path.parent / f"{tmp_path.name}.py"
    script.write_text(START + body + END)
    process = subprocess.Popen(
        [sys.executable, script, tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()[1]
    return process


def ended(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str, str]:
    """How a process ends that is sent a signal: at once."""
    sent = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < 5
    return process.returncode, out, err


FILES = """
def work():
    with open_output(place / "out") as file:
        file.write("half")
        say("ready")
        {wait}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("wait", ["time.sleep(600)", "while True: pass"])
def test_files_that_are_half_written_go(tmp_path: Path, number: signal.Signals, wait: str) -> None:
    (tmp_path / "out").write_text("before")
    process = started(tmp_path, FILES.format(wait=wait))
    assert ended(process, number) == (128 + number, "", TOLD[number])
    assert {file.name for file in tmp_path.iterdir()} == {"out"}
    assert (tmp_path / "out").read_text() == "before"


KERNEL = """
import numpy as np
from bbparse.runtime.jit import kernel

@kernel
def busy(rounds):
    state = 1
    for _ in range(rounds):
        state = (state * 16807) % 2147483647
    return np.full(3, state)

def work():
    busy(1)
    say("ready")
    busy(10**12)
"""


def test_a_kernel_does_not_hold_it_up(tmp_path: Path) -> None:
    code, out, err = ended(started(tmp_path, KERNEL))
    assert (code, out) == (130, "") and err.endswith(TOLD[signal.SIGINT])  # after: compiling


WORKERS = """
def task(number):
    with open_output(place / str(number)) as file:
        (place / f"begun-{number}").touch()
        file.write("half")
        time.sleep(600)

def work():
    pool = Workers(task, 2)
    futures = [pool.take(number) for number in range(2)]
    for number, pid in enumerate(pool.pids):
        (place / f"pid-{number}").write_text(str(pid))
    while len(list(place.glob("begun-*"))) < 2:
        time.sleep(0.01)
    say("ready")
    futures[0].exception()
    say("a worker has died")
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="needs forks")
def test_workers_end_too(tmp_path: Path) -> None:
    process = started(tmp_path, WORKERS)
    assert ended(process) == (130, "", TOLD[signal.SIGINT])
    for file in tmp_path.glob("pid-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(file.read_text()), 0)


@pytest.mark.skipif(sys.platform != "linux", reason="needs forks and /proc")
def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    process = started(tmp_path, WORKERS)
    process.kill()
    process.communicate()
    end = time.monotonic() + 60
    while any(Path("/proc", file.read_text()).exists() for file in tmp_path.glob("pid-*")):
        assert time.monotonic() < end
        time.sleep(0.01)


FORKS = """
def double(number):
    return 2 * number if number else os._exit(3)

def work():
    os.register_at_fork(before=lambda: say(len(os.listdir("/proc/self/task"))))
    say("ready")
    pool = Workers(double, 2)
    futures = [pool.take(number) for number in (1, 0, 2, 0, 3)]
    say([future.exception() or future.result() for future in futures][::2])
    pool.close()
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs forks and /proc")
def test_only_processes_with_a_single_thread_are_forked(tmp_path: Path) -> None:
    process = started(tmp_path, FORKS)
    assert process.stdout is not None
    lines = list(iter(process.stdout.readline, "[2, 4, 6]\n"))
    assert len(lines) >= 4 and set(lines) == {"1\n"}  # the maker, workers, others in their place
    assert ended(process) == (130, "", TOLD[signal.SIGINT])


RETURNS = """
def work():
    say("ready")
    raise SystemExit(3)
"""


def test_what_is_raised_is_raised(tmp_path: Path) -> None:
    process = started(tmp_path, RETURNS)
    assert process.wait(60) == 3


SERVER = """
def work():
    heard = threading.Event()
    with stopped_by(lambda number: (say(number), heard.set())):
        say("ready")
        heard.wait()
    return 4
"""


def test_a_server_ends_by_itself(tmp_path: Path) -> None:
    assert ended(started(tmp_path, SERVER)) == (4, "2\n", "")


AGAIN = """
def work():
    with undone_by(lambda _: (say("undoing"), time.sleep(600)), lambda: None):
        say("ready")
        time.sleep(600)
"""


def test_a_second_signal_ends_what_hangs(tmp_path: Path) -> None:
    process = started(tmp_path, AGAIN)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "undoing\n"
    assert ended(process) == (130, "", "")


# ---- kernels that are called in the main thread ----------------------------------------------


class CameError(Exception):
    """Raised by the handler."""


@pytest.fixture
def alarm() -> Iterator[None]:
    def come(number: int, frame: Any) -> None:
        raise CameError

    before = signal.signal(signal.SIGALRM, come)
    gc.disable()  # what is raised while a callback of the collector runs is lost
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)
    gc.enable()


@kernel
def _busy(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays, after a while."""
    state = 1
    for _ in range(rounds):
        state = (state * 16807) % 2147483647
    return np.full(3, state), np.full(2, 0.5)


def test_a_signal_during_a_kernel_is_raised_as_it_is(alarm: None) -> None:
    _busy(1)
    for _ in range(20):
        with pytest.raises(CameError):
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            for _ in range(1000):
                _busy(1_000_000)


def test_a_signal_during_compilation_is_raised(alarm: None) -> None:
    @kernel
    def added(x: int) -> int:
        return x + number

    number = time.time_ns()  # so that no cache has it
    with pytest.raises(CameError):
        signal.setitimer(signal.ITIMER_REAL, 0.002)  # compiling takes 14 ms or more
        added(1)
    assert added(1) == number + 1
