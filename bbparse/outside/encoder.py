"""`EncoderStates`: what an encoder of the library transformers makes of words in their sentence.

States are computed when they are first asked for, kept for a while, and on disk as long as there is
a folder for them. They are those of `bbparse.outside.transformer`, of 16 bits, each dimension with
the mean 0 and the variance 1 that it had over the training words.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import OutputError, OutsideError
from bbparse.outside.protocol import Floats, note_array, read_note, width_of
from bbparse.outside.transformer import Transformer
from bbparse.storage.output import open_binary_output
from bbparse.treebank import Sentence
from bbparse.treebank.progress import watched

#: Where the encoder is, if not where it was in training: a folder, or a name.
VARIABLE = "BBPARSE_ENCODER"

_KEPT = 512  # sentences
_TOGETHER = 64

States = NDArray[np.float16]


class EncoderStates:
    """States of words, by an encoder that is loaded when the first are needed, if it is not given.

    The note has its ``name``, ``revision``, ``hash`` and ``dimension``; ``shift`` (float32[2,
    dimension]) are mean and standard deviation of its states. In the folder, if any, states are
    kept, by encoder and sentence. `OutsideError` if they do not fit each other.
    """

    def __init__(
        self,
        note: dict[str, Any],
        shift: Floats,
        folder: str | os.PathLike[str] | None = None,
        encoder: Transformer | None = None,
    ) -> None:
        expected = 2, note["dimension"]
        if shift.shape != expected or shift.dtype != np.float32:
            raise OutsideError(
                f"means and deviations have shape {shift.shape} and dtype {shift.dtype}, expected"
                f" {expected} and float32"
            )
        if not np.isfinite(shift).all() or not (shift[1] > 0.0).all():
            raise OutsideError("means and deviations are no finite numbers, or not above 0")
        self.note = note
        self.folder = None if folder is None else Path(folder)
        self._shift = shift
        self._encoder = encoder
        self._known: OrderedDict[str, States] = OrderedDict()
        self._lock = threading.RLock()

    @property
    def width(self) -> int:
        return width_of(self.note["dimension"])

    def __call__(self, sentences: Sequence[Sentence]) -> list[Floats]:
        mean, deviation = self._shift
        found = []
        for states in self.states(sentences):
            new = np.zeros((len(states), self.width), np.float32)
            new[:, : len(mean)] = (states - mean) / deviation
            new[~states.any(axis=1)] = 0.0  # no pieces, nothing known
            found.append(new)
        return found

    def states(self, sentences: Sequence[Sentence]) -> list[States]:
        """States as the encoder gives them: remembered, read or computed."""
        keys = [self._key(sentence) for sentence in sentences]
        with self._lock:
            new = {}
            for key, sentence in zip(keys, sentences):
                if key not in self._known and key not in new:
                    states = self._read(key, sentence.n_words)
                    if states is None:
                        new[key] = sentence.forms
                    else:
                        self._known[key] = states
            if new:
                for key, states in zip(new, self._needed().states(list(new.values()))):
                    self._known[key] = states
                    self._write(key, states)
            found = [self._known[key] for key in keys]
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    def _key(self, sentence: Sentence) -> str:
        text = "\0".join([self.note["hash"], *sentence.forms])
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / key[:2] / f"{key[2:]}.npy"

    def _read(self, key: str, n_words: int) -> States | None:
        path = self._path(key)
        if path is None or not path.exists():
            return None
        try:
            states = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None  # computed anew, and written over
        good = states.shape == (n_words, self.note["dimension"]) and states.dtype == np.float16
        return states if good else None

    def _write(self, key: str, states: States) -> None:
        path = self._path(key)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{path.parent}: cannot be written: {error.strerror}") from None
        with open_binary_output(path) as file:
            np.save(file, states, allow_pickle=False)

    def _needed(self) -> Transformer:
        """The encoder; in a fork of a process that has it on a GPU, another one."""
        encoder, note = self._encoder, self.note
        forked = encoder is not None and encoder.process != os.getpid()
        if encoder is None or (forked and encoder.device != "cpu"):
            name = os.environ.get(VARIABLE) or note["name"]
            encoder = Transformer(name, note["revision"], cpu=forked)
            if encoder.hash != note["hash"]:
                raise OutsideError(
                    f"encoder {encoder.name}: another version than the model was trained with: its"
                    f" files have the hash {encoder.hash}, expected {note['hash']}"
                )
            self._encoder = encoder
        return encoder

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {"outside_note": note_array(self.note), "outside_shift": self._shift}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> EncoderStates:
        """What `to_arrays` gave; raises `OutsideError` if that is damaged."""
        return cls({"revision": None, **read_note(arrays)}, arrays["outside_shift"])


def fit_encoder(
    name: str | os.PathLike[str],
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    folder: str | os.PathLike[str] | None = None,
    license: str | None = None,
) -> EncoderStates:
    """States of an encoder, whose dimensions are evened out by those of some sentences.

    Parameters
    ----------
    name : str
        A folder, or a name on the Hugging Face hub.
    sentences, dev : sequence of Sentence
        Those of training, whose states are computed at once, and further ones.
    folder : path, optional
        Where states are kept. Training reads them many times.
    license : str, optional
        Of the encoder, for the model's card.

    Raises
    ------
    OutsideError
        As `Transformer` says.
    """
    encoder = Transformer(os.fspath(name))
    note = {
        "kind": "encoder", "name": os.fspath(name), "revision": encoder.revision,
        "hash": encoder.hash, "dimension": encoder.dimension, "license": license,
    }  # fmt: skip
    plain = np.repeat(np.array([[0.0], [1.0]], np.float32), encoder.dimension, axis=1)
    source = EncoderStates(note, plain, folder, encoder)
    count, total, squares = 0, np.zeros(encoder.dimension), np.zeros(encoder.dimension)
    for first in watched(range(0, len(sentences), _TOGETHER), "states", " batches"):
        for states in source.states(sentences[first : first + _TOGETHER]):
            own = states[states.any(axis=1)].astype(np.float64)
            count += len(own)
            total += own.sum(axis=0)
            squares += np.square(own).sum(axis=0)
    mean = total / max(1, count)
    deviation = np.sqrt(np.maximum(squares / max(1, count) - mean * mean, 0.0))
    shift = np.stack([mean, np.where(deviation > 1e-6, deviation, 1.0)]).astype(np.float32)
    return EncoderStates(note, shift, folder, encoder)
