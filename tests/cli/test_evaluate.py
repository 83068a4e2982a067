"""``bbparse evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bbparse.cli.main import main
from bbparse.treebank import format_sentence, open_output, read_conllu

DEV = str(Path(__file__).parent.parent / "data" / "small-dev.conllu")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.fixture
def chains(tmp_path: Path) -> str:
    """A file in which each word's head is the word before it."""
    path = str(tmp_path / "chains.conllu.gz")
    with open_output(path) as stream:
        for sentence in read_conllu(DEV):
            stream.write(format_sentence(sentence, list(range(sentence.n_words))))
    return path


def test_table(chains: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(DEV, DEV) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("30 sentences, 268 words, ")
    assert len({len(line) for line in lines if line.startswith(("UAS", "LAS"))}) == 1
    assert lines[3].split() == ["UAS", "100.00", "100.00"]
    assert run(DEV, chains) == 0
    assert "100.00" not in capsys.readouterr().out


def test_json(chains: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(DEV, chains, "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["sentences"] == 30
    assert 0 < scores["las"] <= scores["uas"] < 0.5
    assert 0 < scores["complete"] < 0.2  # the one-word sentence at least


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tA\n", encoding="utf-8")
    for arguments, message in (
        ((DEV, str(bad)), "bad.conllu, line 1: expected 10 columns, found 2"),
        ((DEV, str(tmp_path / "none")), "none: cannot be read: No such file or directory"),
        (("-", "-"), "can be GOLD or PREDICTED, not both"),
    ):
        assert run(*arguments) == 2
        text = capsys.readouterr().err
        assert text.count("\n") == 1
        assert message in text
