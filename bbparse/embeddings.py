"""Pretrained embeddings: word vectors from a file, or the states of a contextual encoder."""

from bbparse.neural.embeddings import (
    Embeddings,
    EncoderStates,
    WordVectors,
    fit_encoder,
    read_vectors,
)

__all__ = ["Embeddings", "EncoderStates", "WordVectors", "fit_encoder", "read_vectors"]
