"""bbparse train-tagger and bbparse tag."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbparse.treebank import read_conllu
from tests import toy
from tests.apps.cli.conftest import Run, succeed


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger trained by the command."""
    path = tmp_path_factory.mktemp("tagger") / "toy.tagger"
    succeed("train-tagger", toy.TRAIN, "--model", path, "--epochs", "4")
    return path


def test_training_reports_the_accuracy_on_dev(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "x.tagger"
    done = run(
        "train-tagger", toy.TRAIN, "--dev", toy.DEV, "--model", target, "--epochs", 1, "--seed", 7
    )
    assert done.code == 0 and done.out == ""
    first, last = done.err.splitlines()
    assert first.startswith("dev: UPOS ") and "lemmas " in first
    assert last == f"wrote {target}"
    assert target.exists()


def test_tagging_changes_nothing_else(run: Run, trained: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.conllu"
    done = run("tag", toy.DEV, "--model", trained, "-o", target)
    assert (done.code, done.out, done.err) == (0, "", "")
    gold, found = list(read_conllu(toy.DEV)), list(read_conllu(target))
    assert [s.forms for s in gold] == [s.forms for s in found]
    assert [s.heads for s in gold] == [s.heads for s in found]
    assert [s.deprels for s in gold] == [s.deprels for s in found]
    right = sum(a == b for x, y in zip(gold, found) for a, b in zip(x.upos, y.upos))
    assert right > 0.75 * sum(s.n_words for s in gold)
    again = run("tag", target, "--model", trained)
    assert again.out == target.read_text(encoding="utf-8")


def test_errors(run: Run, trained: Path, tmp_path: Path) -> None:
    bare, target, none = tmp_path / "bare.conllu", tmp_path / "x.tagger", tmp_path / "none"
    bare.write_text("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n", encoding="utf-8")
    for arguments, message in (
        (("tag", toy.DEV, "--model", none), "no such file"),
        (("train-tagger", toy.TRAIN, "--model", none / "x"), "no folder"),
        (("train-tagger", bare, "--model", target), "word 1 has no UPOS"),
    ):
        assert message in run(*arguments).complaint()
    assert list(tmp_path.iterdir()) == [bare]
