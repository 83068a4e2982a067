"""Pretrained embeddings: word vectors from a file, or the states of a contextual encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings.encoder import EncoderStates, fit_encoder
from bbparse.neural.embeddings.protocol import EMBEDDINGS_ARRAYS, Embeddings
from bbparse.neural.embeddings.vectors import WordVectors, read_vectors
from bbparse.runtime.errors import EmbeddingsError, ModelError

__all__ = [
    "EMBEDDINGS_ARRAYS", "Embeddings", "EncoderStates", "WordVectors", "embeddings_from",
    "fit_encoder", "one_source", "read_vectors",
]


def embeddings_from(
    arrays: Mapping[str, NDArray[Any]], where: str = "embeddings"
) -> Embeddings | None:
    """Load the embeddings of a model file; None if it has none.

    `ModelError` if the arrays are damaged; `where` is the name of the file.
    """
    if arrays.keys().isdisjoint(EMBEDDINGS_ARRAYS):
        return None
    try:
        kind = EncoderStates if "embeddings_shift" in arrays else WordVectors
        return kind.from_arrays(arrays)
    except KeyError as error:
        raise ModelError(f"{where}: array {error.args[0]} is missing") from None
    except EmbeddingsError as error:
        raise ModelError(f"{where}: {error}") from None


def one_source(*sources: Embeddings | None) -> Embeddings | None:
    """Return the embeddings that all networks share, None if none uses any.

    `ModelError` if two networks use different ones.
    """
    used = [source for source in sources if source is not None]
    for source in used[1:]:
        if source is not used[0]:
            arrays, expected = source.to_arrays(), used[0].to_arrays()
            if arrays.keys() != expected.keys() or any(
                not np.array_equal(array, expected[name]) for name, array in arrays.items()
            ):
                raise ModelError(
                    "parser and tagger use different pretrained embeddings, but a model has only"
                    " one source: train the tagger together with the parser"
                )
    return used[0] if used else None
