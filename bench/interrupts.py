"""What Ctrl-C does to each command, at random moments.

    python bench/interrupts.py MODEL TRAIN DEV [--times N] [--only NAME…] [--busy N]

Runs each command by itself, again and again until N of them were sent SIGINT at a random moment
of their runs, with as many processes besides that do nothing but count as --busy says. Each must
end with 130, unless it was done before, within two seconds, and leave no temporary file and no
process. Writes bench/results/interrupts.json.
"""

from __future__ import annotations

import os
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
from measure import arguments, markdown, write_result

from bbparse import Problem

COMMAND = [sys.executable, "-c", "from bbparse.apps.cli.console import console; console()"]
PIPED = subprocess.DEVNULL
PIPE = """
import sys, bbparse
nlp = bbparse.load(sys.argv[1])
for _ in range(100):
    list(nlp.pipe(["I saw the man with the telescope.", "You ran."] * 10))
"""


def commands(model: str, train: str, dev: str, place: Path) -> dict[str, list[str]]:
    """What is interrupted, by name."""
    problem = Problem.from_arc_scores(np.random.default_rng(0).normal(size=(17, 17)))
    problem.save(place / "p.npz")
    solve = [*COMMAND, "solve", str(place / "p.npz")]
    subprocess.run([*solve, "--proof", str(place / "s.npz")], stdout=PIPED, check=True)
    for i in range(2):
        (place / f"shard-{i}.conllu").symlink_to(Path(dev).resolve())
    with_model, out = ["--model", model], str(place / "out")
    given = {
        "parse": ["parse", train, *with_model, "-o", out],
        "parse, two processes": ["parse", train, *with_model, "-o", out, "--threads", "2"],
        "parse, shards": [
            "parse", str(place / "shard-*.conllu"), *with_model, "--output-dir",
            str(place / "shards"), "--threads", "2",
        ],
        "parse, keep heads": ["parse", dev, *with_model, "-o", out, "--keep-heads"],
        "tag": ["tag", train, *with_model, "-o", out],
        "train": ["train", train, "--config", "universal", "--model", out],
        "train-tagger": ["train-tagger", train, "--model", out],
        "tune": ["tune", dev, *with_model],
        "explain": ["explain", "I saw her duck with a telescope.", *with_model, "-o", out],
        "evaluate": ["evaluate", train, train],
        "check": ["check", train],
        "repair": ["repair", train, "--projective", "yes", "-o", out, "--report", f"{out}.txt"],
        "calibrate": ["calibrate", dev, *with_model, "-o", out],
        "verify": ["verify", str(place / "p.npz"), str(place / "s.npz")],
        "serve": ["serve", *with_model, "--port", "0", "--workers", "1"],
    }  # fmt: skip
    return {
        **{name: [*COMMAND, *rest] for name, rest in given.items()},
        "solve": [*solve, "--k-best", "10000"],
        "nlp.pipe": [sys.executable, "-c", PIPE, model],
    }


def interrupt(command: list[str], place: Path, times: int, rng: random.Random) -> dict[str, Any]:
    """How a command ends that is interrupted at random moments."""
    ended: Counter[str] = Counter()
    slowest, files, processes, lasts = 0.0, 0, 0, 6.0
    while ended.total() < times:
        started = time.monotonic()
        process = subprocess.Popen(
            command, stdout=PIPED, stderr=subprocess.PIPE, start_new_session=True,
            # a script that runs in the background has its children ignore it
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        try:
            _, said = process.communicate(timeout=rng.uniform(0.0, lasts))
            if process.returncode not in (0, 1):
                raise SystemExit(said.decode())
            lasts = min(lasts, time.monotonic() - started)  # it is done before
            continue
        except subprocess.TimeoutExpired:
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
        slowest = max(slowest, time.monotonic() - sent)
        try:
            os.killpg(process.pid, 0)
            processes += 1
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        said = process.communicate()[1]
        python = said.rstrip().endswith(b"KeyboardInterrupt")
        ended["KeyboardInterrupt" if python else str(process.returncode)] += 1
        found = [file for file in place.rglob(".bbparse-*") if file.suffix == ".tmp"]
        files += len(found)
        for file in found:
            file.unlink()
    return {
        "ended": dict(ended), "slowest": round(slowest, 2), "temporary_files": files,
        "processes": processes,
    }  # fmt: skip


def main() -> None:
    """Measure and write the result."""
    given = arguments(__doc__, "model", "train", "dev", times=20, busy=0, only=[])
    rng, rows = random.Random(1), {}
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)
    ]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for title, command in commands(given.model, given.train, given.dev, place).items():
            if not given.only or title in given.only:
                rows[title] = interrupt(command, place, given.times, rng)
                print(title, rows[title], flush=True)
    for process in busy:
        process.kill()
    for row in rows.values():
        row["times"] = sum(row["ended"].values())
        row["ends"] = ", ".join(f"{status}: {number}" for status, number in row["ended"].items())
    text = markdown("interrupted", rows.items(), """
        times {times} | ended with {ends} | slowest, s {slowest:.2f}
        | temporary files {temporary_files} | processes {processes}""")
    write_result("interrupts", {"busy": given.busy, "rows": rows}, text)


if __name__ == "__main__":
    main()
