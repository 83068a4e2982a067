"""Whether answers are right: random problems of all kinds and proportions against all their trees.

    python bench/exactness.py [--problems 100000] [--seed 1] [--processes 1] [--kinds KIND …]
    python bench/exactness.py --only SEED:INDEX     # one case again, and made small if it fails
    python bench/exactness.py --again               # what was wrong in the last result, again

A case is a problem and what is asked about it, drawn by seed and index alone (`tests/fuzz/draw.py`
says what there is); `tests/fuzz/run.py` says what must hold, and `tests/oracles/forest.py` lists
and scores all trees without any code of the package. Problems of 8 to 20 words that have too many
trees ("large") are solved by each method, and none may miss a tree that another has.

Each disagreement is a line, with the problem made as small as it could be. The status is 1 if there
is one; results/exactness.json has the numbers. ``--again`` is for when a fault was mended that
other cases cannot meet: what is right by now goes from ``disagreements`` to ``mended``.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.measure import RESULTS, machine, write_result  # noqa: E402
from tests.fuzz.draw import KIND_SHARES, draw  # noqa: E402
from tests.fuzz.shrink import Report, report  # noqa: E402

#: Seconds after which a case is given up, and its process with it.
PATIENCE = 600.0
#: What a result counts of problems.
TRAITS = {
    "projective": lambda p: p.projective,
    "crossing": lambda p: not p.projective,
    "single root": lambda p: p.single_root,
    "labels": lambda p: p.arc_label is not None,
    "parts": lambda p: any(len(part[-1]) for part in p.parts),
    "factors": lambda p: len(p.factor_score) > 0,
    "count factors": lambda p: len(p.count_ptr) > 1,
    "8 words and more": lambda p: p.n_words > 7,
}


def serve(connection: Connection, seed: int, indices: range, kinds: set[str]) -> None:
    """Run cases and send the report of each."""
    met: Counter[str] = Counter()
    for index in indices:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        case = draw(seed, index)
        traits = [name for name, has in TRAITS.items() if case.problem and has(case.problem)]
        connection.send((report(case, met) if case.kind in kinds else None, traits))


def reports(
    seed: int, count: int, processes: int, kinds: set[str]
) -> Iterator[tuple[int, Report | None, list[str]]]:
    """The reports of all cases; a process that dies is one, and another goes on behind it."""
    context = multiprocessing.get_context("spawn")
    places: dict[Connection, tuple[Any, int]] = {}

    def start(first: int) -> None:
        ours, theirs = context.Pipe(duplex=False)
        indices = range(first, count, processes)
        process = context.Process(target=serve, args=(theirs, seed, indices, kinds), daemon=True)
        process.start()
        theirs.close()
        places[ours] = process, first

    for first in range(min(processes, count)):
        start(first)
    while places:
        for ready in wait(list(places)):
            assert isinstance(ready, Connection)
            process, index = places.pop(ready)
            try:
                found, traits = ready.recv()
            except EOFError:
                process.join()
                if index < count:
                    said = f"the process ended with status {process.exitcode}"
                    yield index, Report("crash", said, "", 0.0, Counter()), []
                    start(index + processes)
                continue
            places[ready] = process, index + processes
            yield index, found, traits


def line(seed: int, index: int, found: Report) -> str:
    """A disagreement, with what is needed to make it again."""
    return f"--only {seed}:{index}: {found.kind}: {found.fault}" + (
        f"\n    {found.code}" if found.code else ""
    )


class Totals:
    """Numbers of all cases that were run, and what was wrong."""

    def __init__(self, seed: int) -> None:
        self.seed, self.started = seed, time.perf_counter()
        self.wrong: list[str] = []
        self.slowest: list[tuple[float, str, str]] = []
        self.asked: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.traits: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()

    def add(self, index: int, found: Report, traits: list[str]) -> None:
        """Count a case, and print it if it is wrong."""
        self.asked[found.kind] += 1
        self.seconds[found.kind] += found.seconds
        self.traits.update(traits)
        self.notes.update(found.notes)
        this = (round(found.seconds, 2), found.kind, f"{self.seed}:{index}")
        self.slowest = sorted([*self.slowest, this], reverse=True)[:10]
        if found.fault:
            self.failed[found.kind] += 1
            self.wrong.append(line(self.seed, index, found))
            print(self.wrong[-1], flush=True)

    def result(self) -> dict[str, Any]:
        """All that is to be known later."""
        return {
            "problems": self.asked.total(), "seed": self.seed, "disagreements": self.wrong,
            "kinds": {kind: self.asked[kind] for kind in KIND_SHARES if self.asked[kind]},
            "wrong": dict(self.failed), "traits": {name: self.traits[name] for name in TRAITS},
            "met": dict(sorted(self.notes.items())),
            "processor_seconds": {kind: round(s, 1) for kind, s in self.seconds.items()},
            "slowest": self.slowest, "wall_seconds": time.perf_counter() - self.started,
            "machine": machine("highspy"),
        }  # fmt: skip


def run_again() -> list[str]:
    """Run again what was wrong in the last result, and write what still is."""
    found = json.loads((RESULTS / "exactness.json").read_text(encoding="utf-8"))
    wrong: list[str] = []
    failed: Counter[str] = Counter()
    for text in found["disagreements"]:
        seed, index = map(int, text.split()[1].rstrip(":").split(":"))
        this = report(draw(seed, index), Counter())
        if this.fault:
            wrong.append(line(seed, index, this))
            failed[this.kind] += 1
        else:
            found.setdefault("mended", []).append(text)
    write_result("exactness", {**found, "disagreements": wrong, "wrong": dict(failed)})
    return wrong


def main() -> None:
    """Run all cases, or one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=list(KIND_SHARES), default=list(KIND_SHARES))
    parser.add_argument("--only", metavar="SEED:INDEX")
    parser.add_argument("--again", action="store_true", help="run what was wrong again")
    parser.add_argument("--no-result", action="store_true", help="write no file")
    given = parser.parse_args()
    if given.only:
        seed, index = map(int, given.only.split(":"))
        found = report(draw(seed, index), Counter())
        print(line(seed, index, found) if found.fault else f"{found.kind}: nothing is wrong")
        raise SystemExit(bool(found.fault))
    if given.again:
        still = run_again()
        print("\n".join([*still, f"{len(still):,} still wrong"]))
        raise SystemExit(bool(still))
    totals = Totals(given.seed)
    cases = reports(given.seed, given.problems, given.processes, set(given.kinds))
    for index, found, traits in cases:
        if found is not None:
            totals.add(index, found, traits)
    if not given.no_result:
        write_result("exactness", totals.result())
    print(
        f"{totals.asked.total():,} problems, {len(totals.wrong):,} wrong,"
        f" {totals.seconds.total():.0f} s of processor"
        + "".join(f"; {kind} {number}" for kind, number in totals.failed.items())
    )
    raise SystemExit(bool(totals.wrong))


if __name__ == "__main__":
    main()
