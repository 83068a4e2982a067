"""`BaseStates`: embeddings by the encoder of another model, the *base* of small models.

A model on a base holds the name of the base and the hash of its encoder instead of the encoder, so
that models of many languages share one. `neural` knows no model files: whoever loads a model gives
a function that finds the base.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bbparse.neural.embeddings.bert import Bert
from bbparse.neural.embeddings.encoder import EncoderStates, identity
from bbparse.neural.embeddings.protocol import checked_note
from bbparse.runtime.archive import Fields
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.errors import EmbeddingsError
from bbparse.treebank import Sentence

#: Returns the encoder of the base with a name.
BaseReader = Callable[[str], Bert]


class Base(NamedTuple):
    """A model whose encoder others may use: its name, the note of its encoder, and the encoder."""

    name: str
    note: dict[str, Any]
    encoder: Bert


class BaseStates(EncoderStates):
    """States of the encoder of a base, whose name the note has as ``base``.

    The encoder is read on first use if it is not given; `EmbeddingsError` if its hash is another.
    """

    def __init__(
        self,
        note: dict[str, Any],
        shift: Float32s,
        folder: str | os.PathLike[str] | None = None,
        encoder: Bert | None = None,
        read: BaseReader | None = None,
    ) -> None:
        super().__init__(note, shift, folder, encoder)
        self._read_base = read

    def use(self, encoder: Bert | None) -> None:
        """Use an encoder that is in memory already, if it is the one of the base."""
        if encoder is not None and encoder.hash == self.note["hash"]:
            self._encoder = encoder

    def _loaded_encoder(self) -> Bert:
        name = self.note["base"]
        if self._encoder is None:
            if self._read_base is None:
                raise EmbeddingsError(f"base {name}: not given")
            self.use(self._read_base(name))
        if not isinstance(self._encoder, Bert):
            raise EmbeddingsError(
                f"base {name}: another version than the model was trained on, whose encoder has the"
                f" hash {self.note['hash']}"
            )
        return self._encoder

    def to_fields(self) -> Fields:
        """Return the fields for a model file, without the encoder."""
        return {"embeddings": self.note, "embeddings_shift": self._shift}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], read: BaseReader | None = None) -> BaseStates:
        """Make embeddings from fields of `to_fields`; `EmbeddingsError` if they are damaged."""
        note = {"revision": None, **checked_note(fields["embeddings"])}
        if not isinstance(note["base"], str):
            raise EmbeddingsError(f"the name of the base is {note['base']!r:.60}")
        return cls(note, fields["embeddings_shift"], read=read)


def fit_base(
    base: Base,
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    folder: str | os.PathLike[str] | None = None,
) -> BaseStates:
    """Return the states of a base's encoder, standardised over some sentences.

    Parameters
    ----------
    base : Base
        See `bbparse.models.model_file.load_base`.
    sentences, dev : sequence of Sentence
        Training sentences, whose states are computed now, and further sentences.
    folder : path, optional
        Folder to store states in, since training reads them many times.
    """
    note = {**base.note, "base": base.name, "hash": base.encoder.hash}
    shift = identity(base.encoder.dimension)
    return BaseStates(note, shift, folder, base.encoder).fitted(sentences)
