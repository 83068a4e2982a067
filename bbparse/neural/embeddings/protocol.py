"""Interface of pretrained embeddings: a vector for each word of a sentence, and its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bbparse.runtime.archive import Fields, Rule
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.errors import EmbeddingsError
from bbparse.treebank import Sentence

#: Fields of a model file, with the rules by which `read_archive` checks them.
EMBEDDINGS_FIELDS: dict[str, Rule] = {
    "embeddings": dict,  # the note
    "embeddings_keys": ("u", 1, None),
    "embeddings_rows": ("i", 2, None),
    "embeddings_scales": ("f", 1, None),
    "embeddings_shift": ("f", 2, None),
    # an encoder that the model holds
    "encoder_pieces": list,
    "encoder_scores": ("f", 1, "encoder_pieces"),  # of Unigram pieces
    "encoder_charsmap": ("u", 1, None),
    "encoder_vectors": ("i", 2, "encoder_pieces"),
    "encoder_units": ("f", 1, "encoder_pieces"),
    "encoder_matrices": ("i", 1, None),
    "encoder_numbers": ("f", 1, None),
}
#: Maximum length of a vector.
MAX_DIMENSIONS = 4096


class Embeddings(Protocol):
    """Pretrained embeddings, which depend only on the forms of words; threads may share them."""

    #: Facts for the model card that identify the source: file or encoder, hash, dimension.
    note: dict[str, Any]

    @property
    def width(self) -> int:
        """Length of the vectors, a multiple of 4."""
        return width_of(self.note["dimension"])

    def __call__(self, sentences: Sequence[Sentence]) -> list[Float32s]:
        """Return float32[n_words, width] for each sentence; unknown words have zeros."""
        ...

    def to_fields(self) -> Fields:
        """Return the fields of `EMBEDDINGS_FIELDS` for a model file."""
        ...


class LearningText:
    """Gold sentences, and the words of silver ones, as far as embeddings depend on them."""

    def __init__(self, gold: Sequence[Sentence], silver: Iterable[Sentence]) -> None:
        self._gold = gold
        self._silver = ["\t".join(sentence.forms) for sentence in silver]

    def __call__(self, chosen: Iterable[int]) -> list[Sentence]:
        """Return some sentences, by number: the gold ones come first."""
        n = len(self._gold)
        return [
            self._gold[i] if i < n else Sentence.from_words(self._silver[i - n].split("\t"))
            for i in chosen
        ]


def width_of(dimension: int) -> int:
    """Round a dimension up to a multiple of 4."""
    return dimension + -dimension % 4


def checked(
    fields: Mapping[str, Any], name: str, dtype: Any, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return an array of a file; `EmbeddingsError` if it has another dtype or shape."""
    array = fields[name]
    if array.dtype != dtype or array.shape != shape:
        raise EmbeddingsError(
            f"{name} has shape {array.shape} and dtype {array.dtype}, expected {shape} and"
            f" {np.dtype(dtype)}"
        )
    return np.ascontiguousarray(array)


def checked_note(note: Mapping[str, Any]) -> dict[str, Any]:
    """Return the note of a file: `EmbeddingsError` unless it has a name, a hash and a dimension."""
    dimension = note.get("dimension")
    is_named = isinstance(note.get("name"), str) and isinstance(note.get("hash"), str)
    if not is_named or type(dimension) is not int or not 1 <= dimension <= MAX_DIMENSIONS:
        raise EmbeddingsError(f"the note of the embeddings is damaged: {note!r:.60}")
    return dict(note)
