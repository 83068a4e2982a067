"""What networks take from outside: a vector for each word of a sentence, and where it is from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import OutsideError
from bbparse.storage.archive import TEXT, Rule
from bbparse.treebank import Sentence

Floats = NDArray[np.float32]

#: Arrays of a model file, with the rules that `read_archive` checks them by.
OUTSIDE_ARRAYS: dict[str, Rule] = {
    "outside_note": (TEXT, 0, None),
    "outside_keys": ("u", 1, None),
    "outside_rows": ("i", 2, None),
    "outside_scales": ("f", 1, None),
    "outside_shift": ("f", 2, None),
}
#: Longest vector.
MOST_DIMENSIONS = 4096


class Outside(Protocol):
    """A source of vectors. It sees the forms of words only, and threads may share it."""

    #: For the model's card, and to tell sources apart: file or encoder, hash, dimension.
    note: dict[str, Any]

    @property
    def width(self) -> int:
        """Length of the vectors: a multiple of 4, which networks want."""
        ...

    def __call__(self, sentences: Sequence[Sentence]) -> list[Floats]:
        """Of each sentence float32[n_words, width]; zeros for a word of which nothing is known."""
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays of `OUTSIDE_ARRAYS` for a model's file."""
        ...


def width_of(dimension: int) -> int:
    """The next multiple of 4."""
    return dimension + -dimension % 4


def note_array(note: Mapping[str, Any]) -> NDArray[Any]:
    """A note as an array of a file."""
    return np.array(json.dumps(note, sort_keys=True))


def read_note(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The note of a file's arrays, with a name, a hash and a dimension that there can be.

    `OutsideError` if it is damaged.
    """
    try:
        note = dict(json.loads(str(arrays["outside_note"].item())))
        dimension = note["dimension"]
        good = isinstance(note["name"], str) and isinstance(note["hash"], str)
        if not good or type(dimension) is not int or not 1 <= dimension <= MOST_DIMENSIONS:
            raise ValueError(f"dimension is {dimension!r:.20}")
    except (KeyError, TypeError, ValueError) as error:
        raise OutsideError(f"outside_note is damaged: {error}") from None
    return note
