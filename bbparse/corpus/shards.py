"""Shards: which files a corpus is made of, and what becomes of the names."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from hashlib import file_digest
from pathlib import Path

from bbparse.errors import OutputError, TreebankError

__all__ = ["digest_of", "find_shards", "output_names"]

_PACKED = (".gz", ".xz")
_KNOWN = (".conllu", ".conll", ".conllx", ".txt")
_WRITTEN = {"conllu": ".conllu", "jsonl": ".jsonl", "tree": ".txt"}


def find_shards(patterns: Iterable[str]) -> list[Path]:
    """The files that paths and patterns name, sorted by name; ``**`` is any folders.

    Raises
    ------
    TreebankError
        If a pattern or path names no file.
    """
    found: dict[Path, None] = {}
    for pattern in patterns:
        names = [pattern] if os.path.exists(pattern) else glob.glob(pattern, recursive=True)
        files = [Path(name) for name in names if os.path.isfile(name)]
        if not files:
            what = "is a folder, expected files" if os.path.isdir(pattern) else "names no file"
            raise TreebankError(f"{pattern}: {what}: a shard, or a pattern such as 'in/*.conllu'")
        found.update(dict.fromkeys(files))
    if not found:
        raise TreebankError("no shards are given: say which files, or a pattern in quotes")
    return sorted(found, key=lambda path: (path.name, path))


def output_names(shards: Iterable[Path], folder: Path, format_name: str) -> dict[str, Path]:
    """The name of each shard's output in a folder, and the shard.

    An output is packed as its shard is. It is found by the shard's name alone, so that the same
    shard has the same output whatever other shards it is parsed with.

    Raises
    ------
    OutputError
        If two shards, in different folders, would have one output, or a shard would be its own.
    """
    found: dict[str, Path] = {}
    for shard in shards:
        stem, packed = os.path.splitext(shard.name)
        if packed not in _PACKED:
            stem, packed = shard.name, ""
        start, end = os.path.splitext(stem)
        name = (start if end in _KNOWN else stem) + _WRITTEN[format_name] + packed
        if name in found and not os.path.samefile(found[name], shard):
            raise OutputError(
                f"{found[name]} and {shard}: both would be written as {folder / name}: rename one,"
                " or give each folder an output folder of its own"
            )
        if (folder / name).exists() and os.path.samefile(folder / name, shard):
            raise OutputError(f"{shard}: its output would take its place: choose another folder")
        found[name] = shard
    return found


def digest_of(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()
