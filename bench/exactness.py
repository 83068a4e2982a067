"""Compare answers to random problems of all kinds and scales with all their trees.

    python bench/exactness.py [--problems 100000] [--seed 1] [--processes 1] [--kinds KIND…]
    python bench/exactness.py --only SEED:INDEX     # repeat one case, and shrink it if it fails

A case is a problem and a request, drawn from seed and index (`tests/fuzz/draw.py`).
`tests/fuzz/run.py` checks the answer; `tests/oracles/forest.py` lists and scores all trees without
code of the package. Problems of 8 to 20 words with too many trees ("large") are solved by each
method, and none may miss a tree that another finds. Each disagreement prints a line with the
shrunk problem; the status is then 1. results/exactness.json has the counts.
"""

from __future__ import annotations

import faulthandler
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from measure import arguments, markdown, write_result

from bbparse.runtime.errors import WorkerError
from bbparse.runtime.pool import as_they_end

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.fuzz.draw import KIND_SHARES, draw
from tests.fuzz.shrink import Report, report

#: Seconds after which a case is given up, and its process with it.
PATIENCE = 600.0
#: Kind of case → its description.
KINDS = {
    "search": "branch and bound, default settings, 1 to 50 trees",
    "settings": "branch and bound, random settings",
    "gap": "with a gap, each method",
    "limit": "with a limit of nodes, time or work",
    "ilp": "the integer program",
    "pricing": "price and cut",
    "proof": "proofs, checked by the independent checker",
    "batch": "batches on several threads, in several orders",
    "agree": "`agree` with two or three oracles",
    "rules": "valid trees under random rules, all labels enumerated",
    "large": "8 to 20 words, methods against each other",
}
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


def run_case(
    seed: int, kinds: set[str], met: Counter[str], index: int
) -> tuple[Report | None, list[str]]:
    """The report of a case, if its kind is wanted, and the traits of its problem."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    case = draw(seed, index)
    traits = [name for name, has in TRAITS.items() if case.problem and has(case.problem)]
    return report(case, met) if case.kind in kinds else None, traits


def reports(
    seed: int, count: int, processes: int, kinds: set[str]
) -> Iterator[tuple[int, Report | None, list[str]]]:
    """The reports of all cases; a process that is lost is one, and another goes on."""
    work = partial(run_case, seed, kinds, Counter())
    with closing(as_they_end(work, deque(range(count)), processes)) as ended:
        for index, future in ended:
            if isinstance(future.exception(), WorkerError):
                yield index, Report("crash", "the process died", "", 0.0, Counter()), []
            else:
                yield index, *future.result()


def line(seed: int, index: int, found: Report) -> str:
    """A disagreement, with what is needed to make it again."""
    return f"--only {seed}:{index}: {found.kind}: {found.fault}" + (
        f"\n    {found.code}" if found.code else ""
    )


def totals(seed: int, cases: Iterable[tuple[int, Report | None, list[str]]]) -> dict[str, Any]:
    """Numbers of all cases that were run, and what was wrong, which is printed at once."""
    started = time.perf_counter()
    wrong: list[str] = []
    slowest: list[tuple[float, str, str]] = []
    asked, failed, seconds, told, notes = (Counter[str]() for _ in range(5))
    for index, found, traits in cases:
        if found is None:
            continue
        asked[found.kind] += 1
        seconds[found.kind] += found.seconds
        told.update(traits)
        notes.update(found.notes)
        this = (round(found.seconds, 2), found.kind, f"{seed}:{index}")
        slowest = sorted([*slowest, this], reverse=True)[:10]
        if found.fault:
            failed[found.kind] += 1
            wrong.append(line(seed, index, found))
            print(wrong[-1], flush=True)
    return {
        "problems": asked.total(),
        "seed": seed,
        "disagreements": wrong,
        "kinds": {kind: asked[kind] for kind in KIND_SHARES if asked[kind]},
        "wrong": dict(failed),
        "traits": {name: told[name] for name in TRAITS},
        "met": dict(sorted(notes.items())),
        "processor_seconds": {kind: round(s, 1) for kind, s in seconds.items()},
        "slowest": slowest,
        "wall_seconds": time.perf_counter() - started,
    }


def write(found: dict[str, Any]) -> None:
    """Write the result: problems, wrong answers, false solutions shown to the checker."""
    wrong = {**found["wrong"], "all": len(found["disagreements"])}
    asked = {KINDS[kind]: kind for kind in found["kinds"]} | {"all": "all"}
    numbers = {**found["kinds"], "all": found["problems"]}
    text = markdown(
        "case",
        asked.items(),
        (
            ("problems", lambda kind: f"{numbers[kind]:,}"),
            ("wrong", lambda kind: f"{wrong.get(kind, 0):,}"),
        ),
    )
    traits = ", ".join(f"{name} {number:,}" for name, number in found["traits"].items())
    lies = sum(number for name, number in found["met"].items() if name.startswith("lie: "))
    text += (
        f"\nAmong them: {traits}.\n\nFalse solutions with original or tampered"
        f" proofs, which the checker must refuse: {lies:,}.\n"
    )
    write_result("exactness", found, text, ["highspy"])


def main() -> None:
    """Run all cases, or one."""
    given = arguments(
        __doc__, problems=100_000, seed=1, processes=1, kinds=[], only=str, no_result=False
    )
    kinds = set(given.kinds) or {*KIND_SHARES}
    if not kinds <= {*KIND_SHARES}:
        raise SystemExit(f"--kinds: there are {', '.join(KIND_SHARES)}")
    if given.only:
        seed, index = map(int, given.only.split(":"))
        found = report(draw(seed, index), Counter())
        print(line(seed, index, found) if found.fault else f"{found.kind}: nothing is wrong")
        raise SystemExit(bool(found.fault))
    result = totals(given.seed, reports(given.seed, given.problems, given.processes, kinds))
    if not given.no_result:
        write(result)
    print(
        f"{result['problems']:,} problems, {len(result['disagreements']):,} wrong,"
        f" {sum(result['processor_seconds'].values()):.0f} s of processor"
        + "".join(f"; {kind} {number}" for kind, number in result["wrong"].items())
    )
    raise SystemExit(bool(result["disagreements"]))


if __name__ == "__main__":
    main()
