"""Time the first answer of `bbparse parse`: cold, warm, and two at once.

    python bench/startup.py MODEL DEV [--repeat N] [--python PYTHON]

Parses one sentence, each time in a process with its own cache folder:

* cold: the folder is empty, so everything is compiled;
* second: the next command, on the first 40 sentences; newly compiled kernels are counted;
* warm: the folder is full;
* together: two processes start at once on an empty folder. Both must succeed, print nothing on
  standard error but the notice of compiling, and write the same bytes as the others.

PYTHON is the interpreter of an environment with another version of bbparse. Writes
bench/results/startup.json, with wall-clock and processor time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from measure import arguments, markdown, write_result

# An installation has its bytecode compiled already, or may compile it.
INSTALLED = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
COMMAND = "from bbparse.apps.cli.console import console; console()"
#: What the table tells, and how.
KINDS = {
    "cold": "first, with compilation",
    "second": "next, of 40 sentences",
    "warm": "later",
    "together": "two first runs at once",
}


def timed(model: list[str], sentence: Path, folder: Path, processes: int = 1) -> dict[str, Any]:
    """Processes that parse a sentence and print its tree: seconds until all have answered,
    processor seconds of all, and what they said."""
    before, started = sum(os.times()[2:4]), time.perf_counter()
    command = [model[0], "-c", COMMAND, "parse", str(sentence), "--model", model[1]]
    options = {"cwd": folder.parent, "env": {**INSTALLED, "NUMBA_CACHE_DIR": str(folder)}}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [subprocess.Popen(command, **pipes, **options) for _ in range(processes)]
    answers = [process.communicate() for process in running]
    seconds = time.perf_counter() - started
    used = sum(os.times()[2:4]) - before  # of processes that have ended
    for process, (_, complaints) in zip(running, answers):
        told = complaints.splitlines()
        if process.returncode or any(not line.startswith(b"bbparse: compiling") for line in told):
            raise SystemExit(f"exit code {process.returncode}: {complaints.decode()}")
    return {
        "seconds": round(seconds, 3),
        "processor_seconds": round(used, 3),
        "output": [out for out, _ in answers],
    }


def main() -> None:
    """Measure and write the result."""
    given = arguments(__doc__, "model", "dev", repeat=5, python=sys.executable)
    known = Path(given.model)
    model = [given.python, str(known.resolve()) if known.exists() else given.model]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        sentence = place / "sentence.conllu"
        more = place / "more.conllu"
        blocks = Path(given.dev).read_text(encoding="utf-8").split("\n\n", 40)
        sentence.write_text(blocks[0] + "\n\n", encoding="utf-8")
        more.write_text("\n\n".join(blocks[:40]) + "\n\n", encoding="utf-8")
        cold = timed(model, sentence, place / "one")
        compiled = len(list((place / "one").rglob("*.nbc")))
        second = timed(model, more, place / "one")
        second["compiled"] = len(list((place / "one").rglob("*.nbc"))) - compiled
        del second["output"]
        warm = [timed(model, sentence, place / "one") for _ in range(given.repeat)]
        together = timed(model, sentence, place / "two", processes=2)
        after = timed(model, sentence, place / "two")
    outputs = {out for run in (cold, *warm, together, after) for out in run.pop("output")}
    if len(outputs) != 1:
        raise SystemExit(f"{len(outputs)} different outputs, expected the same from all processes")
    result: dict[str, Any] = {
        "cold": cold,
        "second": second,
        "warm": {key: median(run[key] for run in warm) for key in warm[0]},
        "together": together,
        "after_together": after,
        "compiled_functions": compiled,
    }
    rows = [(meaning, result[kind]) for kind, meaning in KINDS.items()]
    write_result(
        "startup",
        result,
        markdown(
            "run of one sentence",
            rows,
            """
        seconds {seconds:.1f} | processor seconds {processor_seconds:.1f}""",
        ),
    )


if __name__ == "__main__":
    main()
