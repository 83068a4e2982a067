"""The labeller against slow oracles: parts, features, scores, ties, files."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bbparse.models.scoring.labeller import LABEL_QUANTUM, REACH, Labeller
from bbparse.models.templates import TemplateSet
from bbparse.treebank.encode import encode
from tests.models.scoring.networks import random_sentence
from tests.models.scoring.reference import labels_by, part_indices
from tests.strategies import random_tree

LABELS = ("case", "nsubj", "obj", "root")


def templates(bits: int = 10, **lines: list[str]) -> TemplateSet:
    return TemplateSet.from_table({"bits": bits, **lines}, "labels.templates")


SMALL = templates(
    arc=["h.upos m.upos +@dirdist", "m.form", "h.upos b.upos"],
    sibling=["h.upos s.form m.upos @sdist"],
    grandchild=["g.upos h.upos m.form @gdir"],
    outermost_grandchild=["h.upos m.form"],
    grandsibling=["g.upos h.upos s.upos m.upos @gdist"],
)


def random_case(seed: int, n: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    heads = np.array(random_tree(rng, n, projective=bool(rng.integers(2))), np.int32)
    heads[0] = 0
    return rng, encode(random_sentence(rng, n)), heads


def random_labeller(
    rng: np.random.Generator,
    chosen: TemplateSet = SMALL,
    labels: tuple[str, ...] = LABELS,
    root: int = -1,
    most: int = 100,
) -> Labeller:
    weights = rng.integers(-most, most + 1, (1 << chosen.bits, len(labels))).astype(np.int16)
    labeller = Labeller(chosen, labels, root)
    labeller.weights[:] = weights
    return labeller


CASES = st.tuples(st.integers(0, 10**6), st.integers(1, 12))


def slow_parts(heads: list[int], kind: str) -> Counter[tuple[int, ...]]:
    """(owner, grand, head, inner, mod) of all parts, from the definitions; -2: no such role."""
    words = range(1, len(heads))
    found: Counter[tuple[int, ...]] = Counter()
    for m in words:
        h = heads[m]
        family = [c for c in words if heads[c] == h]
        side = [c for c in family if (c < h) == (m < h)]
        between = [c for c in side if min(h, m) < c < max(h, m)]
        inner = min(between, key=lambda c: abs(c - m), default=-1)
        grand = heads[h] if h else -1
        if kind == "arc":
            found[m, -2, h, -2, m] += 1
        elif kind == "grandsibling":
            found[m, grand, h, inner, m] += 1
        elif kind == "sibling":
            place = family.index(m)
            for s in family[max(0, place - REACH) : place + REACH + 1]:
                if s != m:
                    found[m, -2, h, s, m] += 1
        elif h and (kind == "grandchild" or abs(m - h) == max(abs(c - h) for c in side)):
            found[h, grand, h, -2, m] += 1
    return found


@given(CASES)
def test_features_are_those_of_the_parts(case: tuple[int, int]) -> None:
    _, values, heads = random_case(*case)
    found = Labeller(SMALL, LABELS).features(values, heads)
    expected: Counter[tuple[int, int]] = Counter()
    for kind in SMALL.templates:
        for (owner, *words), times in slow_parts(heads.tolist(), kind).items():
            part = {role: word for role, word in zip("ghsm", words) if word != -2}
            before = kind == "sibling" and part["s"] < part["m"]
            for index in part_indices(SMALL, kind, values, part):
                expected[owner, index ^ (before << 9)] += times
    assert Counter(zip(*(column.tolist() for column in found))) == expected


@given(CASES, st.integers(-1, 3), st.sampled_from([1, 100]))
def test_scores_are_sums_of_rows(case: tuple[int, int], root: int, most: int) -> None:
    rng, values, heads = random_case(*case)
    labeller = random_labeller(rng, root=root, most=most)  # small weights make many ties
    owner, found = labeller.features(values, heads)
    expected = np.zeros((len(heads) - 1, len(LABELS)))
    for m, row in zip(owner, found):
        expected[m - 1] += labeller.weights[row] * LABEL_QUANTUM
    if root >= 0:
        for i, h in enumerate(heads[1:]):
            for label in range(len(LABELS)):
                if (h == 0) != (label == root):
                    expected[i, label] = -np.inf
    best = expected.argmax(axis=1)  # of equal ones the first, too
    assert labels_by(labeller, values, heads) == [LABELS[i] for i in best]
