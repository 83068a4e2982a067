"""Shards of the small treebank."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from bbparse.apps.corpus.files import FileOptions
from bbparse.apps.corpus.work import ParseSpec
from bbparse.treebank import format_sentence
from tests import toy


@pytest.fixture(scope="session")
def spec(model: Path) -> ParseSpec:
    return ParseSpec(model, FileOptions())


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """A folder with eight packed shards, the last of which are small."""
    folder = tmp_path / "in"
    folder.mkdir()
    texts = [format_sentence(sentence) for sentence in toy.sentences()]
    for i in range(8):
        some = "".join(texts[i * 5 : (i + 1) * 5] if i < 6 else texts[i : i + 1])
        (folder / f"shard-{i}.conllu.xz").write_bytes(lzma.compress(some.encode()))
    return folder


@pytest.fixture(scope="session")
def contents() -> Callable[[Path], dict[str, bytes]]:
    """Of a folder: its files, without those that are hidden."""

    def found(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}

    return found
