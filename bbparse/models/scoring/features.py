"""Features of parts: from templates, an encoded sentence and the words of a part to indices.

A feature's index is the first bits of the hash of its template and of all values that the template
reads (`models.hashing`). The hash of a template comes from its text, so its features have the same
indices in every table and every process. Cost: a few nanoseconds for each atom of each template of
each part, and the words between for each template that reads them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.models.hashing import ATOM, mix, mix_terms
from bbparse.models.templates import ARC_ATOMS, KINDS, Template, TemplateSet
from bbparse.runtime.jit import kernel
from bbparse.treebank.encode import ATTRIBUTES, PAD, attribute_hash, text_hash

#: Roles by number; `BETWEEN` stands for each word between h and m in turn.
ROLES = "ghsmb"
GRAND, HEAD, INNER, MOD, BETWEEN = range(5)
#: Arc atoms by number.
ATOMS = tuple(ARC_ATOMS)
(DIR, DIST, DIRDIST, SDIST, SDIRDIST, GDIR, GDIST, NVERB, _, _, BETWEENSET) = range(len(ATOMS))
#: Hashes of the tags that @nverb, @npunct and @nconj count, and their column.
COUNTED = tuple(np.uint64(attribute_hash("upos", tag)) for tag in ("VERB", "PUNCT", "CCONJ"))
UPOS = ATTRIBUTES.index("upos")


class CompiledTemplates(NamedTuple):
    """Templates as arrays.

    Kind k of `KINDS` has the templates ``kinds[k]:kinds[k + 1]``. Template t has the terms
    ``ends[t]:ends[t + 1]`` (see `mix_terms`), of which those from ``between[t]`` read words between
    h and m. ``counts[k]`` is True if a template of the kind looks at the tags between.
    """

    kinds: NDArray[np.int64]
    ends: NDArray[np.int64]
    between: NDArray[np.int64]
    terms: NDArray[np.int32]
    salts: NDArray[np.uint64]
    counts: NDArray[np.bool_]
    shift: np.uint64  #: 64 - bits of an index


def compile_templates(templates: TemplateSet) -> CompiledTemplates:
    """Return the templates as arrays."""
    kinds, ends, between, salts, counts = [0], [0], [], [], []
    terms: list[tuple[int, int, int]] = []
    for kind in KINDS:
        chosen = templates.templates[kind]
        for template in chosen:
            ordered = sorted(_terms(template), key=lambda term: term[0] == BETWEEN)
            terms += ordered
            between.append(len(terms) - sum(role == BETWEEN for role, _, _ in ordered))
            ends.append(len(terms))
            salts.append(text_hash(f"{kind} {template.text}"))
        kinds.append(len(salts))
        used = {ATOMS.index(name) for template in chosen for name in template.arcs}
        counts.append(any(atom >= NVERB for atom in used))
    return CompiledTemplates(
        np.array(kinds, np.int64), np.array(ends, np.int64), np.array(between, np.int64),
        np.array(terms, np.int32).reshape(-1, 3), np.array(salts, np.uint64),
        np.array(counts, np.bool_), np.uint64(64 - templates.bits),
    )


def _terms(template: Template) -> list[tuple[int, int, int]]:
    """Return the terms of a template, in the order of its text."""
    return [
        (ROLES.index(atom.role), atom.offset, ATTRIBUTES.index(atom.attribute))
        for atom in template.words
    ] + [(ATOM, 0, ATOMS.index(name)) for name in template.arcs]


@kernel
def distance_bucket(distance):
    """Map the distances 1, 2, 3, 4, 5, 6-10, 11 and more to 0..6."""
    if distance <= 5:
        return distance - 1
    return 5 if distance <= 10 else 6


@kernel
def _find_atoms(values, words, counts, atoms):
    """Write the arc atoms of a part; those of the tags between only if ``counts``."""
    g, h, s, m = words[GRAND], words[HEAD], words[INNER], words[MOD]
    low, high = min(h, m), max(h, m)
    right = 1 if m > h else 0
    atoms[DIR] = right
    atoms[DIST] = distance_bucket(high - low)
    atoms[DIRDIST] = right * 7 + atoms[DIST]
    atoms[SDIST] = distance_bucket(abs(m - s)) if s >= 0 else atoms[DIST]
    atoms[SDIRDIST] = right * 7 + atoms[SDIST]
    atoms[GDIR] = right + 2 * (2 if low < g < high else 1 if h > g else 0)
    atoms[GDIST] = distance_bucket(abs(h - g)) if g >= 0 else 0
    if not counts:
        return
    for tag in range(3):
        number = 0
        for w in range(low + 1, high):
            number += values[PAD + w, UPOS] == COUNTED[tag]
        atoms[NVERB + tag] = right * 4 + min(number, 3)
    total = np.uint64(0)
    for w in range(low + 1, high):
        earlier = low + 1
        while values[PAD + earlier, UPOS] != values[PAD + w, UPOS]:
            earlier += 1
        if earlier == w:  # the first word with this tag
            total += mix(values[PAD + w, UPOS])
    atoms[BETWEENSET] = np.int64(total)


@kernel
def _part_features(values, words, kind, templates, atoms, keys, out):
    """Write the feature indices of a part to ``out``; return how many there are.

    ``keys`` (uint64[n]) and ``atoms`` are scratch.
    """
    kinds, ends, between, terms, salts, counts, shift = templates
    _find_atoms(values, words, counts[kind], atoms)
    count = 0
    for t in range(kinds[kind], kinds[kind + 1]):
        first, middle, last = ends[t], between[t], ends[t + 1]
        key = mix_terms(salts[t], terms, first, middle, values, words, atoms)
        if middle == last:
            out[count] = key >> shift
            count += 1
            continue
        known = 0  # each value between counts once
        for w in range(min(words[HEAD], words[MOD]) + 1, max(words[HEAD], words[MOD])):
            words[BETWEEN] = w
            keys[known] = mix_terms(key, terms, middle, last, values, words, atoms)
            place = 0
            while keys[place] != keys[known]:
                place += 1
            if place == known:
                out[count] = keys[known] >> shift
                count += 1
                known += 1
    return count


@kernel
def _scratch(values, kind, templates):
    """Return arrays for the words, the atoms, keys and the most features of a part."""
    kinds, ends, between = templates[0], templates[1], templates[2]
    n = values.shape[0]
    room = 0
    for t in range(kinds[kind], kinds[kind + 1]):
        room += 1 if between[t] == ends[t + 1] else n
    return (
        np.full(5, -1), np.zeros(len(ATOMS), np.int64), np.empty(n, np.uint64),
        np.empty(room, np.int64),
    )


@kernel
def _choose(part, grand, head, inner, mod, words):
    """Write the words of a part."""
    words[HEAD], words[MOD] = head[part], mod[part]
    if grand.shape[0]:
        words[GRAND] = grand[part]
    if inner.shape[0]:
        words[INNER] = inner[part]


@kernel
def score_parts(values, parts, kind, templates, weights, quantum):
    """Score parts of a kind: sums of weights (int32) times ``quantum``, float64[P].

    ``parts`` are grandparents, heads, inner siblings and modifiers (int32[P], -1 where there is
    none; empty for a role that all parts lack). ``templates`` are `CompiledTemplates` as a tuple.
    """
    grand, head, inner, mod = parts
    words, atoms, keys, out = _scratch(values, kind, templates)
    scores = np.zeros(head.shape[0])
    for part in range(head.shape[0]):
        _choose(part, grand, head, inner, mod, words)
        total = np.int64(0)
        for i in range(_part_features(values, words, kind, templates, atoms, keys, out)):
            total += weights[out[i]]
        scores[part] = total * quantum
    return scores


@kernel
def find_features(values, parts, kind, templates):
    """List the features of parts: part p has ``indices[ends[p]:ends[p + 1]]``, all int64."""
    grand, head, inner, mod = parts
    words, atoms, keys, out = _scratch(values, kind, templates)
    ends = np.zeros(head.shape[0] + 1, np.int64)
    indices = np.empty(head.shape[0] * min(out.shape[0], 256), np.int64)
    for part in range(head.shape[0]):
        _choose(part, grand, head, inner, mod, words)
        count = _part_features(values, words, kind, templates, atoms, keys, out)
        filled = ends[part]
        if filled + count > indices.shape[0]:
            more = np.empty(2 * (filled + count), np.int64)
            more[:filled] = indices[:filled]
            indices = more
        indices[filled : filled + count] = out[:count]
        ends[part + 1] = filled + count
    return ends, indices[: ends[-1]]
