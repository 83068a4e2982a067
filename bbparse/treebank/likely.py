"""`LikelyTags`: what a tagger finds likely besides the tags that a sentence has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # reading files does without numpy
    import numpy as np
    from numpy.typing import NDArray

TagNames = tuple[tuple[str, ...], tuple[str, ...]]
"""Tags, each of UPOS, tab, XPOS, and values of FEATS."""


class Likely(NamedTuple):
    """Likely values of each of n words: those of word i are ``begin[i]`` to ``begin[i + 1]``.

    Attributes
    ----------
    begin : int64[n + 1]
    numbers : int32[m]
        Numbers of the values.
    shares : float32[m]
        Their probabilities, which sum up to 1 for each word.
    """

    begin: NDArray[np.int64]
    numbers: NDArray[np.int32]
    shares: NDArray[np.float32]


class LikelyTags(NamedTuple):
    """Tags and values of FEATS that a tagger finds likely, with the names of the numbers."""

    names: TagNames
    tags: Likely
    feats: Likely
    #: UPOS, XPOS and FEATS that the tagger chose: words with others are in no doubt. None: any.
    chosen: tuple[list[str], list[str], list[str]] | None = None
