"""Features of parts: from templates, an encoded sentence and the words of parts to indices.

A feature's index is the first bits of the hash of its template and of all values that the template
reads (`models.hashing`). The hash of a template comes from its text, so its features have the same
indices in every table and every process.

The parts of a kind (`KINDS`) are given as int32[4, P]: grandparents, heads, inner siblings and
modifiers, -1 where there is none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.core.score_kernels import tree_parts
from bbparse.models.hashing import TermTable, mix_all
from bbparse.models.templates import ARC_ATOMS, KINDS, Template, TemplateSet
from bbparse.runtime.arrays import Hashes, Ints, Longs
from bbparse.treebank.encode import ATTRIBUTES, PAD, attribute_hash, text_hash

#: Roles by number; `BETWEEN` stands for each word between h and m in turn.
ROLES = "ghsmb"
GRAND, HEAD, INNER, MOD, BETWEEN = range(5)
_ATOMS = tuple(ARC_ATOMS)
#: Hashes of the tags that @nverb, @npunct and @nconj count, and their column.
_COUNTED = [attribute_hash("upos", tag) for tag in ("VERB", "PUNCT", "CCONJ")]
_UPOS = ATTRIBUTES.index("upos")


class Features:
    """Feature templates as arrays."""

    def __init__(self, templates: TemplateSet) -> None:
        self.templates = templates
        #: Kinds of part that have templates.
        self.kinds = [kind for kind in KINDS if templates.templates[kind]]
        self._shift = np.uint64(64 - templates.bits)
        self._tables = {kind: _tables(kind, templates.templates[kind]) for kind in self.kinds}

    def of_parts(self, values: Hashes, parts: Ints, kind: str) -> tuple[Longs, Longs]:
        """Return the features of parts of a kind: the part of each feature, and its index."""
        plain, between, is_counting = self._tables[kind]
        words = np.full((parts.shape[1], len(ROLES)), -1)
        words[:, :BETWEEN] = parts.T
        atoms = _atoms(values, parts, is_counting)
        keys = plain.keys(values, words, atoms)
        owner = np.repeat(np.arange(len(words)), keys.shape[1])
        keys = keys.ravel()
        if len(between.salts):
            low = np.minimum(parts[HEAD], parts[MOD])
            sizes = np.abs(parts[HEAD] - parts[MOD]) - 1
            part = np.repeat(np.arange(len(words)), sizes)
            words = words[part]
            words[:, BETWEEN] = np.arange(len(part)) + (low + 1 - np.cumsum(sizes) + sizes)[part]
            inside = between.keys(values, words, atoms[part])
            part, inside = np.repeat(part, inside.shape[1]), inside.ravel()
            # Each value between counts once for a part.
            _, first = np.unique(mix_all(inside ^ part.astype(np.uint64)), return_index=True)
            owner, keys = np.append(owner, part[first]), np.append(keys, inside[first])
        return owner, (keys >> self._shift).astype(np.int64)

    def of_tree(self, values: Hashes, heads: Ints) -> Longs:
        """Return the indices of all features of a tree, int32[n + 1] heads."""
        rows = [self.of_parts(values, parts_of(heads, kind), kind)[1] for kind in self.kinds]
        return np.concatenate([np.zeros(0, np.int64), *rows])


def _tables(kind: str, templates: tuple[Template, ...]) -> tuple[TermTable, TermTable, bool]:
    """Return templates without and with words between, and True if any reads tags between."""
    tables = []
    for is_between in (False, True):
        chosen = [t for t in templates if any(a.role == "b" for a in t.words) == is_between]
        salts = [text_hash(f"{kind} {template}") for template in chosen]
        terms = [template.terms(ROLES, _ATOMS) for template in chosen]
        # Words between come last.
        terms = [sorted(own, key=lambda term: term[0] == BETWEEN) for own in terms]
        tables.append(TermTable.of(terms, salts))
    used = {name for template in templates for name in template.atoms}
    return tables[0], tables[1], any("b" in ARC_ATOMS[name][0] for name in used)


def _atoms(values: Hashes, parts: Ints, is_counting: bool) -> Longs:
    """Return the arc atoms of parts, int64[P, atoms]; those of tags between only if needed."""
    g, h, s, m = parts.astype(np.int64)
    low, high, right = np.minimum(h, m), np.maximum(h, m), (m > h).astype(np.int64)
    dist = _bucket(high - low)
    sdist = np.where(s >= 0, _bucket(np.abs(m - s)), dist)
    gdir = right + 2 * np.where((low < g) & (g < high), 2, h > g)
    gdist = np.where(g >= 0, _bucket(np.abs(h - g)), 0)
    atoms = np.zeros((len(h), len(_ATOMS)), np.int64)
    atoms[:, :7] = np.column_stack(
        [right, dist, 7 * right + dist, sdist, 7 * right + sdist, gdir, gdist]
    )
    if is_counting:
        tags, tag_of = np.unique(values[PAD : len(values) - PAD, _UPOS], return_inverse=True)
        before = np.zeros((len(tag_of) + 1, len(tags)), np.int64)
        np.cumsum(tag_of[:, np.newaxis] == np.arange(len(tags)), axis=0, out=before[1:])
        between = before[high] - before[low + 1]
        for atom, tag in enumerate(_COUNTED, start=7):
            atoms[:, atom] = 4 * right + np.minimum(between[:, tags == tag].sum(axis=1), 3)
        atoms[:, 10] = ((between > 0) * mix_all(tags)).sum(axis=1).astype(np.int64)
    return atoms


def _bucket(distance: NDArray[np.int64]) -> NDArray[np.int64]:
    """Map the distances 1, 2, 3, 4, 5, 6-10, 11 and more to 0..6."""
    return np.searchsorted([2, 3, 4, 5, 6, 11], distance, side="right")


def as_parts(head: Ints, mod: Ints, inner: Ints | int = -1, grand: Ints | int = -1) -> Ints:
    """Return parts with these words, int32[4, P]."""
    parts = np.empty((4, len(mod)), np.int32)
    parts[GRAND], parts[HEAD], parts[INNER], parts[MOD] = grand, head, inner, mod
    return parts


def parts_of(heads: Ints, kind: str) -> Ints:
    """Return the parts of a kind in a tree, int32[n + 1] heads."""
    tree = heads.copy()  # writable, and without the -1 of the root
    tree[0] = 0
    grand, inner, outermost = tree_parts(tree)
    parts = np.stack([grand, tree, inner, np.arange(len(tree), dtype=np.int32)])
    chosen = parts[MOD] > 0
    if kind in ("grandchild", "outermost_grandchild"):
        chosen &= tree > 0
    if kind == "outermost_grandchild":
        chosen &= outermost > 0
    return parts[:, chosen]
