"""What Ctrl-C does to each command, at random moments.

    python bench/interrupts.py MODEL TRAIN DEV [--times N] [--only NAME…]

Runs each command by itself, again and again until N of them were sent SIGINT at a random moment
of their runs. Each must end with 130 (KeyboardInterrupt in Python), unless it was done before, and
leave no temporary file. Parse once before, so that all is compiled. Writes
bench/results/interrupts.json.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine, markdown, write_result

from bbparse import Problem

COMMAND = [sys.executable, "-c", "from bbparse.cli.main import console; console()"]
PIPE = """
import sys, bbparse
nlp = bbparse.load(sys.argv[1])
for _ in range(100):
    list(nlp.pipe(["I saw the man with the telescope.", "You ran."] * 10))
"""


def commands(model: str, train: str, dev: str, place: Path) -> dict[str, list[str]]:
    """What is interrupted, by name."""
    Problem.from_arc_scores(np.random.default_rng(0).normal(size=(17, 17))).save(place / "p.npz")
    parse = [*COMMAND, "parse", dev, "--model", model, "--output", str(place / "out")]
    return {
        "parse": parse,
        "parse, two processes": [*parse, "--threads", "2"],
        "train": [
            *COMMAND, "train", train, "--config", "universal", "--model", str(place / "out")
        ],
        "solve": [*COMMAND, "solve", str(place / "p.npz"), "--k-best", "10000"],
        "explain": [
            *COMMAND, "explain", "I saw her duck.", "--model", model, "--output", str(place / "out")
        ],
        "nlp.pipe": [sys.executable, "-c", PIPE, model],
    }  # fmt: skip


def interrupt(command: list[str], place: Path, times: int, rng: random.Random) -> dict[str, Any]:
    """How a command ends that is interrupted at random moments."""
    ended: Counter[str] = Counter()
    slowest, left, lasts = 0.0, 0, 10.0
    while ended.total() < times:
        started = time.monotonic()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            # a script that runs in the background has its children ignore it
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        try:
            _, said = process.communicate(timeout=rng.uniform(0.0, lasts))
            if process.returncode:
                raise SystemExit(said.decode())
            lasts = time.monotonic() - started  # it is done before
            continue
        except subprocess.TimeoutExpired:
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[1]
        slowest = max(slowest, time.monotonic() - sent)
        python = said.rstrip().endswith(b"KeyboardInterrupt")
        ended["KeyboardInterrupt" if python else str(process.returncode)] += 1
        left += len(list(place.glob(".bbparse-*")))
    return {"ended": dict(ended), "slowest": round(slowest, 2), "temporary_files": left}


def main() -> None:
    """Measure and write the result."""
    arguments = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "train", "dev"):
        arguments.add_argument(name)
    arguments.add_argument("--times", type=int, default=35)
    arguments.add_argument("--only", nargs="*")
    given = arguments.parse_args()
    rng, rows = random.Random(1), {}
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for title, command in commands(given.model, given.train, given.dev, place).items():
            if given.only is None or title in given.only:
                rows[title] = interrupt(command, place, given.times, rng)
                print(title, rows[title], flush=True)
    text = markdown("interrupted", rows.items(), (
        ("times", lambda row: str(sum(row["ended"].values()))),
        ("ended with", lambda row: ", ".join(f"{key}: {n}" for key, n in row["ended"].items())),
        ("slowest, s", lambda row: f"{row['slowest']:.2f}"),
        ("temporary files", lambda row: str(row["temporary_files"])),
    ))  # fmt: skip
    write_result("interrupts", {"machine": machine(), "rows": rows}, text)


if __name__ == "__main__":
    main()
