"""bbparse bundle, and bbparse parse of words without tags and of running text."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from bbparse.models.model_file import save_tagger
from bbparse.treebank import read_conllu, sections, write_conllu
from tests import toy
from tests.apps.cli.conftest import Run, succeed


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tagger") / "toy.tagger"
    save_tagger(path, toy.tagger(), toy.tokenizer())
    return path


@pytest.fixture(scope="module")
def both(model: Path, tagger: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a tagger in it."""
    path = tmp_path_factory.mktemp("both") / "both.model"
    succeed("bundle", model, tagger, "--output", path)
    return path


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The dev sentences without tags."""
    path = tmp_path / "bare.conllu"
    write_conllu(path, map(toy.bare, toy.dev_sentences()))
    return path


def test_words_without_tags_are_tagged_first(
    run: Run, both: Path, tagger: Path, model: Path, bare: Path, tmp_path: Path
) -> None:
    at_once = run("parse", bare, "--model", both)
    assert at_once.code == 0
    tagged = tmp_path / "tagged.conllu"
    assert run("tag", bare, "--model", tagger, "-o", tagged).code == 0
    assert run("parse", tagged, "--model", model).out == at_once.out
    # the tagger of a parser's model serves by itself
    assert run("tag", bare, "--model", both).out == tagged.read_text(encoding="utf-8")


def test_tags_that_are_there_stay(run: Run, both: Path, model: Path) -> None:
    assert run("parse", toy.DEV, "--model", both).out == run("parse", toy.DEV, "--model", model).out


def test_without_a_tagger(run: Run, model: Path, bare: Path) -> None:
    complaint = run("parse", bare, "--model", model).complaint()
    assert "small-dev-001: the words have no tags" in complaint and "bbparse bundle" in complaint
    assert "has no tagger in it" in run("tag", bare, "--model", model).complaint()


def test_text(
    run: Run, both: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "She doesn't sleep. Yes!"
    path = tmp_path / "in.txt"
    path.write_text(text, encoding="utf-8")
    done = run("parse", path, "--model", both)
    assert done.code == 0
    sentences = list(read_conllu(io.StringIO(done.out)))
    assert [s.forms for s in sentences] == [["She", "does", "n't", "sleep", "."], ["Yes", "!"]]
    assert all(s.has_heads and "_" not in s.upos and "_" not in s.deprels for s in sentences)
    assert "2-3\tdoesn't\t_\t_\t_\t_\t_\t_\t_\tTokenRange=4:11" in done.out
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert run("parse", "--text", "--model", both).out == done.out
    assert "no tokenizer for running text" in run("parse", path, "--model", model).complaint()
    path.write_text(" \n", encoding="utf-8")
    assert "no words" in run("parse", path, "--model", both).complaint()
    path = tmp_path / "story"
    path.write_text("Once upon a time.\n", encoding="utf-8")
    complaint = run("parse", path, "--model", both).complaint()
    assert complaint.endswith("expected 10 columns, found 1; use --text for running text")


def test_text_is_the_same_however_it_comes(
    run: Run, both: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "SECTION_WORDS", 8)
    sentences = ["She doesn't sleep.", "Yes!", "He saw\r\nthe stars.", "Nobody ever knew…"]
    text = "\n\n" + "\n \n\n\n".join(" ".join(sentences[:k]) for k in (1, 4, 2, 3)) + "\n\n \n"
    path = tmp_path / "in.txt"
    path.write_text(text, encoding="utf-8", newline="")
    expected = run("parse", path, "--model", both).out
    assert expected.count("# newpar") == 4 and "# sent_id = 10\n" in expected
    for size, threads in product((1, 6, 1000), ("1", "2")):
        stream = io.BytesIO(text.encode())
        stdin = SimpleNamespace(read1=lambda _, stream=stream, size=size: stream.read(size))
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stdin, close=int))
        assert run("parse", "--text", "--model", both, "--threads", threads).out == expected


@pytest.mark.parametrize("threads", ["1", "2"])
def test_errors_in_text(
    run: Run, both: Path, tmp_path: Path, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "SECTION_WORDS", 8)
    path = tmp_path / "in.txt"
    path.write_bytes(b"Yes!\n\n" * 20 + b"He s\xe4w it.\n" + b"Yes!\n\n" * 20)
    done = run("parse", path, "--model", both, "--threads", threads)
    assert done.complaint() == (
        f"{path}, line 41: byte 5 of the line is 0xe4, expected text in UTF-8"
    )
    assert done.out.count("# text = Yes!") == 20


def test_several_inputs(run: Run, both: Path, bare: Path, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.txt", "b.conllu", "c.txt")]
    paths[0].write_text("She sleeps. Yes!", encoding="utf-8")
    paths[1].write_text(toy.DEV.read_text(encoding="utf-8").rstrip("\n"), encoding="utf-8")
    paths[2].write_text("He doesn't.\n", encoding="utf-8")
    for threads in ("1", "2"):
        done = run("parse", *paths, bare, "--model", both, "--threads", threads)
        assert done.code == 0
        found = list(read_conllu(io.StringIO(done.out)))
        count = len(toy.dev_sentences())
        assert [len(s.forms) for s in found[:2]] == [3, 2] and len(found) == 2 * count + 3
        one_by_one = [run("parse", path, "--model", both).out for path in (paths[1], bare)]
        assert one_by_one[0] in done.out and done.out.endswith(one_by_one[1])
        documents = [line for line in done.out.splitlines() if line.startswith("# newdoc")]
        assert documents == [f"# newdoc id = {path}" for path in (*paths, bare)]
        assert "# sent_id = c-3\n# text = He doesn't.\n" in done.out
    texts = run("parse", paths[0], paths[2], "--model", both).out
    assert "# sent_id = 3\n# text = He doesn't.\n" in texts  # no treebank has the same ids
    out = tmp_path / "out.conllu"
    for wrong, message in (
        ([paths[0], bare, paths[0]], f"{paths[0]}: given twice"),
        (["-", "-"], "standard input: can be only one"),
        ([paths[0], tmp_path / "none"], f"{tmp_path / 'none'}: cannot be read: No such file"),
    ):
        done = run("parse", *wrong, "--model", both, "--output", out)
        assert done.complaint().startswith(message) and not out.exists()


def test_byte_order_marks_between_files(run: Run, both: Path, tmp_path: Path) -> None:
    """Only the first file's stays; documents begin where their file does."""
    paths = [tmp_path / name for name in ("a.conllu", "b.conllu", "c.conllu")]
    for path, comment in zip(paths, ("", "# newdoc id = x\n", "")):
        row = "\t".join(["1", path.stem, *"________"])
        path.write_text(f"\ufeff{comment}# sent_id = {path.stem}\n{row}\n\n", encoding="utf-8")
    joined = tmp_path / "joined"
    joined.write_bytes(b"".join(path.read_bytes() for path in paths))
    for given, document in ((paths, [f"# newdoc id = {paths[2]}"]), ([joined], [])):
        lines = run("parse", *given, "--model", both).out.splitlines()
        assert [line for line in lines if line.lstrip("\ufeff").startswith("#")] == [
            "\ufeff# sent_id = a",
            "# newdoc id = x",
            "# sent_id = b",
            *document,
            "# sent_id = c",
        ]
    paths[2].write_text("bad\n\n", encoding="utf-8")
    complaint = run("parse", *paths, "--model", both).complaint()
    assert complaint.startswith(f"{paths[2]}, line 1: expected 10 columns, found 1")


@pytest.mark.parametrize("threads", ["1", "2"])
def test_bad_sentences_may_be_left_out(
    run: Run, both: Path, bare: Path, tmp_path: Path, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "SECTION_WORDS", 8)
    good = bare.read_text(encoding="utf-8")
    bad = "1\tHello\n\n"
    path = tmp_path / "some.conllu"
    path.write_text(bad + good + bad + "# nothing\n\n" + good, encoding="utf-8")
    limits = ("--model", both, "--threads", threads)
    done = run("parse", path, *limits, "--skip-invalid")
    assert done.code == 0
    assert done.out == 2 * run("parse", bare, *limits).out
    lines = done.err.splitlines()
    first = good.count("\n") + 3
    assert lines[:2] == [
        f"bbparse: skipped: {path}, line {number}: expected 10 columns, found 2"
        for number in (1, first)
    ]
    assert lines[2].startswith(f"bbparse: skipped: {path}, line {first + 2}: ")
    count = 2 * len(toy.dev_sentences()) + 3
    assert lines[3:] == [f"bbparse: 3 of {count} sentences were skipped"]
    path.write_text(bad, encoding="utf-8")
    out = tmp_path / "out.conllu"
    done = run("parse", path, *limits, "--skip-invalid", "--output", out)
    assert done.complaint(alone=False) == "no sentence is left to parse: 1 invalid"
    assert not out.exists()
