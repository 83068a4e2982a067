"""Cases at random: problems of all proportions, and what is asked about them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import FIELDS, KINDS
from bbparse.inference.search.settings import SearchSettings
from bbparse.runtime.errors import ProblemError
from tests.strategies import random_problem

#: What is asked, and how often in a hundred.
KIND_SHARES = {
    "search": 34,
    "settings": 17,
    "gap": 5,
    "limit": 6,
    "ilp": 4,
    "pricing": 9,
    "proof": 12,
    "batch": 4,
    "agree": 5,
    "rules": 1.5,
    "large": 3.5,
}
SIZES, SIZE_SHARES = (1, 2, 3, 4, 5, 6), (0.02, 0.08, 0.22, 0.3, 0.26, 0.12)
#: Scores that people write for "never", and for "always" with the other sign.
PENALTIES = (1e3, 1e4, 1e6, 1e8, 1e9, 1e10, 1e11, 1e12, 1e14, 1e16, 1e20, 1e30, 3.4e38, 1e100)
GROUPS = {"arc_score": "arcs", "factor_score": "factors", "count_score": "counts"}
#: Backbones that hold all parts of these kinds.
BACKBONES = (
    ("first", ()),
    ("sibling", ("sib",)),
    ("carreras", ("sib", "ogc")),
    ("grandsib", ("sib", "gc", "ogc", "gsib")),
)


@dataclass(frozen=True)
class Case:
    """One question: of a kind, about a problem (None where the kind draws its own), by a method."""

    kind: str
    seed: tuple[int, int]
    problem: Problem | None = None
    k_best: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    def rng(self) -> np.random.Generator:
        """A generator for what is drawn while the case is run: the same each time."""
        return np.random.default_rng((*self.seed, 1))


def draw(seed: int, index: int, only: str = "") -> Case:
    """The case of this number; of one kind ``only``, or of any."""
    rng = np.random.default_rng((seed, index))
    kinds, shares = zip(*KIND_SHARES.items())
    kind = str(rng.choice(kinds, p=np.array(shares) / sum(shares)))
    kind = only or kind
    if kind in ("agree", "rules"):
        return Case(kind, (seed, index))
    if kind == "large":
        return Case(kind, (seed, index), draw_large(rng), int(rng.choice([1, 1, 2, 3])))
    few = kind in ("ilp", "pricing")
    problem = draw_problem(rng, small=few or kind == "proof")
    k = int(rng.choice([1, 1, 2, 3, 5, 10] if few else [1, 1, 1, 2, 3, 5, 10, 20, 50]))
    options: dict[str, Any] = {}
    if kind == "settings":
        options["settings"] = draw_settings(rng)
    elif kind == "gap":
        options["gap"] = float(rng.choice([1e-9, 1e-6, 1e-3, 0.01, 0.1, 0.5, 1.0, 10.0]))
        options["method"] = str(rng.choice(["auto", "auto", "price-and-cut", "ilp"]))
        if options["method"] == "auto" and rng.random() < 0.6:
            options["settings"] = draw_settings(rng)
    elif kind == "limit":
        options |= draw_limit(rng)
    elif kind == "ilp" or (kind == "proof" and rng.random() < 0.1):
        options["method"] = "ilp"
    elif kind == "pricing":
        options["method"] = "price-and-cut"
        if rng.random() < 0.4:
            options["delayed"] = bool(rng.integers(2))
    if rng.random() < 0.3 and options.get("method", "auto") == "auto":
        there = [kind for kind, part in zip(KINDS, problem.parts) if len(part.score)]
        fits = [name for name, held in BACKBONES if set(there) <= set(held)]
        options["backbone"] = str(rng.choice(fits))
    return Case(kind, (seed, index), problem, k, options)


def draw_settings(rng: np.random.Generator) -> SearchSettings:
    """Settings of the search."""
    return SearchSettings(
        root_calls=int(rng.choice([1, 2, 12, 40, 200])),
        node_calls=int(rng.choice([1, 2, 8, 200])),
        eliminate_every=int(rng.choice([0, 1, 3])),
        close_k=int(rng.choice([1, 2, 16])),
    )


def draw_limit(rng: np.random.Generator) -> dict[str, Any]:
    """One limit that ends a search early, and a method that takes it."""
    name = str(rng.choice(["node_limit", "time_limit", "work_limit"]))
    value = {
        "node_limit": int(rng.choice([1, 2, 5])),
        "time_limit": float(rng.choice([0.0, 1e-5, 1e-3])),
        "work_limit": float(rng.choice([0.0, 10.0, 1e3, 1e4])),
    }[name]
    methods = {"node_limit": ["auto", "price-and-cut"], "work_limit": ["auto"]}
    method = str(rng.choice(methods.get(name, ["auto", "auto", "ilp", "price-and-cut"])))
    weak = {"settings": draw_settings(rng)} if method == "auto" and rng.random() < 0.7 else {}
    return {name: value, "method": method, **weak}


def draw_problem(rng: np.random.Generator, small: bool = False) -> Problem:
    """A problem of one of many kinds and proportions."""
    n = int(rng.choice(SIZES, p=SIZE_SHARES))
    projective = bool(rng.random() < 0.5)
    shares: dict[str, tuple[float, ...]] = dict.fromkeys(KINDS, (0.1, 0.5, 1.0))
    chosen = {kind: s for kind, s in shares.items() if rng.random() < rng.choice([0.2, 1.0])}
    options: dict[str, Any] = {"labelled": bool(rng.random() < 0.15)}
    if rng.random() < (0.03 if small else 0.06):  # few heads a word, so that trees can be listed
        n = int(rng.integers(8, 12 if small else 15))
        chosen = dict.fromkeys(chosen, (0.02, 0.1))
        chosen["arc"] = (0.5 / n, 1.0 / n)
        options = {"labelled": False}
    elif options["labelled"]:
        n = min(n, 5 if projective else 4)
    problem = random_problem(
        rng,
        min_words=n,
        max_words=n,
        projective=projective,
        parts=chosen,
        max_factors=int(rng.choice([0, 2, 12, 30])),
        max_counts=int(rng.choice([0, 0, 2, 4])),
        **options,
    )
    if rng.random() < 0.25:
        problem = constrained(rng, problem)
    problem = proportioned(rng, problem)
    *_, more = rng.spawn(3)  # what is drawn by ``rng`` stays what it was
    if more.random() < 0.08:
        problem = in_quanta(more, problem)
    return softened(more, problem) if more.random() < 0.15 else problem


def draw_large(rng: np.random.Generator) -> Problem:
    """A problem of 8 to 20 words with more trees than can be listed."""
    n = int(rng.integers(8, 15) if rng.random() < 0.9 else rng.integers(15, 21))
    parts: dict[str, tuple[float, ...]] = {"arc": (3.0 / n, 5.0 / n, 9.0 / n)}
    parts.update((kind, (0.02, 0.05)) for kind in KINDS if rng.random() < 0.3)
    problem = random_problem(
        rng,
        min_words=n,
        max_words=n,
        projective=bool(rng.random() < 0.6),
        parts=parts,
        max_factors=int(rng.choice([0, 12, 40])),
        max_counts=int(rng.choice([0, 2])),
        labelled=bool(rng.random() < 0.1),
    )
    if rng.random() < 0.25:
        problem = constrained(rng, problem)
    return proportioned(rng, problem)


def constrained(rng: np.random.Generator, p: Problem) -> Problem:
    """The problem with one to three constraints that users can name."""
    n = p.n_words
    arcs = sorted(set(zip(p.arc_head.tolist(), p.arc_mod.tolist())))
    for _ in range(int(rng.integers(1, 4))):
        some = [arcs[i] for i in rng.permutation(len(arcs))[: int(rng.integers(1, 6))]]
        head = int(rng.integers(n + 1))
        low, high = sorted(rng.integers(1, n + 1, 2).tolist())
        name = str(rng.choice(["valency", "valencies", "subtree", "most", "least", "scores"]))
        try:
            if name == "valency":
                p = p.with_valency(head, int(rng.integers(2)), int(rng.integers(1, 4)))
            elif name == "valencies":
                p = p.with_valency(range(1, n + 1), high=int(rng.integers(1, 4)))
            elif name == "subtree":
                p = p.with_subtree(range(low, high + 1), complete=bool(rng.integers(2)))
            elif name == "most" and some:
                p = p.with_at_most(some, int(rng.integers(3)))
            elif name == "least" and some:
                p = p.with_at_least(some, int(rng.integers(1, 3)))
            elif name == "scores" and some:
                p = p.with_count_scores(some, rng.normal(size=len(some) + 1))
        except ProblemError:  # it forbids an arc that is required
            continue
    return p


def in_quanta(rng: np.random.Generator, p: Problem) -> Problem:
    """The problem with multiples of a quantum as scores, each rounded once."""
    steps = int(rng.choice([1, 2, 3, 7, 10, 1000, 4096, 398320]))
    scores = {name: np.array(getattr(p, name)) for name in FIELDS if name.endswith("_score")}
    for a in scores.values():
        finite = np.isfinite(a)
        a[finite] = rng.integers(-9, 10, int(finite.sum()))
        if rng.random() < 0.2:
            a[finite & (rng.random(len(a)) < 0.2)] *= float(rng.choice([1e3, 1e6, 1e9]))
        a[:] = a / steps if rng.random() < 0.5 else a * (1.0 / steps)
    return dataclasses.replace(p, **scores, quantum=1.0 / steps)


def softened(rng: np.random.Generator, p: Problem) -> Problem:
    """The problem with soft constraints of all kinds and sizes, added by its methods."""
    n = p.n_words
    pairs = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
    for _ in range(int(rng.integers(1, 4))):
        size = float(rng.choice([5e-4 * p.quantum, 1e-9, 1.0, 1.0, 100.0, *PENALTIES[:-3]]))
        weight = size * float(rng.choice([1.0, -1.0, 0.3]))
        some = [pairs[i] for i in rng.permutation(len(pairs))[: int(rng.integers(1, 6))]]
        words = (rng.permutation(n)[: int(rng.integers(1, n + 1))] + 1).tolist()
        kind = str(rng.choice(["subtree", "arc", "factor", "table", "holes"]))
        if kind == "subtree":
            p = p.with_subtree(words, complete=bool(rng.integers(2)), weight=abs(weight))
        elif kind in ("arc", "factor"):
            p = p.with_factors([(some[: 1 if kind == "arc" else 3], weight)])
        else:
            table = weight * rng.integers(-2, 3, len(some) + 1).astype(np.float64)
            if kind == "holes":
                table[rng.random(len(table)) < 0.3] = -np.inf
            p = p.with_count_scores(some, table)
    return p


def proportioned(rng: np.random.Generator, p: Problem) -> Problem:
    """The problem at another scale, and perhaps with penalties or rewards out of proportion."""
    names = ["arc_score", *(f"{kind}_score" for kind in KINDS), "factor_score", "count_score"]
    scores = {name: np.array(getattr(p, name)) for name in names}
    scale = 1.0
    kind = rng.random()
    if kind < 0.4:
        scale = 10.0 ** float(rng.uniform(-12, 12))
    elif kind < 0.44:
        scale = float(rng.choice([1e-295, 1e-60, 1e60]))
    elif kind < 0.46:
        largest = max(float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in scores.values())
        scale = 1e100 / largest if largest else 1.0
    elif kind < 0.54:  # each at its own scale
        scores = {name: a * 10.0 ** rng.integers(-12, 13, len(a)) for name, a in scores.items()}
    with np.errstate(invalid="ignore"):
        scores = {name: np.clip(a * scale, -1e100, 1e100) for name, a in scores.items()}
    for name, a in scores.items():
        a[np.isneginf(getattr(p, name))] = -np.inf
    if rng.random() < 0.4:
        size = float(rng.choice(PENALTIES)) * (1.0 if rng.random() < 0.7 else scale)
        sign = 1.0 if rng.random() < 0.15 else -1.0
        share = float(rng.choice([0.02, 0.1, 0.3, 0.5]))
        where = str(rng.choice(["arcs", "factors", "counts", "parts", "all"]))
        for name, a in scores.items():
            if where in ("all", GROUPS.get(name, "parts")):
                hit = (rng.random(len(a)) < share) & np.isfinite(a)
                a[hit] = sign * min(size, 1e100)
                if rng.random() < 0.2:
                    a[hit] *= np.where(rng.random(int(hit.sum())) < 0.5, 1.0, -1.0)
    same = all(np.array_equal(a, getattr(p, name)) for name, a in scores.items())
    return dataclasses.replace(p, **scores, quantum=p.quantum if same else 0.0)
