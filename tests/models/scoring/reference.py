"""Feature indices written down from the definition: no kernels, one part at a time."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any

import numpy as np

from bbparse.models.scoring.labeller import Labeller
from bbparse.models.scoring.labels import best_labels
from bbparse.models.scoring.linear import LinearScorer
from bbparse.models.templates import Template, TemplateSet
from bbparse.treebank.encode import ATTRIBUTES, PAD, attribute_hash

MASK = (1 << 64) - 1


def text_hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def mixed(key: int) -> int:
    """The finaliser of SplitMix64."""
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    key = (key ^ (key >> 27)) * 0x94D049BB133111EB & MASK
    return key ^ (key >> 31)


def distance_bucket(distance: int) -> int:
    return min(distance, 5) - 1 if distance <= 5 else 5 if distance <= 10 else 6


def arc_atoms(values: np.ndarray, g: int, h: int, s: int, m: int) -> dict[str, int]:
    low, high = min(h, m), max(h, m)
    right = int(m > h)
    between = range(low + 1, high)
    upos = ATTRIBUTES.index("upos")
    dist = distance_bucket(high - low)
    sdist = distance_bucket(abs(m - s)) if s >= 0 else dist

    def count(tag: str) -> int:
        same = [int(values[PAD + w, upos]) == attribute_hash("upos", tag) for w in between]
        return right * 4 + min(sum(same), 3)

    distinct = {int(values[PAD + w, upos]) for w in between}
    return {
        "dir": right,
        "dist": dist,
        "dirdist": right * 7 + dist,
        "sdist": sdist,
        "sdirdist": right * 7 + sdist,
        "gdir": right + 2 * (2 if min(h, m) < g < max(h, m) else int(h > g)),
        "gdist": distance_bucket(abs(h - g)) if g >= 0 else 0,
        "nverb": count("VERB"),
        "npunct": count("PUNCT"),
        "nconj": count("CCONJ"),
        "betweenset": sum(map(mixed, distinct)) & MASK,
    }


def template_indices(
    kind: str, template: Template, bits: int, values: np.ndarray, g: int, h: int, s: int, m: int
) -> list[int]:
    """The features of one template in one part; absent words are -1."""
    atoms = arc_atoms(values, g, h, s, m)
    between = range(min(h, m) + 1, max(h, m))
    keys = set()
    for b in between if any(atom.role == "b" for atom in template.words) else [0]:
        words = {"g": g, "h": h, "s": s, "m": m, "b": b}
        read = {role: [] for role in ("own", "b")}
        for atom in template.words:
            word, column = words[atom.role], ATTRIBUTES.index(atom.attribute)
            value = text_hash("none") if word < 0 else int(values[PAD + word + atom.offset, column])
            read["b" if atom.role == "b" else "own"].append(value)
        key = text_hash(f"{kind} {template}")
        of_arcs = [atoms[name] + 1 & MASK for name in template.atoms]
        for value in [*read["own"], *of_arcs, *read["b"]]:
            key = mixed(key ^ value)
        keys.add(key)
    return [key >> (64 - bits) for key in keys]


def part_indices(
    templates: TemplateSet, kind: str, values: np.ndarray, part: dict[str, int]
) -> list[int]:
    """Sorted indices of all features of a part, given as a word for each role."""
    g, h, s, m = (part.get(role, -1) for role in "ghsm")
    return sorted(
        index
        for template in templates.templates[kind]
        for index in template_indices(kind, template, templates.bits, values, g, h, s, m)
    )


def candidate_parts(
    n: int, arcs: set[tuple[int, int]], projective: bool, single_root: bool
) -> dict[str, list[dict[str, int]]]:
    """Every part that candidate arcs can form, in the order in which they are enumerated."""
    parts: dict[str, list[dict[str, int]]] = {
        "arc": [{"h": h, "m": m} for h, m in sorted(arcs)],
        "sibling": [],
        "grandchild": [],
        "grandsibling": [],
    }
    for h, m in sorted(arcs):
        inner = [s for s in range(min(h, m) + 1, max(h, m)) if (h, s) in arcs]
        if single_root and h == 0:
            inner = []
        grand = [g for g in range(n + 1) if (g, h) in arcs and g != m]
        if projective:
            grand = [g for g in grand if not min(h, m) < g < max(h, m)]
        parts["sibling"] += [{"h": h, "s": s, "m": m} for s in [-1, *inner]]
        if h:
            parts["grandchild"] += [{"g": g, "h": h, "m": m} for g in grand]
        parts["grandsibling"] += [
            {"g": g, "h": h, "s": s, "m": m}
            for s, g in product([-1, *inner], grand if h else [-1])
            if s < 0 or s != g
        ]
    parts["outermost_grandchild"] = parts["grandchild"]
    return parts


def tree_parts(heads: list[int]) -> dict[str, list[dict[str, int]]]:
    """The parts of a tree; heads[0] is ignored."""
    parts: dict[str, list[dict[str, int]]] = {
        "arc": [],
        "sibling": [],
        "grandchild": [],
        "outermost_grandchild": [],
        "grandsibling": [],
    }
    for m in range(1, len(heads)):
        h = heads[m]
        side = [c for c in range(1, len(heads)) if heads[c] == h and (c > h) == (m > h)]
        inner = [c for c in side if abs(c - h) < abs(m - h)]
        s = max(inner, key=lambda c: abs(c - h)) if inner else -1
        g = heads[h] if h else -1
        parts["arc"].append({"h": h, "m": m})
        parts["sibling"].append({"h": h, "s": s, "m": m})
        parts["grandsibling"].append({"g": g, "h": h, "s": s, "m": m})
        if h:
            parts["grandchild"].append({"g": g, "h": h, "m": m})
            if m == max(side, key=lambda c: abs(c - h)):
                parts["outermost_grandchild"].append({"g": g, "h": h, "m": m})
    return parts


def tree_indices(templates: TemplateSet, values: np.ndarray, heads: Any) -> list[int]:
    """Sorted indices of all features of a tree."""
    return sorted(
        index
        for kind, parts in tree_parts([int(h) for h in heads]).items()
        for part in parts
        for index in part_indices(templates, kind, values, part)
    )


def tree_features(scorer: LinearScorer, values: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """All features of a tree, one entry for each time they fire, as a scorer finds them."""
    return scorer.features.of_tree(values, heads)


@dataclass
class Encoded:
    """A sentence that no network has scored."""

    values: np.ndarray
    scores: None = None


def labels_by(labeller: Labeller, values: np.ndarray, heads: np.ndarray) -> list[str]:
    """The labels that a labeller gives to the arcs of a tree."""
    return best_labels(labeller.labels, labeller.tree_scores(Encoded(values), heads))
