"""Signals end a process at once, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")

START = """
import os, signal, sys, threading, time
from multiprocessing import get_context
from pathlib import Path
from bbparse.runtime.interrupts import apart, in_main_thread, undone_by
from bbparse.runtime.output import open_output, temporary_folder
from bbparse.runtime.processes import ProcessPool

place = Path(sys.argv[1])
signals = {signal.SIGINT: 130, signal.SIGTERM: 143}
say = lambda text: print(text, flush=True)
"""
END = "\nsys.exit(apart(work, signals, lambda number: say(f'signal {number}')))\n"


def started(tmp_path: Path, body: str) -> subprocess.Popen[str]:
    """A process whose work this is, when it has said that it is ready."""
    script = tmp_path.parent / f"{tmp_path.name}.py"
    script.write_text(START + body + END)
    process = subprocess.Popen(
        [sys.executable, script, tmp_path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
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
    with open_output(place / "out") as file, temporary_folder() as folder:
        Path(folder, "more").touch()
        (place / "folder").write_text(folder)
        file.write("half")
        say("ready")
        {wait}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("wait", ["time.sleep(600)", "while True: pass"])
def test_files_that_are_half_written_go(
    tmp_path: Path, number: signal.Signals, wait: str
) -> None:
    (tmp_path / "out").write_text("before")
    process = started(tmp_path, FILES.format(wait=wait))
    assert ended(process, number) == (128 + number, f"signal {number.value}\n", "")
    assert {file.name for file in tmp_path.iterdir()} == {"out", "folder"}
    assert (tmp_path / "out").read_text() == "before"
    assert not Path((tmp_path / "folder").read_text()).exists()


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
    assert ended(started(tmp_path, KERNEL)) == (130, "signal 2\n", "")


WORKERS = """
def task(number):
    with open_output(place / str(number)) as file:
        (place / f"begun-{number}").touch()
        file.write("half")
        time.sleep(600)

def work():
    pool = ProcessPool(task, 2)
    for number in range(2):
        pool.take(number)
        (place / f"pid-{number}").write_text(str(pool.workers[-1].process.pid))
    while len(list(place.glob("begun-*"))) < 2:
        time.sleep(0.01)
    say("ready")
    pool.wait()
    say("a worker has died")
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="needs forks")
def test_workers_tidy_up_and_end(tmp_path: Path) -> None:
    process = started(tmp_path, WORKERS)
    assert ended(process) == (130, "signal 2\n", "")
    assert not list(tmp_path.glob(".bbparse-*"))
    for file in tmp_path.glob("pid-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(file.read_text()), 0)


@pytest.mark.skipif(sys.platform == "darwin", reason="needs forks")
def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    process = started(tmp_path, WORKERS)
    process.kill()
    process.communicate()
    end = time.monotonic() + 60
    while list(tmp_path.glob(".bbparse-*")):
        assert time.monotonic() < end
        time.sleep(0.01)


RETURNS = """
def work():
    say("ready")
    raise SystemExit(3)
"""


def test_what_is_raised_is_raised(tmp_path: Path) -> None:
    process = started(tmp_path, RETURNS)
    assert process.wait(60) == 3


MAIN = """
def work():
    def own():
        assert threading.current_thread() is threading.main_thread()
        heard = []
        before = signal.signal(signal.SIGINT, lambda *_: heard.append("handled"))
        say("ready")
        while not heard:
            time.sleep(0.01)
        say(heard[0])
        signal.signal(signal.SIGINT, before)
        return 4
    assert threading.current_thread() is not threading.main_thread()
    return in_main_thread(own)
"""


def test_what_handles_signals_by_itself_does_so(tmp_path: Path) -> None:
    assert ended(started(tmp_path, MAIN)) == (4, "handled\n", "")


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
