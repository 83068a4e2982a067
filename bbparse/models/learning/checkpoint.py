"""Checkpoints, from which interrupted training resumes.

Each part of a run (tokenizer and tagger, pruner, networks, epochs over the sentences) has a file
beside the future model file: the result of the part, or its state after the last whole epoch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Set
from hashlib import blake2b
from pathlib import Path
from typing import Any

from bbparse.models.configuration import Configuration
from bbparse.runtime.archive import Fields, Rule, archive_card, read_archive, write_archive
from bbparse.runtime.errors import ModelError
from bbparse.treebank import Sentence

KIND = "bbparse.Checkpoint"


class Checkpoint:
    """The files of a training run, whose names begin with `path`; without a path, none are written.

    A file is used only by a run of the same identity: the training and dev `sentences`, and what
    identifies `others`, such as pretrained vectors, and can be written as JSON.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        sentences: Iterable[Sentence] = (),
        others: Any = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self._treebank = "" if path is None else digest_of(sentences, others)

    def files(self) -> list[Path]:
        """Return the existing files, sorted; others of such names are none of ours."""
        if self.path is None:
            return []
        name = self.path.name
        beside = self.path.parent.glob("*")
        ours = (p for p in beside if p.name == name or p.name.startswith(f"{name}."))
        return sorted(path for path in ours if archive_card(path).get("kind") == KIND)

    def read(
        self, part: str, key: Any, rules: dict[str, Rule], optional: Set[str] = frozenset()
    ) -> Fields | None:
        """Return the fields of a part, or None if no run of these data and `key` has written it."""
        path = self._file(part)
        if path is None or not path.exists():
            return None
        rules = {"identity": str, **rules}
        try:
            fields = read_archive(path, KIND, rules, optional, error=ModelError)
        except ModelError as error:
            raise ModelError(f"{error}; remove it to start training again") from None
        return fields if fields["identity"] == self._identity(key) else None

    def write(self, part: str, key: Any, fields: Fields) -> None:
        """Write the result of a part, or its state."""
        path = self._file(part)
        if path is not None:
            fields = {"identity": self._identity(key), **fields}
            write_archive(path, KIND, fields, compress=False)

    def once(
        self,
        part: str,
        key: Any,
        rules: dict[str, Rule],
        learn: Callable[[], Fields],
        optional: Set[str] = frozenset(),
    ) -> Fields:
        """Return the result of a part: read it if its file exists, otherwise learn and write it."""
        fields = self.read(part, key, rules, optional)
        if fields is None:
            fields = learn()
            self.write(part, key, fields)
        return fields

    def remove(self) -> None:
        """Delete the files once the model is written."""
        for path in self.files():
            path.unlink(missing_ok=True)

    def _file(self, part: str) -> Path | None:
        if self.path is None or not part:
            return self.path
        return self.path.with_name(f"{self.path.name}.{part.replace(' ', '-')}")

    def _identity(self, key: Any) -> str:
        return digest_of((), self._treebank, key)


def key_of(config: Configuration) -> Any:
    """Return the key of parts that do not depend on the number of backbone epochs."""
    return config.with_("learning", epochs=1).to_table()


def digest_of(sentences: Iterable[Sentence], *others: Any) -> str:
    """Return a digest of sentences and of other values that JSON can hold."""
    digest = blake2b(json.dumps(others, sort_keys=True).encode(), digest_size=16)
    for sentence in sentences:
        digest.update("\n".join(["", *sentence.lines]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
