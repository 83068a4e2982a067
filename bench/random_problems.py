"""Random problems of more words than can be enumerated."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bbparse.problem import Problem  # noqa: E402
from tests.strategies import random_tree  # noqa: E402


def random_large(rng: np.random.Generator, n: int) -> Problem:
    """A problem of n words: up to six heads a word, siblings, factors of mixed sign."""
    pairs = set()
    for m in range(1, n + 1):
        near = [h for h in range(max(0, m - 8), min(n, m + 8) + 1) if h != m]
        picks = rng.choice(near, size=min(len(near), int(rng.integers(2, 7))), replace=False)
        pairs.update((int(h), m) for h in picks)
        pairs.add((m - 1, m))  # so that there is a tree
    arcs = np.array(sorted(pairs), np.int32)
    factors = int(rng.integers(0, 6 * n))
    sets = [
        rng.choice(len(arcs), size=int(rng.integers(2, 4)), replace=False) for _ in range(factors)
    ]
    weights = rng.normal(size=factors) * rng.choice([0.1, 0.5, 1.0])
    sib = [
        (h, s, m)
        for h, m in arcs.tolist()
        for s in [-1, *(x for g, x in arcs.tolist() if g == h and min(h, m) < x < max(h, m))]
    ]
    sib_array = np.array(sib, np.int32)
    return Problem(
        n, arcs[:, 0], arcs[:, 1], rng.normal(size=len(arcs)),
        sib_head=sib_array[:, 0], sib_inner=sib_array[:, 1], sib_outer=sib_array[:, 2],
        sib_score=0.5 * rng.normal(size=len(sib)),
        factor_ptr=np.cumsum([0, *(len(s) for s in sets)]),
        factor_arcs=np.concatenate(sets) if sets else np.zeros(0, np.int32),
        factor_score=weights, single_root=bool(rng.integers(2)),
    )  # fmt: skip


def random_mixed(
    rng: np.random.Generator, n: int, projective: bool | None = None
) -> Problem:
    """A problem of n words with every kind of part, factor, constraint and flag.

    Hard constraints leave one random tree feasible. Unless ``projective`` says otherwise, a quarter
    is non-projective; these have up to 20 words, as the integer program needs minutes for some of
    those with more.
    """
    if projective is None:
        projective = bool(rng.random() < 0.75)
    n = n if projective else min(n, 8 + n % 13)
    labelled = bool(rng.random() < 0.25)
    heads = random_tree(rng, n, projective)
    arcs = {(heads[m], m, int(rng.integers(3)) if labelled else 0) for m in range(1, n + 1)}
    gold = {m: arc for arc in arcs for m in (arc[1],)}
    for m in range(1, n + 1):
        others = [h for h in range(n + 1) if h != m]
        for h in rng.choice(others, size=min(len(others), int(rng.integers(1, 5))), replace=False):
            if labelled:
                arcs.add((int(h), m, int(rng.integers(3))))
            elif int(h) != heads[m]:
                arcs.add((int(h), m, 0))
    rows = sorted(arcs)
    rows = [rows[i] for i in rng.permutation(len(rows))]
    place = {arc: a for a, arc in enumerate(rows)}
    tree = {place[gold[m]] for m in gold}
    factors, weights = _factors(rng, len(rows), n, tree)
    sets, tables = _counts(rng, rows, n, tree)
    state = np.zeros(len(rows), np.int8)
    if rng.random() < 0.3:
        state[rng.random(len(rows)) < 0.1] = -1
        state[sorted(tree)] = 0
        state[rng.choice(sorted(tree), size=int(rng.integers(1, 3)), replace=False)] = 1
    return Problem(
        n, [a[0] for a in rows], [a[1] for a in rows], rng.normal(size=len(rows)),
        [a[2] for a in rows] if labelled else None, state, **_parts(rng, rows, n),
        factor_ptr=np.cumsum([0, *map(len, factors)]),
        factor_arcs=[a for f in factors for a in f], factor_score=weights,
        count_ptr=np.cumsum([0, *map(len, sets)]), count_arcs=[a for s in sets for a in s],
        count_score=[x for table in tables for x in table],
        projective=projective, single_root=heads.count(0) == 1 and bool(rng.random() < 0.7),
    )  # fmt: skip


def _factors(
    rng: np.random.Generator, n_arcs: int, n: int, tree: set[int]
) -> tuple[list[list[int]], list[float]]:
    factors = [
        rng.choice(n_arcs, size=int(rng.integers(2, 5)), replace=False).tolist()
        for _ in range(int(rng.integers(0, 4 * n)))
    ]
    scale = float(rng.choice([0.1, 0.5, 1.0]))
    share = float(rng.choice([0.0, 0.0, 0.05, 0.2]))
    weights = [
        -np.inf if rng.random() < share and not tree.issuperset(f) else scale * float(rng.normal())
        for f in factors
    ]
    return factors, weights


def _counts(
    rng: np.random.Generator, rows: list[tuple[int, int, int]], n: int, tree: set[int]
) -> tuple[list[list[int]], list[list[float]]]:
    """Valencies, constituents and OR, some of them hard."""
    sets: list[list[int]] = []
    tables: list[list[float]] = []
    for _ in range(int(rng.choice([0, 2, n // 4]))):
        kind = rng.choice(["valency", "span", "any"])
        if kind == "valency":
            head = int(rng.integers(n + 1))
            own = [a for a, (h, _, _) in enumerate(rows) if h == head]
        elif kind == "span":
            low, high = sorted(rng.choice(np.arange(1, n + 2), 2, replace=False).tolist())
            own = [
                a for a, (h, m, _) in enumerate(rows) if low <= m < high and not low <= h < high
            ]
        else:
            own = rng.choice(len(rows), size=int(rng.integers(1, 6)), replace=False).tolist()
        if not own:
            continue
        number = len(tree.intersection(own))
        counts = np.arange(len(own) + 1)
        soft = rng.normal(size=len(own) + 1)
        table = {
            0: np.where(counts <= number, 0.0, -np.inf),
            1: np.where(counts >= number, 0.0, -np.inf),
            2: np.where(counts > 0, soft[0], 0.0),
            3: soft,
        }[int(rng.integers(4))]
        sets.append(own)
        tables.append(table.tolist())
    return sets, tables


def _parts(
    rng: np.random.Generator, rows: list[tuple[int, int, int]], n: int
) -> dict[str, Any]:
    """Parts of each kind in half the problems, over candidate arcs."""
    pairs = sorted({(h, m) for h, m, _ in rows})
    into: dict[int, list[int]] = {}
    sides: dict[tuple[int, bool], list[int]] = {}
    for h, m in pairs:
        into.setdefault(m, []).append(h)
        sides.setdefault((h, m > h), []).append(m)
    siblings = []
    for (h, right), mods in sides.items():
        line = mods if right else mods[::-1]
        siblings += [(h, -1, m) for m in line]
        siblings += [(h, i, m) for i, m in pairwise(line)]
    grand = [(g, h, m) for h, m in pairs if h for g in into.get(h, []) if g != m]
    above: dict[int, list[int]] = {0: [-1], **into}
    gsib = [
        (g, h, i, m) for h, i, m in siblings for g in above.get(h, []) if g not in (i, m) or g == -1
    ]
    tables: dict[str, tuple[list[tuple[int, ...]], tuple[str, ...]]] = {
        "sib": (siblings, ("head", "inner", "outer")),
        "gc": (grand, ("grand", "head", "mod")),
        "ogc": (grand, ("grand", "head", "mod")),
        "gsib": (gsib, ("grand", "head", "inner", "outer")),
    }
    fields: dict[str, Any] = {}
    for kind, (table, names) in tables.items():
        if rng.random() < 0.5:
            continue
        share = float(rng.choice([0.1, 0.5]))
        kept = [row for row in table if rng.random() < share]
        columns = np.array(kept, np.int32).reshape(-1, len(names)).T
        fields.update({f"{kind}_{name}": columns[i] for i, name in enumerate(names)})
        fields[f"{kind}_score"] = 0.5 * rng.normal(size=len(kept))
    return fields
