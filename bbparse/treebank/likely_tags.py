"""`LikelyTags`: probabilities of a tagger's alternatives for the tags of a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # reading files does without numpy
    import numpy as np
    from numpy.typing import NDArray

TagNames = tuple[tuple[str, ...], tuple[str, ...]]
"""Tags, each of UPOS, tab, XPOS, and values of FEATS."""


class Likely(NamedTuple):
    """Likely values of n words: ``begin[i]`` to ``begin[i + 1]`` are those of word i."""

    begin: NDArray[np.int64]  #: int64[n + 1]
    numbers: NDArray[np.int32]  #: int32[m]: numbers of the values.
    probabilities: NDArray[np.float32]  #: float32[m]: their sum is 1 for each word.


class LikelyTags(NamedTuple):
    """Tags and values of FEATS that a tagger finds likely, with the names of the numbers."""

    names: TagNames
    tags: Likely
    feats: Likely
    #: UPOS, XPOS and FEATS that the tagger chose: words with others are in no doubt. None: any.
    chosen: tuple[list[str], list[str], list[str]] | None = None
