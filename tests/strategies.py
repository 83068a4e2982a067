"""Random problems, from a seeded generator."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from bbparse.core import Problem

PARTS = ("sib", "gc", "ogc", "gsib")
COLUMNS = {
    "sib": ("head", "inner", "outer"),
    "gc": ("grand", "head", "mod"),
    "ogc": ("grand", "head", "mod"),
    "gsib": ("grand", "head", "inner", "outer"),
}
SCALES = ("ties", "zero", "halves", "normal", "huge", "tiny", "mixed")


def all_parts(kind: str, n: int) -> list[tuple[int, ...]]:
    """Every part of a kind that a sentence of n words can have, as tuples of word indices."""
    words = range(1, n + 1)
    if kind in ("gc", "ogc"):
        triples = product(range(n + 1), words, words)
        return [(g, h, m) for g, h, m in triples if len({g, h, m}) == 3]
    siblings = [
        (h, inner, m)
        for h, m in product(range(n + 1), words)
        if h != m
        for inner in [-1, *range(min(h, m) + 1, max(h, m))]
    ]
    if kind == "sib":
        return siblings
    return [
        (g, h, inner, m)
        for h, inner, m in siblings
        for g in ([-1] if h == 0 else range(n + 1))
        if g not in (h, m) and (h == 0 or g != inner)
    ]


def random_tree(rng: np.random.Generator, n: int, projective: bool = True) -> list[int]:
    """Heads of a random tree with one root word; element 0 is -1."""
    heads = [-1] * (n + 1)

    def hang(head: int, low: int, high: int) -> None:
        """Give the words low..high, which all lie on one side of head, to head."""
        while low <= high:
            end = int(rng.integers(low, high + 1))
            attach(head, low, end)
            low = end + 1

    def attach(head: int, low: int, high: int) -> None:
        word = int(rng.integers(low, high + 1))
        heads[word] = head
        hang(word, low, word - 1)
        hang(word, word + 1, high)

    if projective:
        attach(0, 1, n)
        return heads
    order = [0] + [int(w) + 1 for w in rng.permutation(n)]
    for i, word in enumerate(order[1:], start=1):
        heads[word] = order[int(rng.integers(1, i))] if i > 1 else 0
    return heads


def random_scores(rng: np.random.Generator, scale: str, size: int) -> np.ndarray:
    """Scores of one of `SCALES`."""
    if scale == "zero":
        return np.zeros(size)
    if scale == "ties":
        return rng.integers(-2, 3, size).astype(np.float64)
    if scale == "halves":
        return rng.integers(-20, 21, size) / 2.0
    if scale == "mixed":
        return rng.normal(size=size) * 10.0 ** rng.integers(-3, 4, size)
    factor = {"normal": 1.0, "huge": 1e9, "tiny": 1e-6}[scale]
    return rng.normal(size=size) * factor


def _chosen(rng: np.random.Generator, items: list[Any], share: float) -> list[Any]:
    """A random part of the items, in random order."""
    keep = rng.random(len(items)) < share
    return [items[i] for i in rng.permutation(len(items)) if keep[i]]


def _random_factor(
    rng: np.random.Generator, head: list[int], mod: list[int], earlier: list[list[int]]
) -> list[int]:
    """A set of two to five arcs, of a kind drawn at random; fewer than two if it did not work."""
    arcs = list(range(len(head)))
    size = int(rng.integers(2, 6))
    kind = rng.choice(["any", "any", "chain", "head", "exclusive", "again", "cycle", "tree"])
    first = int(rng.integers(len(arcs)))
    if kind == "again" and earlier:
        return [int(a) for a in rng.permutation(earlier[int(rng.integers(len(earlier)))])]
    if kind == "head":
        arcs = [a for a in arcs if head[a] == head[first]]
    elif kind == "exclusive":
        arcs = [a for a in arcs if mod[a] == mod[first]]
    elif kind == "cycle":
        arcs = [a for a in arcs if {head[a], mod[a]} == {head[first], mod[first]}]
    elif kind == "chain":
        chain = [first]
        while len(chain) < size:
            below = [a for a in arcs if head[a] == mod[chain[-1]] and a not in chain]
            if not below:
                break
            chain.append(below[int(rng.integers(len(below)))])
        return chain
    elif kind == "tree":
        heads = random_tree(rng, max(mod))
        arcs = [a for a in arcs if heads[mod[a]] == head[a]]
    return [int(a) for a in rng.permutation(arcs)[:size]]


def _random_set(
    rng: np.random.Generator, head: list[int], mod: list[int], earlier: list[list[int]]
) -> list[int]:
    """A set of arcs of a kind that count factors are made for; never empty."""
    arcs = list(range(len(head)))
    kind = rng.choice(["any", "any", "large", "valency", "word", "span", "root", "again"])
    first = int(rng.integers(len(arcs)))
    if kind == "again" and earlier:
        return [int(a) for a in rng.permutation(earlier[int(rng.integers(len(earlier)))])]
    if kind == "valency":
        arcs = [a for a in arcs if head[a] == head[first]]
    elif kind == "word":
        word = [a for a in arcs if mod[a] == mod[first]]
        arcs = word + [a for a in arcs if rng.random() < 0.2 and a not in word]
    elif kind == "root":
        arcs = [a for a in arcs if head[a] == 0] or [first]
    elif kind == "span":
        low, high = sorted((head[first], mod[first]))
        arcs = [a for a in arcs if low < mod[a] <= high and not low < head[a] <= high] or [first]
    else:
        most = 5 if kind == "any" else len(arcs)
        arcs = [int(a) for a in rng.permutation(arcs)[: int(rng.integers(1, most + 1))]]
    return [int(a) for a in rng.permutation(arcs)]


def _random_table(rng: np.random.Generator, scale: str, size: int, hard: bool) -> list[float]:
    """A score for each of the numbers 0..size."""
    kinds = ["or", "valency", "linear", "any", "any"]
    kind = rng.choice([*kinds, "at most", "at least", "between", "holes"] if hard else kinds)
    numbers = np.arange(size + 1)
    scores = random_scores(rng, scale, size + 1)
    if kind == "or":
        return np.where(numbers > 0, scores[0], 0.0).tolist()
    if kind == "valency":
        return np.where(numbers == rng.integers(size + 1), scores[0], 0.0).tolist()
    if kind == "linear":
        return (scores[0] + numbers * scores[-1]).tolist()
    low, high = 0, size
    if kind in ("at most", "between"):
        high = int(rng.integers(min(3, size) + 1)) if rng.random() < 0.8 else size
    if kind in ("at least", "between"):
        low = int(rng.integers(min(2, high) + 1))
    if kind in ("at most", "at least", "between"):
        inside = scores if rng.random() < 0.3 else np.zeros(size + 1)
        return np.where((numbers >= low) & (numbers <= high), inside, -np.inf).tolist()
    if kind == "holes":
        scores[rng.random(size + 1) < 0.3] = -np.inf
    return scores.tolist()


def random_problem(  # noqa: C901, PLR0913, PLR0915 – all kinds of part, factor and constraint
    rng: np.random.Generator,
    *,
    max_words: int = 7,
    min_words: int = 1,
    projective: bool | None = None,
    single_root: bool | None = None,
    labelled: bool | None = None,
    parts: Iterable[str] = PARTS,
    max_factors: int = 12,
    max_counts: int = 0,
    scale: str | None = None,
    states: bool = True,
    hard: bool = True,
) -> Problem:
    """A problem with random everything; what is None is drawn too.

    ``parts`` may say of each kind, and of ``"arc"``, which shares of all there are it may have.

    Non-projective problems keep to five words, so that their trees can be enumerated. About one
    problem in ten has no tree at all.
    """
    if projective is None:
        projective = bool(rng.random() < 0.75)
    if single_root is None:
        single_root = bool(rng.random() < 0.7)
    if labelled is None:
        labelled = bool(rng.random() < 0.2)
    if scale is None:
        scale = str(rng.choice(SCALES))
    most = max_words if projective and not labelled else min(max_words, 5)
    n = int(rng.integers(min_words, max(min_words, most) + 1))

    pairs = [(h, m) for h, m in product(range(n + 1), range(1, n + 1)) if h != m]
    shares = dict(parts) if isinstance(parts, dict) else dict.fromkeys(parts, (0.1, 0.5, 1.0))
    kept = set(_chosen(rng, pairs, float(rng.choice(shares.pop("arc", (0.2, 0.4, 0.7, 1.0))))))
    heads: list[int] = []
    if rng.random() < 0.9:
        heads = random_tree(rng, n, projective)
        kept |= {(heads[m], m) for m in range(1, n + 1)}
    arcs = [(h, m, 0) for h, m in sorted(kept)]
    if labelled:
        arcs = [(h, m, int(rng.integers(3))) for h, m, _ in arcs]
        more = {(h, m, int(rng.integers(3))) for h, m, _ in arcs if rng.random() < 0.3}
        arcs = sorted({*arcs, *more})
    if rng.random() < 0.5:
        arcs = [arcs[i] for i in rng.permutation(len(arcs))]
    head, mod = [a[0] for a in arcs], [a[1] for a in arcs]

    fields: dict[str, Any] = {}
    for kind, some in shares.items():
        if rng.random() < 0.5:
            rows = _chosen(rng, all_parts(kind, n), float(rng.choice(some)))
            columns = np.array(rows, dtype=np.int32).reshape(-1, len(COLUMNS[kind])).T
            fields.update({f"{kind}_{c}": columns[i] for i, c in enumerate(COLUMNS[kind])})
            fields[f"{kind}_score"] = random_scores(rng, scale, len(rows))
    factors: list[list[int]] = []
    if arcs and max_factors:
        for _ in range(int(rng.integers(max_factors + 1))):
            factor = _random_factor(rng, head, mod, factors)
            if len(factor) >= 2:
                factors.append(factor)
    weights = random_scores(rng, scale, len(factors)) * float(rng.choice([0.0, 1.0, 1.0, 3.0]))
    if hard:
        weights[rng.random(len(factors)) < float(rng.choice([0.0, 0.1, 0.4]))] = -np.inf
    state = np.zeros(len(arcs), dtype=np.int8)
    if states and arcs and rng.random() < 0.4:
        state[rng.random(len(arcs)) < 0.15] = -1
        for m in {mod[int(rng.integers(len(arcs)))] for _ in range(int(rng.integers(3)))}:
            state[int(rng.choice([a for a in range(len(arcs)) if mod[a] == m]))] = 1
    quantum = {"ties": 1.0, "halves": 0.5}.get(scale, 0.0) if rng.random() < 0.5 else 0.0
    scores = random_scores(rng, scale, len(arcs))
    sets: list[list[int]] = []
    if arcs and max_counts:
        for _ in range(int(rng.integers(max_counts + 1))):
            sets.append(_random_set(rng, head, mod, sets))
    tables = [_random_table(rng, scale, len(s), hard) for s in sets]
    if heads:
        # Most tables allow one and the same tree, or hardly any problem would have one.
        tree = {mod[a]: a for a in range(len(arcs)) if heads[mod[a]] == head[a]}
        for s, table in zip(sets, tables):
            number = len(set(s) & set(tree.values()))
            if table[number] == -np.inf and rng.random() < 0.9:
                table[number] = 0.0
    return Problem(
        n,
        head,
        mod,
        scores,
        [a[2] for a in arcs] if labelled else None,
        state,
        **fields,
        factor_ptr=np.cumsum([0] + [len(f) for f in factors]),
        factor_arcs=[a for f in factors for a in f],
        factor_score=weights,
        count_ptr=np.cumsum([0] + [len(s) for s in sets]),
        count_arcs=[a for s in sets for a in s],
        count_score=[score for table in tables for score in table],
        projective=projective,
        single_root=single_root,
        quantum=quantum,
    )


def shuffled_factors(rng: np.random.Generator, p: Problem) -> Problem:
    """The same factors and count factors in another order, with their arcs in another order."""
    order = rng.permutation(len(p.factor_score))
    sets = [
        rng.permutation(p.factor_arcs[p.factor_ptr[f] : p.factor_ptr[f + 1]]).tolist()
        for f in order
    ]
    count_order = rng.permutation(len(p.count_ptr) - 1)
    counts = [
        rng.permutation(p.count_arcs[p.count_ptr[c] : p.count_ptr[c + 1]]).tolist()
        for c in count_order
    ]
    tables = [
        p.count_score[p.count_score_ptr[c] : p.count_score_ptr[c + 1]].tolist() for c in count_order
    ]
    return dataclasses.replace(
        p,
        factor_ptr=np.cumsum([0] + [len(s) for s in sets]),
        factor_arcs=[a for s in sets for a in s],
        factor_score=p.factor_score[order],
        count_ptr=np.cumsum([0] + [len(s) for s in counts]),
        count_arcs=[a for s in counts for a in s],
        count_score_ptr=np.cumsum([0] + [len(table) for table in tables]),
        count_score=[score for table in tables for score in table],
    )
