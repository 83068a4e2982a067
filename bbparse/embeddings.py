"""Pretrained embeddings: word vectors from a file, or the states of a contextual encoder."""

from bbparse.neural.embeddings import (
    Embeddings,
    EncoderStates,
    WordVectors,
    fit_encoder,
    read_vectors,
)
from bbparse.neural.embeddings.tuning import tune_encoder

__all__ = [
    "Embeddings",
    "EncoderStates",
    "WordVectors",
    "fit_encoder",
    "read_vectors",
    "tune_encoder",
]
