"""`agree` of random oracles, against all joint structures."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import product
from typing import Any

import numpy as np

from bbparse.inference.agreement import Agreement, agree
from bbparse.inference.oracles.tree_oracles import Arborescences, ProjectiveTrees
from tests.fuzz.checks import TOLERANCE, exact_sum
from tests.fuzz.draw import proportioned
from tests.inference.listed import Listed, random_oracle
from tests.oracles.forest import forest
from tests.strategies import random_problem

#: By the coordinates of each oracle: the score of a joint structure, and Σ |terms|.
Joint = dict[tuple[bytes, ...], tuple[float, float]]


def check_agreement(rng: np.random.Generator, notes: Counter[str]) -> str:
    """What is wrong with an answer of `agree`, or the empty string."""
    made = trees_of_two(rng) if rng.random() < 0.3 else listed_structures(rng)
    oracles, shared, joint = made
    sizes = [size for _, size in joint.values()]
    limit = int(rng.integers(1, 4)) if rng.random() < 0.2 else None
    found = agree(
        oracles,
        shared,
        root_calls=int(rng.choice([1, 3, 10, 50])),
        node_calls=int(rng.choice([1, 4, 20])),
        step=float(rng.choice([0.5, np.median(sizes) or 1.0 if sizes else 1.0])),
        node_limit=limit,
    )
    notes[f"agree: {found.status}"] += 1
    said = _fault(found, joint, limit)
    return f"agree: {found.status}: {said}" if said else ""


def _fault(found: Agreement, joint: Joint, limit: int | None) -> str:
    if found.status not in ("optimal", "infeasible") and not limit:
        return "without such a limit"
    own = 0.0
    if found.on:
        key = tuple(on.tobytes() for on in found.on)
        if key not in joint:
            return "the structures do not agree, or are none"
        score, own = joint[key]
        if abs(score - found.value) > 1e-12 * own:
            return f"value {found.value!r}, but the structures score {score!r}"
        if found.proved and abs(found.bound - found.value) > TOLERANCE * own:
            return f"bound {found.bound!r} is not the value {found.value!r}"
    elif found.status == "optimal":
        return "there is no structure"
    if found.status == "infeasible":
        return f"there are {len(joint)} structures" if joint else ""
    for score, size in joint.values():
        # terms that cancel out excuse no more than the rounding of their sum
        if score - found.bound > TOLERANCE * abs(score) + 1e-13 * max(size, own):
            return (
                f"value {found.value!r}, bound {found.bound!r}, but {score!r} is there"
                f" (terms {size:.3g}, those of the answer's {own:.3g})"
            )
    return ""


def listed_structures(rng: np.random.Generator) -> tuple[list[Any], list[Any], Joint]:
    """Two or three oracles that list their structures."""
    integers = bool(rng.integers(2))
    scale = 10.0 ** float(rng.uniform(-12, 12)) if rng.random() < 0.7 else 1.0
    oracles, shared = [], []
    for _ in range(int(rng.integers(2, 4))):
        n = int(rng.integers(1, 7))
        one = random_oracle(rng, n, integers)
        scores = one.scores * scale
        if rng.random() < 0.2:
            scores[rng.random(len(scores)) < 0.3] = -(10.0 ** float(rng.uniform(3, 38)))
        oracles.append(Listed(one.structures, scores))
        shared.append([str(s) if rng.random() < 0.8 else None for s in rng.permutation(7)[:n]])
    if rng.random() < 0.2:  # large scores that cancel out
        large = 10.0 ** float(rng.uniform(3, 12))
        oracles[0].scores += large
        oracles[1].scores -= large
    joint: Joint = {}
    for chosen in product(*(range(len(oracle.scores)) for oracle in oracles)):
        value: dict[str, bool] = {}
        rows = [oracle.structures[i] for oracle, i in zip(oracles, chosen)]
        if all(
            value.setdefault(name, bool(row[c])) == row[c]
            for row, names in zip(rows, shared)
            for c, name in enumerate(names)
            if name is not None
        ):
            key = tuple(row.tobytes() for row in rows)
            joint[key] = exact_sum(oracle.scores[i] for oracle, i in zip(oracles, chosen))
    return oracles, shared, joint


def trees_of_two(rng: np.random.Generator) -> tuple[list[Any], list[Any], Joint]:
    """Projective trees with parts, and arborescences with scores of their own."""
    n = int(rng.integers(1, 6))
    p = random_problem(
        rng, min_words=n, max_words=n, projective=True, labelled=False, max_factors=0
    )
    p = proportioned(rng, p)
    size = min(1e99, float(np.median(np.abs(p.arc_score)))) if len(p.arc_head) else 1.0
    own = np.clip(rng.normal(size=len(p.arc_head)), -9.0, 9.0) * (size or 1.0)
    q = dataclasses.replace(
        p,
        projective=False,
        arc_score=own,
        quantum=0.0,
        **{name: [] for name in vars(p) if name[:3] in ("sib", "gc_", "ogc", "gsi")},
    )
    trees = forest(p)
    joint: Joint = {}
    for arcs, high, low, own in zip(trees.arcs, trees.high, trees.low, trees.size):
        on = np.zeros(len(p.arc_head), np.bool_)
        on[arcs] = True
        score, more = exact_sum([high, low, *q.arc_score[arcs]])
        joint[on.tobytes(), on.tobytes()] = score, own + more
    names = list(range(len(p.arc_head)))
    return [ProjectiveTrees(p), Arborescences(q)], [names, names], joint
