"""Hashes of features: the same 64-bit numbers in every process, in Python and in kernels.

The linear model (`models.scoring.features`) and the factor families (`models.factors.templates`)
name features by templates. A template is a list of *terms*; the key of a feature is a salt of the
template into which the value of each term is mixed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bbparse.runtime.jit import kernel
from bbparse.treebank.encode import PAD, text_hash

#: Roles of terms that read no word: a property of the part, one of `atoms`.
ATOM = -1
#: Value of a word that a part does not have, in place of its attributes.
NO_WORD = np.uint64(text_hash("none"))


def mix_all(x: Any) -> Any:
    """Mix the bits by the finaliser of SplitMix64 (Steele, Lea & Flood 2014), a bijection.

    Of a np.uint64 in kernels, of uint64 arrays outside.
    """
    x = x ^ (x >> np.uint64(30))
    x = x * np.uint64(0xBF58476D1CE4E5B9)
    x = x ^ (x >> np.uint64(27))
    x = x * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


#: The same in kernels.
mix = kernel(mix_all)


@kernel
def mix_terms(key, terms, first, last, values, words, atoms):
    """Mix the values of the terms first:last into a key.

    A row of `terms` is a role, an offset and a column. Role r reads ``values[PAD + words[r] +
    offset, column]``, or `NO_WORD` where the word is negative; the role `ATOM` reads
    ``atoms[column]``.
    """
    for i in range(first, last):
        role, column = terms[i, 0], terms[i, 2]
        if role < 0:
            value = np.uint64(atoms[column] + 1)
        elif words[role] < 0:
            value = NO_WORD
        else:
            value = values[PAD + words[role] + terms[i, 1], column]
        key = mix(key ^ value)
    return key
