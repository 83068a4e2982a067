"""Hashes of features: the same 64-bit numbers in every process, in Python and in kernels.

The linear model (`models.scoring.features`) and the factor families (`models.factors.templates`)
name features by templates. A template is a list of *terms*; the key of a feature is a salt of the
template into which the value of each term is mixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.arrays import Hashes, Ints, Longs
from bbparse.runtime.jit import kernel
from bbparse.treebank.encode import PAD, text_hash

#: Role of terms that read no word: a property of the part, one of its atoms.
ATOM = -1
#: Value of a word that a part does not have, in place of its attributes.
_NO_WORD = np.uint64(text_hash("none"))

Term = tuple[int, int, int]
"""Role of a word, offset from it and column of its attributes; or `ATOM`, 0 and an atom."""


def mix_all(x: Any) -> Any:
    """Mix bits by the finaliser of SplitMix64 (Steele, Lea & Flood 2014), a bijection."""
    x = x ^ (x >> np.uint64(30))
    x = x * np.uint64(0xBF58476D1CE4E5B9)
    x = x ^ (x >> np.uint64(27))
    x = x * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


#: The same in kernels.
mix = kernel(mix_all)


class TermTable(NamedTuple):
    """Templates as arrays: template t has the terms ``terms[ptr[t] : ptr[t + 1]]``."""

    ptr: Longs
    terms: Ints
    salts: Hashes

    @classmethod
    def of(cls, templates: Iterable[Sequence[Term]], salts: Sequence[int]) -> TermTable:
        """Build the table of templates with these salts."""
        lists = list(templates)
        terms = np.array([term for own in lists for term in own], np.int32).reshape(-1, 3)
        return cls(np.cumsum([0, *map(len, lists)]), terms, np.array(salts, np.uint64))

    def keys(self, values: Hashes, words: Longs, atoms: Longs) -> Hashes:
        """Return the keys of the templates in each of some parts, uint64[P, T].

        ``values`` are an encoded sentence. ``words`` int64[P, roles] are the words of the parts, -1
        where there is none, and ``atoms`` int64[P, atoms] their properties.
        """
        keys: Hashes = _keys(values, words, atoms, *self)
        return keys


@kernel
def _keys(
    values: Hashes, words: Longs, atoms: Longs, ptr: Longs, terms: Ints, salts: Hashes
) -> NDArray[np.uint64]:
    keys = np.empty((words.shape[0], salts.shape[0]), np.uint64)
    for part in range(words.shape[0]):
        for t in range(salts.shape[0]):
            key = salts[t]
            for i in range(ptr[t], ptr[t + 1]):
                role, column = terms[i, 0], terms[i, 2]
                if role < 0:
                    value = np.uint64(atoms[part, column] + 1)
                elif words[part, role] < 0:
                    value = _NO_WORD
                else:
                    value = values[PAD + words[part, role] + terms[i, 1], column]
                key = mix(key ^ value)
            keys[part, t] = key
    return keys
