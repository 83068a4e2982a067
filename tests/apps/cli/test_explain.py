"""``bbparse explain``: which sentence, and where the page goes."""

from __future__ import annotations

from pathlib import Path

from bbparse.apps.explain import explain, page
from bbparse.parser.parser import Parser
from bbparse.text import sentences_of_text
from tests import toy
from tests.apps.cli.conftest import Run


def test_which_sentence(run: Run, model: Path, tmp_path: Path) -> None:
    parser = Parser.load(model)
    sentences = toy.dev_sentences()
    target = tmp_path / "page.html"
    for wanted, index in ((["--sentence", "4"], 3), (["--sentence", "small-dev-006"], 5), ([], 0)):
        done = run("explain", toy.DEV, "--model", model, "-o", target, "--k-best", "2", *wanted)
        assert (done.code, done.out, done.err) == (0, "", "")
        expected = page(explain(parser, sentences[index], k_best=2), model=model.name)
        assert target.read_text(encoding="utf-8") == expected


def test_running_text(run: Run, model: Path, tmp_path: Path) -> None:
    parser = toy.reader()
    tagging = tmp_path / "tagging.model"
    parser.save(tagging)
    text = "The cat slept. She saw <b>!"
    source = tmp_path / "in.txt"
    source.write_text(text, encoding="utf-8")
    options = ("--model", tagging, "-o", "-", "--sentence", "2")
    spoken = run("explain", text, *options)
    assert spoken.code == 0 and "She saw &lt;b&gt;!" in spoken.out
    assert run("explain", source, *options).out == spoken.out
    second = parser.tagged(list(sentences_of_text(text, parser.needed_tokenizer()))[1])
    assert spoken.out == page(explain(parser, second, k_best=3), model=tagging.name)
    one = run("explain", "Stop!", *options[:-2])
    assert one.code == 0 and "Stop" in one.out
    complaint = run("explain", "Stop", *options).complaint()
    assert complaint == "Stop: no such file; one word is read as text if it ends in a full stop"
    for nothing in (" \t", ""):
        complaint = run("explain", nothing, *options).complaint()
        assert complaint == "the text: no words"
    refused = run("explain", text, "--model", model, "-o", "-")
    assert "no tokenizer for running text" in refused.complaint()


def test_no_such_sentence(run: Run, model: Path, tmp_path: Path) -> None:
    start = ("explain", toy.DEV, "--model", model, "-o", tmp_path / "page.html")
    n = len(toy.dev_sentences())
    complaint = run(*start, "--sentence", "9999").complaint()
    assert f"no sentence 9999; there are {n}" in complaint
    assert "no sentence odd" in run(*start, "--sentence", "odd").complaint()
    twice = tmp_path / "twice.conllu"
    twice.write_text(2 * toy.DEV.read_text(encoding="utf-8"), encoding="utf-8")
    refused = run("explain", twice, *start[2:], "--sentence", "small-dev-006").complaint()
    assert f"sentences 6 and {n + 6} have the sent_id small-dev-006: give a number" in refused
    empty = tmp_path / "empty.conllu"
    empty.touch()
    complaint = run("explain", empty, *start[2:]).complaint()
    assert "empty.conllu: the file is empty" in complaint
    assert not (tmp_path / "page.html").exists()
