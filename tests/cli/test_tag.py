"""bbparse train-tagger and bbparse tag."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bbparse.treebank import read_conllu
from tests import toy
from tests.cli.conftest import Done

Run = Callable[..., Done]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger trained by the command."""
    from bbparse.cli.main import main

    path = tmp_path_factory.mktemp("tagger") / "toy.tagger"
    with pytest.raises(SystemExit) as stop:
        main(["train-tagger", str(toy.TRAIN), "--model", str(path), "--epochs", "4"])
    assert stop.value.code == 0
    return path


def test_training_reports_the_accuracy_on_dev(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "x.tagger"
    done = run(
        "train-tagger", toy.TRAIN, "--dev", toy.DEV, "--model", target, "--epochs", 1, "--seed", 7
    )
    assert done.code == 0 and done.out == ""
    first, last = done.err.splitlines()
    assert first.startswith("dev: UPOS ") and "lemma " in first
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


def test_jackknifing(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.conllu"
    done = run("tag", toy.TRAIN, "--jackknife", 2, "--output", target)
    assert done.code == 0
    assert done.err.splitlines()[-1].startswith("fold 2 of 2: UPOS ")
    assert [s.heads for s in read_conllu(target)] == [s.heads for s in read_conllu(toy.TRAIN)]


def test_errors(run: Run, trained: Path, model: Path, tmp_path: Path) -> None:
    both = run("tag", toy.DEV, "--model", trained, "--jackknife", 2)
    assert "leave --model out" in both.complaint()
    assert "no such file" in run("tag", toy.DEV, "--model", tmp_path / "none").complaint()
    assert "no folder" in run(
        "train-tagger", toy.TRAIN, "--model", tmp_path / "none" / "x"
    ).complaint()
    bare = tmp_path / "bare.conllu"
    bare.write_text("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n", encoding="utf-8")
    done = run("train-tagger", bare, "--model", tmp_path / "x.tagger")
    assert "word 1 has no UPOS" in done.complaint()
    assert not (tmp_path / "x.tagger").exists()
