"""Checkpoints: a training run that was interrupted goes on after what it has done.

Each part of a run (cutter and tagger, pruner, guide, a run over the sentences) has a file beside
the model to come:
what it has learned, or its state after the last whole epoch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Set
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.errors import ModelError
from bbparse.storage.archive import TEXT, Rule, read_archive, write_archive
from bbparse.treebank import Sentence

KIND = "bbparse.Checkpoint"
VERSION = 2

Arrays = dict[str, NDArray[Any]]


class Checkpoint:
    """The files of a training run, whose names begin with a path; without one, nothing is kept.

    The sentences are those learned from, and chosen by, and ``outside`` is the note of the vectors
    from outside that are learned with: files of another run are not used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        sentences: Iterable[Sentence] = (),
        outside: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self._treebank = "" if path is None else _digest(sentences, outside)

    def files(self) -> list[Path]:
        """Those that are there, sorted."""
        if self.path is None:
            return []
        name = self.path.name
        beside = self.path.parent.glob("*")
        return sorted(p for p in beside if p.name == name or p.name.startswith(f"{name}."))

    def read(
        self, part: str, key: Any, rules: dict[str, Rule], optional: Set[str] = frozenset()
    ) -> Arrays | None:
        """What was written of a part; None where nothing was, or by another run: of other data, or
        with another key, which JSON can hold.

        `ModelError` if the file is damaged.
        """
        path = self._file(part)
        if path is None or not path.exists():
            return None
        rules = {"identity": (TEXT, 0, None), **rules}
        try:
            arrays = read_archive(path, KIND, VERSION, rules, optional, error=ModelError)
        except ModelError as error:
            raise ModelError(f"{error}; remove it, and training begins anew") from None
        return arrays if str(arrays["identity"].item()) == self._identity(key) else None

    def write(self, part: str, key: Any, arrays: Arrays) -> None:
        """Keep what a part has learned, or its state."""
        path = self._file(part)
        if path is not None:
            arrays = {"identity": np.array(self._identity(key)), **arrays}
            write_archive(path, KIND, VERSION, arrays, compress=False)

    def once(
        self, part: str, key: Any, rules: dict[str, Rule], learn: Callable[[], Arrays],
        optional: Set[str] = frozenset(),
    ) -> Arrays:  # fmt: skip
        """What a part learns as a whole, from its file if it is done."""
        arrays = self.read(part, key, rules, optional)
        if arrays is None:
            arrays = learn()
            self.write(part, key, arrays)
        return arrays

    def remove(self) -> None:
        """Forget the run: its model is written."""
        for path in self.files():
            path.unlink(missing_ok=True)

    def _file(self, part: str) -> Path | None:
        if self.path is None or not part:
            return self.path
        return self.path.with_name(f"{self.path.name}.{part.replace(' ', '-')}")

    def _identity(self, key: Any) -> str:
        return _digest((), self._treebank, key)


def key_of(config: Configuration) -> Any:
    """The key of what takes no epochs of the backbone: with more of them it is the same."""
    return config.with_("learning", epochs=1).to_table()


def _digest(sentences: Iterable[Sentence], *others: Any) -> str:
    """A text that tells sentences, and others that JSON can hold, from those of another run."""
    found = blake2b(json.dumps(others, sort_keys=True).encode(), digest_size=16)
    for sentence in sentences:
        found.update("\n".join(["", *sentence.lines]).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
