"""Pretrained embeddings: word vectors from a file, or the states of a contextual encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bbparse.neural.embeddings.base import BaseReader, BaseStates, fit_base
from bbparse.neural.embeddings.encoder import EncoderStates, fit_encoder
from bbparse.neural.embeddings.protocol import EMBEDDINGS_FIELDS, Embeddings
from bbparse.neural.embeddings.vectors import WordVectors, read_vectors
from bbparse.runtime.archive import reading_part
from bbparse.runtime.errors import ModelError

__all__ = [
    "EMBEDDINGS_FIELDS",
    "BaseStates",
    "Embeddings",
    "EncoderStates",
    "WordVectors",
    "embeddings_from",
    "fit_base",
    "fit_encoder",
    "read_vectors",
    "shared_embeddings",
]


def embeddings_from(
    fields: Mapping[str, Any], where: str = "embeddings", read_base: BaseReader | None = None
) -> Embeddings | None:
    """Load the embeddings of a model file; None if it has none. `read_base` finds their base."""
    if fields.keys().isdisjoint(EMBEDDINGS_FIELDS):
        return None
    with reading_part("embeddings", fields, where) as given:
        if "base" in given["embeddings"]:
            return BaseStates.from_fields(given, read_base)
        kind = EncoderStates if "embeddings_shift" in given else WordVectors
        return kind.from_fields(given)


def shared_embeddings(*sources: Embeddings | None) -> Embeddings | None:
    """Return the embeddings that all networks share, None if none uses any."""
    used = [source for source in sources if source is not None]
    for source in used[1:]:
        if source is not used[0]:
            fields, expected = source.to_fields(), used[0].to_fields()
            if fields.keys() != expected.keys() or any(
                not np.array_equal(value, expected[name]) for name, value in fields.items()
            ):
                raise ModelError(
                    "parser and tagger use different pretrained embeddings, but a model has only"
                    " one source: train the tagger together with the parser"
                )
    return used[0] if used else None
