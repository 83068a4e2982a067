"""Reports of cases; and a failing case made small, by dropping what it fails without."""

from __future__ import annotations

import dataclasses
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import FIELDS, KINDS, PART_NAMES, rows_of, set_fields, set_rows
from bbparse.runtime.errors import BBParseError
from tests.fuzz.draw import Case
from tests.fuzz.run import Notes, run

#: Seconds of the processor for making one case small.
SECONDS = 20.0
#: Cases that fail alike and are made small.
MOST = 3


@dataclass(frozen=True)
class Report:
    """A case that was run: what is wrong or the empty string, and the case made small if so."""

    kind: str
    fault: str
    code: str
    seconds: float  #: of the processor
    notes: Notes


def report(case: Case, met: Counter[str]) -> Report:
    """Run a case, and make it small if it fails as few others did; ``met`` counts them."""
    notes: Notes = Counter()
    started = time.process_time()
    said = verdict(case, notes)
    seconds = time.process_time() - started
    text = ""
    if said:
        alike = f"{case.kind}: {class_of(said)}"
        met[alike] += 1
        if met[alike] <= MOST:
            case = shrink(case)
            text = f"{code(case)}: {verdict(case)}"
    return Report(case.kind, said, text, seconds, notes)


def verdict(case: Case, notes: Notes | None = None) -> str:
    """What is wrong with a case; an error of the program is wrong, too."""
    try:
        return run(case, Counter() if notes is None else notes)
    except Exception as error:  # whatever it is, a user would have met it
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def class_of(said: str) -> str:
    """What faults of one kind have in common: the text up to the first number."""
    return re.split(r"[0-9,(\[]|proof spoiled", said)[0]


def shrink(case: Case) -> Case:
    """A case that fails alike and is as small as could be made in `SECONDS`."""
    if case.problem is None:
        return case
    wanted, end = class_of(verdict(case)), time.process_time() + SECONDS
    tried: Iterator[Case] = _smaller(case)
    while time.process_time() < end:
        smaller = next(tried, None)
        if smaller is None:
            break
        if class_of(verdict(smaller)) == wanted:
            case = smaller
            tried = _smaller(case)
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """The case with something left out or plainer, what leaves out most first."""
    p = case.problem
    assert p is not None
    for name in case.options:
        options = {key: x for key, x in case.options.items() if key != name}
        if name not in ("method", "pricing"):
            yield dataclasses.replace(case, options=options)
    for k in (1, case.k_best // 2, case.k_best - 1):
        if 1 <= k < case.k_best:
            yield dataclasses.replace(case, k_best=k)
    for changes in _less(p):
        try:
            yield dataclasses.replace(case, problem=dataclasses.replace(p, **changes))
        except BBParseError:
            continue


def _less(p: Problem) -> Iterator[dict[str, Any]]:
    """Fields that leave out or simplify something."""
    for name, usual in (("quantum", 0.0), ("single_root", False), ("projective", False)):
        if getattr(p, name) != usual:
            yield {name: usual}
    if p.arc_label is not None:
        yield {"arc_label": None}
    if p.arc_state.any():
        yield {"arc_state": np.zeros_like(p.arc_state)}
    for kind in reversed(KINDS):
        rows = rows_of(getattr(p, name) for name in PART_NAMES[kind])
        for kept in _without(rows):
            yield (
                dict(zip(PART_NAMES[kind], map(list, zip(*kept))))
                if kept
                else {name: [] for name in PART_NAMES[kind]}
            )
    for kind in ("factor", "count"):
        for kept in _without(set_rows(p, kind)):
            yield set_fields(kind, kept)
    for kept in _without(range(len(p.arc_head))):
        yield _with_arcs(p, kept)
    for name in (name for name in FIELDS if name.endswith("_score")):
        scores = getattr(p, name)
        for i, x in enumerate(scores.tolist()):
            for y in (0.0, float(f"{x:.0e}"), float(f"{x:.1e}")):
                if x not in (0.0, y, -np.inf):
                    plainer = scores.copy()
                    plainer[i] = y
                    yield {name: plainer}


def _without(rows: Any) -> Iterator[list[Any]]:
    """All but a half, a quarter, …, one of the rows."""
    listed, size = list(rows), len(rows)
    while size:
        for start in range(0, len(listed), size):
            yield listed[:start] + listed[start + size :]
        size //= 2


def _with_arcs(p: Problem, kept: list[int]) -> dict[str, Any]:
    """Some of the arcs, and the factors and count factors that are left of them."""
    place = {a: i for i, a in enumerate(kept)}
    names = ("arc_head", "arc_mod", "arc_score", "arc_state")
    fields: dict[str, Any] = {name: getattr(p, name)[kept] for name in names}
    if p.arc_label is not None:
        fields["arc_label"] = p.arc_label[kept]
    factors = [
        ([place[a] for a in arcs], weight)
        for arcs, weight in set_rows(p, "factor")
        if place.keys() >= set(arcs)
    ]
    counts = []
    for arcs, table in set_rows(p, "count"):
        members = [place[a] for a in arcs if a in place]
        if members:
            counts.append((members, table[: len(members) + 1]))
    return {**fields, **set_fields("factor", factors), **set_fields("count", counts)}


def code(case: Case) -> str:
    """The case as Python, as short as it can be said."""
    p = case.problem
    if p is None:
        return f"a case of kind {case.kind}"
    said = [repr(getattr(p, f"arc_{name}").tolist()) for name in ("head", "mod", "score")]
    for name in FIELDS[4:]:
        value = getattr(p, name)
        if isinstance(value, np.ndarray):
            needed = value.any() if name == "arc_state" else len(value) > name.endswith("_ptr")
            if needed and name != "count_score_ptr":
                said.append(f"{name}={value.tolist()}".replace("-inf", "-np.inf"))
        elif value is False or (name == "quantum" and value):
            said.append(f"{name}={value}")
    options = {"k_best": case.k_best, **case.options}
    asked = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"{case.kind}: solve(Problem({p.n_words}, {', '.join(said)}){asked})"
