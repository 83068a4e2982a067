"""Encoders of the library transformers, and the states of their words.

The state of a word is the mean over its subword pieces, and over the last four layers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatch
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bbparse.neural.embeddings.windows import LAYERS, word_states
from bbparse.runtime.arrays import Float32s
from bbparse.runtime.errors import EmbeddingsError, one_line

# Files of an encoder: at least one of each row, and optional ones; their hash is the version.
_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
_NEEDED = (("config.json",), _WEIGHTS, ("tokenizer.json", "vocab.txt", "vocab.json", "*.model"))
_MORE = ("merges.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_BATCH = 32  # windows at a time, on a GPU
_MAX_PIECES = 512  # in a window, if the encoder sets no limit
_UNUSED = re.compile(r"pooler|^decoder\.")  # weights that have no part in the states


class Transformer:
    """An encoder, on a GPU if there is one, unless ``cpu``.

    The name is that of a folder or of a model on the Hugging Face hub, whose files (of the given
    revision, by default the current one) are downloaded if they are missing. `EmbeddingsError` if
    torch or transformers are not installed, or files are missing or damaged.
    """

    def __init__(self, name: str, revision: str | None = None, cpu: bool = False) -> None:
        # tokenizers must not use threads in processes that fork
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            import torch
            import transformers
        except ImportError as error:
            raise EmbeddingsError(
                f"encoder {name}: {error}: pip install '.[transformers]' in the checkout"
            ) from None
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        self.name = name
        self.folder, self.revision = _folder(name, revision)
        self._torch = torch
        self.device = "cuda" if torch.cuda.is_available() and not cpu else "cpu"
        self.process = os.getpid()
        try:
            # never run code from the hub, nor ask on standard input whether to
            options = {"local_files_only": True, "trust_remote_code": False}
            self._pieces = transformers.AutoTokenizer.from_pretrained(
                self.folder, add_prefix_space=True, **options
            )
            model, info = transformers.AutoModel.from_pretrained(
                self.folder, output_loading_info=True, **options
            )
            if hasattr(model, "encoder") and hasattr(model, "decoder"):
                model = model.encoder
            self._model = model.float().eval().to(self.device)
            self.dimension = int(model.config.hidden_size)
            encoded = self._pieces(["a"], is_split_into_words=True)
            inner = [i for i, word in enumerate(encoded.word_ids(0)) if word is not None]
            ids = encoded.input_ids
            self._before, self._after = ids[: inner[0]], ids[inner[-1] + 1 :]
            # byte-level pieces of a word include the space before it, also at the start
            self._blank = ""
            alone, text = self._pieces_of(["a"])[0], self._pieces("a a", add_special_tokens=False)
            self._blank = "" if text.input_ids == alone * 2 else " "
        except Exception as error:  # nearly anything
            raise EmbeddingsError(f"encoder {name}: cannot be loaded: {_shown(error)}") from None
        # missing weights would be random, and different each time
        missing = [key for key in info["missing_keys"] if not _UNUSED.search(key)]
        if missing:
            raise EmbeddingsError(f"encoder {name}: weights {min(missing)} are missing")
        limits = (
            getattr(self._pieces, "model_max_length", None),
            # some encoders count positions from 2
            (getattr(model.config, "max_position_embeddings", None) or 0) - 2,
        )
        longest = min(int(limit) for limit in (*limits, _MAX_PIECES) if limit and limit > 0)
        self._room = longest - len(self._before) - len(self._after)
        if self._room < 4:
            raise EmbeddingsError(f"encoder {name}: takes {self._room} pieces, expected at least 4")

    @cached_property
    def hash(self) -> str:
        """Hash of the files that determine the encoder, in hexadecimal."""
        digest = blake2b(digest_size=16)
        for path in _files(self.folder):
            digest.update(path.name.encode() + b"\0")
            with open(path, "rb") as file:
                while block := file.read(1 << 22):
                    digest.update(block)
        return digest.hexdigest()

    def states(self, sentences: Sequence[Sequence[str]]) -> list[NDArray[np.float16]]:
        """Return the states of the words of sentences, float16[n_words, dimension] each.

        A word without pieces has zeros. On a CPU, one thread reads one sentence at a time, so that
        the result does not depend on the batch or the number of cores.
        """
        torch = self._torch
        pieces = [self._pieces_of(words) for words in sentences]
        threads = torch.get_num_threads()
        try:
            if self.device == "cpu":
                torch.set_num_threads(1)
            return word_states(pieces, self._room, self.dimension, self._read_all)
        finally:
            torch.set_num_threads(threads)

    def _pieces_of(self, words: Sequence[str]) -> list[list[int]]:
        """Return the ids of the subword pieces of each word."""
        # tokenizers refuse lone surrogates, which Python allows
        text = [self._blank + word.encode("utf-8", "replace").decode() for word in words]
        encoded = self._pieces(text, is_split_into_words=True, add_special_tokens=False)
        pieces: list[list[int]] = [[] for _ in words]
        for i, word in zip(encoded.input_ids, encoded.word_ids(0)):
            pieces[word].append(i)
        return pieces

    def _read_all(self, windows: Sequence[Sequence[int]]) -> list[Float32s]:
        """Return the states of the pieces of windows; `EmbeddingsError` if there are none."""
        batch = 1 if self.device == "cpu" else _BATCH
        states: list[Float32s] = []
        try:
            for first in range(0, len(windows), batch):
                states += self._read(windows[first : first + batch])
        except Exception as error:  # such as pieces without a vector
            raise EmbeddingsError(f"encoder {self.name}: cannot be used: {_shown(error)}") from None
        if not all(np.isfinite(window_states).all() for window_states in states):
            raise EmbeddingsError(f"encoder {self.name}: its states are not finite")
        return states

    def _read(self, windows: Sequence[Sequence[int]]) -> list[Float32s]:
        """Return the states of the pieces of windows that are read together."""
        torch = self._torch
        rows = [[*self._before, *ids, *self._after] for ids in windows]
        longest = max(map(len, rows))
        padding = self._pieces.pad_token_id or 0
        ids = [ids_of_row + [padding] * (longest - len(ids_of_row)) for ids_of_row in rows]
        mask = [[1] * len(ids_of_row) + [0] * (longest - len(ids_of_row)) for ids_of_row in rows]
        with torch.inference_mode():
            layers = self._model(
                input_ids=torch.tensor(ids, device=self.device),
                attention_mask=torch.tensor(mask, device=self.device),
                output_hidden_states=True,
            ).hidden_states[1:][-LAYERS:]
            states = (sum(layers[1:], layers[0]) / len(layers)).cpu().numpy()
        first = len(self._before)
        return [window[first : first + len(ids)] for window, ids in zip(states, windows)]


def _shown(error: Exception, length: int = 200) -> str:
    """Return the message of a library's error, on one line and cut to a length."""
    return (one_line(error) or type(error).__name__)[:length]


def _files(folder: Path) -> list[Path]:
    """Return the files of an encoder in a folder, with only the first kind of weights."""
    present = sorted(path for path in folder.iterdir() if path.is_file())
    kinds = [[p for p in present if fnmatch(p.name, pattern)] for pattern in _WEIGHTS]
    other_patterns = (*_NEEDED[0], *_NEEDED[2], *_MORE)
    chosen = {
        path for path in present if any(fnmatch(path.name, pattern) for pattern in other_patterns)
    }
    return sorted(chosen.union(next((kind for kind in kinds if kind), [])))


def _missing(folder: Path | None) -> str:
    """Name the files that are missing; empty if none is."""
    present = [] if folder is None or not folder.is_dir() else [p.name for p in _files(folder)]
    return ", ".join(
        " or ".join(patterns)
        for patterns in _NEEDED
        if not any(fnmatch(name, pattern) for name in present for pattern in patterns)
    )


def _folder(name: str, revision: str | None) -> tuple[Path, str | None]:
    """Return the folder of an encoder and its revision; download it only if necessary."""
    reason = ""
    if Path(name).is_dir():
        folder, revision = Path(name), None
    else:
        folder = None
        import huggingface_hub as hub

        hub.utils.logging.set_verbosity_error()
        patterns = [*_NEEDED[0], *_NEEDED[2], *_MORE, "*.index.json"]
        for local_only in (True, False):
            for weights in _WEIGHTS:
                if not _missing(folder):
                    break
                try:
                    path = hub.snapshot_download(
                        name,
                        revision=revision,
                        local_files_only=local_only,
                        allow_patterns=[weights, *patterns],
                    )
                    folder = Path(path)
                    revision = folder.name
                except Exception as error:
                    reason = f" ({_shown(error, 100)})"
    missing = _missing(folder)
    if folder is None or missing:
        raise EmbeddingsError(
            f"encoder {name}: not found: {missing}{reason}; expected a folder with these files, or"
            " the name of an encoder on the Hugging Face hub (online or cached), in --encoder, or"
            " in BBPARSE_ENCODER for a trained model"
        )
    return folder, revision
