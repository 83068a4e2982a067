"""Vectors of words from outside: a file of word vectors, or the states of an encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError, OutsideError
from bbparse.outside.encoder import EncoderStates, fit_encoder
from bbparse.outside.protocol import OUTSIDE_ARRAYS, Outside
from bbparse.outside.vectors import WordVectors, read_vectors

__all__ = [
    "OUTSIDE_ARRAYS", "EncoderStates", "Outside", "WordVectors", "fit_encoder", "one_source",
    "outside_from", "read_vectors",
]  # fmt: skip


def outside_from(arrays: Mapping[str, NDArray[Any]], where: str = "outside") -> Outside | None:
    """What `to_arrays` of a source gave; None if there is nothing. `ModelError`, with the file's
    name ``where``, if it is damaged."""
    if arrays.keys().isdisjoint(OUTSIDE_ARRAYS):
        return None
    try:
        kind = EncoderStates if "outside_shift" in arrays else WordVectors
        return kind.from_arrays(arrays)
    except KeyError as error:
        raise ModelError(f"{where}: array {error.args[0]} is missing") from None
    except OutsideError as error:
        raise ModelError(f"{where}: {error}") from None


def one_source(*sources: Outside | None) -> Outside | None:
    """The one of which networks take vectors, None if none does; `ModelError` if they differ."""
    found = [source for source in sources if source is not None]
    for other in found[1:]:
        if other is not found[0]:
            arrays, own = other.to_arrays(), found[0].to_arrays()
            if arrays.keys() != own.keys() or any(
                not np.array_equal(array, own[name]) for name, array in arrays.items()
            ):
                raise ModelError(
                    "parser and tagger take different vectors from outside, and a model has one"
                    " kind: train the tagger together with the parser"
                )
    return found[0] if found else None
