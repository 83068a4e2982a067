"""An encoder of the library transformers, loaded when it is needed, and the states of its words.

The state of a word is the mean over its pieces, and over the last four layers. What is longer than
the encoder takes is read in windows of which each has half of the one before it; a piece has its
state from the window in whose middle it is rather than at its edge.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import OutsideError

#: Layers from the top whose mean is taken; all but that of single pieces, if there are fewer.
LAYERS = 4

# Files of an encoder, of each row at least one; with some more they say which version it is.
_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
_NEEDED = (("config.json",), _WEIGHTS, ("tokenizer.json", "vocab.txt", "vocab.json", "*.model"))
_MORE = ("merges.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_TOGETHER = 32  # windows at once, on a GPU
_LONGEST = 512  # pieces, where an encoder sets no limit
_MOST = float(np.finfo(np.float16).max)
_UNUSED = re.compile(r"pooler|^decoder\.")  # weights that have no part in the states


class Transformer:
    """An encoder, on a GPU where there is one, unless ``cpu``.

    The name is a folder's, or one on the Hugging Face hub, whose files (of a revision, by default
    that of today) are fetched if they are not there. `OutsideError` if torch or transformers are
    not installed, or files are missing or damaged.
    """

    def __init__(self, name: str, revision: str | None = None, cpu: bool = False) -> None:
        # threads would have to be given up by processes that fork
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            import torch
            import transformers
        except ImportError as error:
            raise OutsideError(
                f"encoder {name}: {error}: pip install 'bbparse[transformers]'"
            ) from None
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        self.name = name
        self.folder, self.revision = _folder(name, revision)
        self._torch = torch
        self.device = "cuda" if torch.cuda.is_available() and not cpu else "cpu"
        self.process = os.getpid()
        try:
            # no code of theirs is run, and standard input is not asked whether it may be
            given = {"local_files_only": True, "trust_remote_code": False}
            self._pieces = transformers.AutoTokenizer.from_pretrained(
                self.folder, add_prefix_space=True, **given
            )
            model, info = transformers.AutoModel.from_pretrained(
                self.folder, output_loading_info=True, **given
            )
            if hasattr(model, "encoder") and hasattr(model, "decoder"):
                model = model.encoder
            self._model = model.float().eval().to(self.device)
            self.dimension = int(model.config.hidden_size)
            whole = self._pieces(["a"], is_split_into_words=True)
            own = [place for place, word in enumerate(whole.word_ids(0)) if word is not None]
            ids = whole.input_ids
            self._before, self._after = ids[: own[0]], ids[own[-1] + 1 :]
            # a word of byte-level pieces is to be one after a blank, wherever it is
            self._blank = ""
            alone, text = self._pieces_of(["a"])[0], self._pieces("a a", add_special_tokens=False)
            self._blank = "" if text.input_ids == alone * 2 else " "
        except Exception as error:  # nearly anything
            raise OutsideError(f"encoder {name}: cannot be loaded: {_shown(error)}") from None
        # what is not there would be random, and another time other
        lost = [key for key in info["missing_keys"] if not _UNUSED.search(key)]
        if lost:
            raise OutsideError(f"encoder {name}: its files have no weights {min(lost)}")
        limits = (
            getattr(self._pieces, "model_max_length", None),
            # some begin to count positions at 2
            (getattr(model.config, "max_position_embeddings", None) or 0) - 2,
        )
        longest = min(int(limit) for limit in (*limits, _LONGEST) if limit and limit > 0)
        self._room = longest - len(self._before) - len(self._after)
        if self._room < 4:
            raise OutsideError(f"encoder {name}: takes {self._room} pieces, expected 4 and more")

    @cached_property
    def hash(self) -> str:
        """Of the files that say how it is, in hexadecimal."""
        digest = blake2b(digest_size=16)
        for path in _files(self.folder):
            digest.update(path.name.encode() + b"\0")
            with open(path, "rb") as file:
                while block := file.read(1 << 22):
                    digest.update(block)
        return digest.hexdigest()

    def states(self, sentences: Sequence[Sequence[str]]) -> list[NDArray[np.float16]]:
        """States of the words of sentences, float16[n_words, dimension] each.

        A word without pieces has zeros. On a CPU sentences are read one by one by one thread, so
        that nothing depends on what is read together, or on how many cores there are.
        """
        torch = self._torch
        pieces = [self._pieces_of(words) for words in sentences]
        windows = [
            (i, start, ids[start : start + self._room])
            for i, (ids, _) in enumerate(pieces)
            for start in _starts(len(ids), self._room)
        ]
        found = [np.zeros((len(ids), self.dimension), np.float32) for ids, _ in pieces]
        together = 1 if self.device == "cpu" else _TOGETHER
        windows.sort(key=lambda window: len(window[2]))  # stable
        threads = torch.get_num_threads()
        try:
            if self.device == "cpu":
                torch.set_num_threads(1)
            for first in range(0, len(windows), together):
                some = windows[first : first + together]
                for (i, start, ids), new in zip(some, self._read([ids for _, _, ids in some])):
                    # up to the middle of what it has in common with the windows around
                    low = self._room // 4 if start else 0
                    high = len(ids)
                    if start + high < len(found[i]):
                        high = self._room // 2 + self._room // 4
                    found[i][start + low : start + high] = new[low:high]
        except Exception as error:  # such as pieces that it has no vectors for
            raise OutsideError(f"encoder {self.name}: cannot be used: {_shown(error)}") from None
        finally:
            torch.set_num_threads(threads)
        if not all(np.isfinite(states).all() for states in found):
            raise OutsideError(f"encoder {self.name}: its states are no finite numbers")
        return [
            _pooled(states, word_of, len(words)).astype(np.float16)
            for states, (_, word_of), words in zip(found, pieces, sentences)
        ]

    def _pieces_of(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The pieces of words, and the word of each."""
        # text that cannot be written, as Python allows it, is no text for them
        text = [self._blank + word.encode("utf-8", "replace").decode() for word in words]
        found = self._pieces(text, is_split_into_words=True, add_special_tokens=False)
        return list(found.input_ids), [int(word) for word in found.word_ids(0)]

    def _read(self, windows: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """States of the pieces of windows."""
        torch = self._torch
        whole = [[*self._before, *ids, *self._after] for ids in windows]
        longest = max(map(len, whole))
        blank = self._pieces.pad_token_id or 0
        ids = [row + [blank] * (longest - len(row)) for row in whole]
        mask = [[1] * len(row) + [0] * (longest - len(row)) for row in whole]
        with torch.inference_mode():
            layers = self._model(
                input_ids=torch.tensor(ids, device=self.device),
                attention_mask=torch.tensor(mask, device=self.device),
                output_hidden_states=True,
            ).hidden_states[1:][-LAYERS:]
            states = (sum(layers[1:], layers[0]) / len(layers)).cpu().numpy()
        first = len(self._before)
        return [one[first : first + len(ids)] for one, ids in zip(states, windows)]


def _shown(error: Exception, length: int = 200) -> str:
    """What a library says, on one line and not too long."""
    return (" ".join(str(error).split()) or type(error).__name__)[:length]


def _starts(count: int, room: int) -> Iterable[int]:
    """Where the windows of a sentence begin, ascending."""
    if not count:
        return ()
    step = max(1, room // 2)
    return range(0, max(1, count - room + step), step)


def _pooled(states: NDArray[np.float32], word_of: Sequence[int], n: int) -> NDArray[np.float32]:
    """Means over the pieces of each word."""
    found = np.zeros((n, states.shape[1]), np.float32)
    np.add.at(found, word_of, states)
    counts = np.bincount(word_of, minlength=n) if len(word_of) else np.zeros(n)
    found /= np.maximum(counts, 1).astype(np.float32)[:, np.newaxis]
    return np.clip(found, -_MOST, _MOST)


def _files(folder: Path) -> list[Path]:
    """The files of an encoder in a folder, of the first kind of weights only."""
    there = sorted(path for path in folder.iterdir() if path.is_file())
    kinds = [[p for p in there if fnmatch(p.name, pattern)] for pattern in _WEIGHTS]
    others = (*_NEEDED[0], *_NEEDED[2], *_MORE)
    found = {path for path in there if any(fnmatch(path.name, pattern) for pattern in others)}
    return sorted(found.union(next((kind for kind in kinds if kind), [])))


def _missing(folder: Path | None) -> str:
    """Which files are not there; empty if all are."""
    there = [] if folder is None or not folder.is_dir() else [p.name for p in _files(folder)]
    return ", ".join(
        " or ".join(patterns)
        for patterns in _NEEDED
        if not any(fnmatch(name, pattern) for name in there for pattern in patterns)
    )


def _folder(name: str, revision: str | None) -> tuple[Path, str | None]:
    """The folder of an encoder, and which revision it is; from the hub only if it has to be."""
    reason = ""
    if Path(name).is_dir():
        folder, revision = Path(name), None
    else:
        folder = None
        import huggingface_hub as hub

        hub.utils.logging.set_verbosity_error()
        others = [*_NEEDED[0], *_NEEDED[2], *_MORE, "*.index.json"]
        for here in (True, False):
            for weights in _WEIGHTS:
                if not _missing(folder):
                    break
                try:
                    found = hub.snapshot_download(
                        name, revision=revision, local_files_only=here,
                        allow_patterns=[weights, *others],
                    )  # fmt: skip
                    folder = Path(found)
                    revision = folder.name
                except Exception as error:
                    reason = f" ({_shown(error, 100)})"
    lost = _missing(folder)
    if folder is None or lost:
        raise OutsideError(
            f"encoder {name}: not there: {lost}{reason}; expected a folder that has them, or the"
            " name of an encoder on the Hugging Face hub that can be fetched or was before, as"
            " --encoder, or in BBPARSE_ENCODER for a trained model"
        )
    return folder, revision
