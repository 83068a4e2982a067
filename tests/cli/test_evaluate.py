"""``bbparse evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bbparse.cli.main import main
from bbparse.storage.output import open_output
from bbparse.treebank import format_sentence, read_conllu

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


def test_against(chains: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(DEV, DEV, "--against", chains) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[1:3] == [f"A: {DEV}", f"B: {chains}"]
    (row,) = [line.split() for line in lines if line.startswith("UAS  ")]
    assert row[1] == "100.00" and row[-1] == "0.0001"
    assert lines[-1] == "paired bootstrap over sentences, 10000 draws, seed 1"
    assert "tags and lemmas: as in GOLD" in lines
    assert run(DEV, DEV, "--against", chains) == 0
    assert capsys.readouterr().out == out


def test_against_as_json(chains: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--json --resamples 99 --seed 3 --confidence 0.9".split()
    assert run(DEV, chains, "--against", DEV, *options) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bootstrap"] == {"resamples": 99, "seed": 3, "confidence": 0.9}
    assert found["against"]["uas"] == 1.0
    uas = found["differences"]["uas"]
    assert uas["first"] == found["uas"] and uas["second"] == 1.0
    assert uas["difference"] == pytest.approx(found["uas"] - 1.0)
    assert uas["low"] < uas["difference"] < uas["high"] < 0
    assert uas["p_value"] == 0.01


def test_breakdowns(chains: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--by", "relation", "--by", "length", "--by", "relation"]
    assert run(DEV, chains, *options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("by ")] == ["by relation", "by length"]
    header = lines[lines.index("by length") + 1]
    assert header.split() == ["length", "sentences", "words", "UAS", "LAS", "complete"]
    assert run(DEV, chains, *options, "--against", DEV) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line[3:5] == "by"] == [
        "A, by relation", "A, by length", "B, by relation", "B, by length"
    ]  # fmt: skip
    assert run(DEV, chains, "--by", "distance", "--json", "--against", DEV) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["by"]["distance"][0]["distance"] == "root"
    assert found["against"]["by"]["distance"][0]["recall"] == 1.0


def test_tags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(DEV, DEV) == 0
    assert capsys.readouterr().out.endswith("tags and lemmas: as in GOLD\n")
    other = tmp_path / "other.conllu"
    other.write_text(Path(DEV).read_text(encoding="utf-8").replace("\tNOUN\t", "\tX\t"))
    assert run(DEV, str(other)) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (upos,) = [line[1] for line in lines if line[:1] == ["UPOS"]]
    assert 50 < float(upos) < 100
    (lemmas,) = [line[1] for line in lines if line[:1] == ["lemmas"]]
    assert lemmas == "100.00"


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tA\n", encoding="utf-8")
    for arguments, message in (
        ((DEV, str(bad)), "bad.conllu, line 1: expected 10 columns, found 2"),
        ((DEV, str(tmp_path / "none")), "none: cannot be read: No such file or directory"),
        (("-", "-"), "standard input: can be only one of the files"),
        ((DEV, "-", "--against", "-"), "standard input: can be only one of the files"),
        ((DEV, DEV, "--confidence", "1"), "'--confidence': 1.0 is not in the range"),
    ):
        assert run(*arguments) == 2
        text = capsys.readouterr().err
        assert text.count("\n") == 1
        assert message in text


def test_other_words_are_aligned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, other = tmp_path / "gold.conllu", tmp_path / "other.conllu"
    rows = "1-2\tdont\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\t_\tAUX\t_\t_\t0\troot\t_\t_\n2\tnt\t_\tPART"
    gold.write_text(rows + "\t_\t_\t1\tadvmod\t_\t_\n\n", encoding="utf-8")
    other.write_text("1\tdont\t_\tAUX\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    assert run(str(gold), str(other)) == 0
    shown = capsys.readouterr().out
    assert "F1" in shown and "sentences" in shown
    assert run(str(gold), str(other), "--json") == 0
    shares = json.loads(capsys.readouterr().out)
    assert shares["tokens"] == shares["sentences"] == 1.0 and shares["words"] == 0.0
    assert run(str(gold), str(other), "--by", "length") == 2
    assert "have nothing to compare" in capsys.readouterr().err
