"""`EncoderStates`: embeddings of words in their sentence by a contextual encoder.

Encoders like BERT, XLM-R and MPNet are computed by our own kernels (`neural.embeddings.bert`), and
models hold them or name another model that does (`neural.embeddings.base`); others are computed by
the library transformers (`neural.embeddings.transformer`), and models name them. States are
computed on first use, cached in memory for a while, and stored on disk if there is a folder for
them, in 16 bits; each dimension is standardised by its mean and variance over the training words.
"""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings.bert import BERT_FIELDS, Bert
from bbparse.neural.embeddings.hugging_face import read_bert
from bbparse.neural.embeddings.pieces import ForeignEncoder
from bbparse.neural.embeddings.protocol import Embeddings, checked, checked_note
from bbparse.neural.embeddings.transformer import Transformer
from bbparse.runtime.archive import Fields
from bbparse.runtime.arrays import Float32s, Longs
from bbparse.runtime.errors import EmbeddingsError
from bbparse.runtime.output import UNFINISHED, open_binary_output, writing
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence

#: Environment variable with the folder or name of the encoder, if it has moved since training.
VARIABLE = "BBPARSE_ENCODER"

_MAX_CACHED = 512  # sentences
_BATCH = 64  # sentences

States = NDArray[np.float16]


class EncoderStates(Embeddings):
    """Contextual embeddings of words: the states of an encoder.

    The note has ``name``, ``revision``, ``hash`` and ``dimension`` of the encoder, which is loaded
    on first use if it is not given. `shift`, float32[2, dimension], has the mean and the standard
    deviation of its states. States are stored in `folder`, by encoder and sentence.
    `EmbeddingsError` if the arguments do not fit each other.
    """

    def __init__(
        self,
        note: dict[str, Any],
        shift: Float32s,
        folder: str | os.PathLike[str] | None = None,
        encoder: Transformer | Bert | None = None,
    ) -> None:
        checked({"shift": shift}, "shift", np.float32, (2, note["dimension"]))
        if not np.isfinite(shift).all() or not (shift[1] > 0.0).all():
            raise EmbeddingsError("means are not finite, or deviations not above 0")
        self.note = note
        self.folder = None if folder is None else Path(folder)
        self._shift = shift
        self._encoder = encoder
        self._cached: OrderedDict[str, States] = OrderedDict()
        self._lock = threading.RLock()

    def __call__(self, sentences: Sequence[Sentence]) -> list[Float32s]:
        """Return the standardised states of each sentence, float32[n_words, width]."""
        return [self._standardised(states) for states in self.states(sentences)]

    def of_characters(self, texts: Sequence[str]) -> list[tuple[Float32s, Longs]]:
        """Return standardised states of the pieces of each text, then a row of zeros.

        With them come the places of its characters among the pieces: see `Pieces.of_characters`.
        """
        encoder = self._loaded_encoder()
        if not isinstance(encoder, Bert):
            raise EmbeddingsError(f"encoder {self.note['name']}: has no pieces of text")
        ids, all_places = zip(*map(encoder.pieces.of_characters, texts))
        return [
            (np.pad(self._standardised(states), ((0, 1), (0, 0))), places)
            for states, places in zip(encoder.states_of_pieces(ids), all_places)
        ]

    def _standardised(self, states: NDArray[np.floating[Any]]) -> Float32s:
        mean, deviation = self._shift
        rows = np.zeros((len(states), self.width), np.float32)
        rows[:, : len(mean)] = (states - mean) / deviation
        rows[~states.any(axis=1)] = 0.0  # words without pieces are unknown
        return rows

    def states(self, sentences: Sequence[Sentence]) -> list[States]:
        """Return states as the encoder computes them: cached, read or new."""
        keys = [self._key(sentence) for sentence in sentences]
        with self._lock:
            missing = {}
            for key, sentence in zip(keys, sentences):
                if key not in self._cached and key not in missing:
                    states = self._read(key, sentence.n_words)
                    if states is None:
                        missing[key] = composed(sentence)
                    else:
                        self._cached[key] = states
            if missing:
                for key, states in zip(
                    missing, self._loaded_encoder().states(list(missing.values()))
                ):
                    self._cached[key] = states
                    self._write(key, states)
            cached = [self._cached[key] for key in keys]
            while len(self._cached) > _MAX_CACHED:
                self._cached.popitem(last=False)
        return cached

    @property
    def reads_text(self) -> bool:
        """True if its encoder has states of the pieces of text; see `of_characters`."""
        return isinstance(self._loaded_encoder(), Bert)

    @property
    def held_encoder(self) -> Bert | None:
        """The encoder that a model holds; None if it only names one."""
        return self._encoder if isinstance(self._encoder, Bert) else None

    def fitted(self, sentences: Sequence[Sentence]) -> Self:
        """Return the same embeddings, standardised over the words of some sentences."""
        dimension = self.note["dimension"]
        count, total, squares = 0, np.zeros(dimension), np.zeros(dimension)
        for first in watched(range(0, len(sentences), _BATCH), "states", " batches"):
            for states in self.states(sentences[first : first + _BATCH]):
                known_states = states[states.any(axis=1)].astype(np.float64)
                count += len(known_states)
                total += known_states.sum(axis=0)
                squares += np.square(known_states).sum(axis=0)
        mean = total / max(1, count)
        deviation = np.sqrt(np.maximum(squares / max(1, count) - mean * mean, 0.0))
        shift = np.stack([mean, np.where(deviation > 1e-6, deviation, 1.0)]).astype(np.float32)
        return type(self)(self.note, shift, self.folder, self._encoder)

    def _key(self, sentence: Sentence) -> str:
        text = "\0".join([self.note["hash"], *composed(sentence)])
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / key[:2] / f"{key[2:]}.npy"

    def _read(self, key: str, n_words: int) -> States | None:
        """Read stored states; None if there are none, or they are damaged."""
        path, shape = self._path(key), (n_words, self.note["dimension"])
        if path is not None and path.exists():
            with suppress(OSError, ValueError, EOFError):
                states = np.load(path, allow_pickle=False)
                return states if states.shape == shape and states.dtype == np.float16 else None
        return None

    def _write(self, key: str, states: States) -> None:
        path = self._path(key)
        if path is None:
            return
        with writing(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        with open_binary_output(path) as file:
            np.save(file, states, allow_pickle=False)

    def _loaded_encoder(self) -> Transformer | Bert:
        """Return the encoder; load another one in a fork of a process that has it on a GPU."""
        encoder, note = self._encoder, self.note
        if isinstance(encoder, Bert):
            return encoder
        forked = encoder is not None and encoder.process != os.getpid()
        if encoder is None or (forked and encoder.device != "cpu"):
            name = os.environ.get(VARIABLE) or note["name"]
            encoder = Transformer(name, note["revision"], cpu=forked)
            if encoder.hash != note["hash"]:
                raise EmbeddingsError(
                    f"encoder {encoder.name}: another version than the model was trained with: its"
                    f" files have the hash {encoder.hash}, expected {note['hash']}"
                )
            self._encoder = encoder
        return encoder

    def to_fields(self) -> Fields:
        """Return the fields for a model file."""
        fields = {"embeddings": self.note, "embeddings_shift": self._shift}
        return fields | (self._encoder.fields if isinstance(self._encoder, Bert) else {})

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> EncoderStates:
        """Make embeddings from fields of `to_fields`; `EmbeddingsError` if they are damaged."""
        note = {"revision": None, **checked_note(fields["embeddings"])}
        encoder = None if fields.keys().isdisjoint(BERT_FIELDS) else Bert(note, fields)
        return cls(note, fields["embeddings_shift"], encoder=encoder)


def remove_states(folder: Path) -> None:
    """Remove stored states from a folder, and the folder if nothing else is in it."""
    for path in folder.glob("??/*"):
        if re.fullmatch("[0-9a-f]{30}[.]npy", path.name) or path.match(UNFINISHED):
            path.unlink(missing_ok=True)
    for path in (*folder.glob("??"), folder):
        with suppress(OSError):  # something else is in it, or it is not there
            path.rmdir()


def fit_encoder(
    name: str | os.PathLike[str],
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    folder: str | os.PathLike[str] | None = None,
    license: str | None = None,
    layers: int | tuple[int, int] | None = None,
    pieces: int | None = None,
    bits: float | None = None,
) -> EncoderStates:
    """Load an encoder and standardise its states over some sentences.

    Parameters
    ----------
    name : str
        A folder, or a name on the Hugging Face hub.
    sentences, dev : sequence of Sentence
        Training sentences, whose states are computed now, and further sentences.
    folder : path, optional
        Folder to store states in, since training reads them many times.
    license : str, optional
        License of the encoder, for the model card.
    layers : int or (int, int), optional
        Number of layers to use, from the first, of an encoder that the model will hold; by default
        all. States are the mean of the last four of them; with two numbers, such as (5, 8), of the
        layers between them. Upper layers often serve other tasks: for parsing, three of MiniLM's
        six are as good.
    pieces : int, optional
        Number of pieces to keep of such an encoder, the most frequent ones in the training
        sentences, including all single characters (of Unigram: those in the sentences); other words
        are split into smaller pieces. By default all.
    bits : float, optional
        Round weights of such an encoder so that each takes some so many bits in a model file; by
        default they take 6.

    Returns
    -------
    EncoderStates

    Raises
    ------
    EmbeddingsError
        If the encoder cannot be loaded or used; see `neural.embeddings.transformer.Transformer`.
    """
    encoder: Transformer | Bert
    facts: dict[str, Any]
    try:
        if not Path(name).is_dir():
            raise ForeignEncoder(f"encoder {name}: is no folder")
        encoder = read_bert(Path(name), layers, bits)
        if pieces is not None:
            words = (form for sentence in sentences for form in composed(sentence))
            encoder = encoder.with_frequent(words, pieces)
        facts = {**encoder.note, "name": Path(name).name, "revision": None}
    except ForeignEncoder as error:
        if layers is not None or pieces is not None or bits is not None:
            raise EmbeddingsError(f"{error}, so layers, pieces and bits cannot be chosen") from None
        try:
            encoder = Transformer(os.fspath(name))
        except EmbeddingsError as second:
            reason = str(second).removeprefix(f"encoder {name}: ")
            raise EmbeddingsError(f"{error}, so transformers must read it: {reason}") from None
        facts = {"name": os.fspath(name), "revision": encoder.revision}
    note = {
        **facts,
        "kind": "encoder",
        "hash": encoder.hash,
        "dimension": encoder.dimension,
        "license": license,
    }
    return EncoderStates(note, identity(encoder.dimension), folder, encoder).fitted(sentences)


def identity(dimension: int) -> Float32s:
    """Return the shift that leaves states as they are."""
    return np.repeat(np.array([[0.0], [1.0]], np.float32), dimension, axis=1)


def composed(sentence: Sentence) -> list[str]:
    """Return the words of a sentence in NFC, as taggers and parsers read them."""
    return [normalize("NFC", form) for form in sentence.forms]
