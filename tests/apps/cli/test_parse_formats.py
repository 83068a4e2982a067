"""``bbparse parse``: JSON lines, drawn trees, and shards say what the parser found."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from bbparse.parser.parser import Parser
from bbparse.treebank import Sentence, read_conllu, write_conllu
from bbparse.treebank.sentence import miscs, surface_tokens
from tests import toy
from tests.apps.cli.conftest import Run
from tests.treebank.drawing.test_drawing import heads_in


def test_json_lines(run: Run, model: Path) -> None:
    done = run("parse", toy.DEV, "--model", model, "--format", "jsonl", "--k-best", "2")
    assert done.code == 0
    parser = Parser.load(model)
    lines = done.out.splitlines()
    sentences = toy.dev_sentences()
    assert len(lines) == len(sentences)
    for line, sentence in zip(lines, sentences):
        record = json.loads(line)
        trees = parser.parse(sentence, k_best=2)
        unsure = dict.fromkeys(
            (
                "confidences",
                "confidence",
                "runner_up_heads",
                "top2_probabilities",
                "enhanced",
                "edge_confidences",
            )
        )
        spans = record["offsets"]
        tokens = surface_tokens(sentence)  # words of a token share its span
        expected = [token.form for token in tokens for _ in token.words or (token.form,)]
        assert [sentence.written[start:end] for start, end in spans] == expected
        several = [token.form for token in tokens if len(token.words) > 1]
        assert [token["form"] for token in record["multiword"]] == several
        assert record == {
            "version": 1,
            "sentence": sentence.name,
            "words": sentence.forms,
            "offsets": spans,
            "misc": miscs(sentence),
            "multiword": record["multiword"],
            **{name: getattr(sentence, name) for name in ("lemmas", "upos", "xpos", "feats")},
            "status": "optimal",
            "trees": [
                {
                    "heads": list(tree.heads),
                    "labels": list(tree.labels),
                    "score": tree.score,
                    "upper_bound": tree.upper_bound,
                    "proved": True,
                    "broken": [],
                    **unsure,
                }
                for tree in trees
            ],
        }


def test_json_of_odd_words_stays_on_its_line(run: Run, model: Path, tmp_path: Path) -> None:
    source = tmp_path / "odd.conllu"
    words = ['"quoted"', "line\u2028break", "a\u0085b", "語"]
    write_conllu(source, [Sentence.from_words(words, upos=["NOUN"] * 4)])
    done = run("parse", source, "--model", model, "--format", "jsonl")
    (line,) = done.out.splitlines()
    assert json.loads(line)["words"] == words
    assert "語" in line


def test_drawn_trees(run: Run, model: Path) -> None:
    done = run("parse", toy.DEV, "--model", model, "--format", "tree", "--k-best", "2")
    blocks = done.out.split("\n\n")
    assert blocks.pop() == ""
    parser = Parser.load(model)
    for sentence in toy.dev_sentences():
        trees = parser.parse(sentence, k_best=2)
        for k, tree in enumerate(trees):
            title, drawing = blocks.pop(0).split("\n", 1)
            assert sentence.name in title and f"score {tree.score:.4f}" in title
            if k:
                differ = sum(a != b for a, b in zip(tree.heads, trees[0].heads))
                assert f"{differ} other head" in title
                assert sum(row.endswith(" *") for row in drawing.splitlines()) == differ
            assert tuple(heads_in(drawing)) == tree.heads
            for row, form, label in zip(drawing.splitlines(), sentence.forms, tree.labels):
                assert form in row and label in row
    assert not blocks


def test_colours(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = ("parse", toy.DEV, "--model", model, "--format", "tree")
    assert "\x1b" not in run(*drawn).out, "no terminal, no colours"
    with monkeypatch.context() as patch:
        patch.setattr("bbparse.apps.cli.parse.wants_colour", lambda stream: True)
        assert "\x1b[36m" in run(*drawn).out
    complaint = run(*drawn[:-1], "yaml").complaint()
    assert "'yaml' is not one of 'conllu', 'jsonl', 'tree'" in complaint
    output = tmp_path / "trees.txt"
    assert run(*drawn, "--output", output).code == 0
    assert "\x1b" not in output.read_text(encoding="utf-8")
    assert "●" in output.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["conllu", "jsonl", "tree"])
def test_a_search_that_was_cut_short_is_marked(
    run: Run, model: Path, tmp_path: Path, name: str
) -> None:
    source = tmp_path / "same.conllu"
    write_conllu(source, [Sentence.from_words(["dog"] * 60, upos=["NOUN"] * 60)])
    done = run("parse", source, "--model", model, "--format", name, "--node-limit", "1")
    if name == "jsonl":
        record = json.loads(done.out)
        (tree,) = record["trees"]
        assert record["status"] == "node_limit" and not tree["proved"]
        assert tree["upper_bound"] > tree["score"]
    elif name == "tree":
        assert "not proved: at most" in done.out.splitlines()[0]
    else:
        (sentence,) = read_conllu(io.StringIO(done.out), require_heads=True, single_root=True)
        found = dict(line[2:].split(" = ") for line in sentence.lines if line.startswith("# "))
        assert found["proved"] == "no"
        assert float(found["upper_bound"]) > float(found["score"])


def test_shards(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.conllu").write_bytes(toy.DEV.read_bytes())
    out = tmp_path / "out"
    command = ["parse", f"{tmp_path}/in/*.conllu", "--model", model, "--output-dir", out]
    done = run(*command, "--threads", "2")
    assert done.code == 0 and done.out == ""
    assert done.err.startswith("bbparse: 2 shards parsed (") and "done already: 0" in done.err
    alone = run("parse", toy.DEV, "--model", model).out.encode()
    assert {path.read_bytes() for path in out.glob("*.conllu")} == {alone}
    (tmp_path / "in" / "c.conllu").write_text("1\tone\n")
    done = run(*command)
    assert "0 shards parsed (0 sentences, 0 words); done already: 2" in done.err
    assert f"bbparse: {tmp_path}/in/c.conllu, line 1: expected 10 columns" in done.err
    said = done.complaint(alone=False)
    assert said == f"1 shard not parsed: see above, and {out}/manifest.jsonl"


def test_invalid_sentences_are_left_out(run: Run, model: Path, tmp_path: Path) -> None:
    good = toy.DEV.read_text(encoding="utf-8")
    (tmp_path / "some.conllu").write_text(f"1\tone\n\n{good}", encoding="utf-8")
    (tmp_path / "none.conllu").write_text("1\tone\n\n2\ttwo\n", encoding="utf-8")
    ring = "".join(f"{i}\tw\t_\tX\tX\t_\t{3 - i}\t_\t_\t_\n" for i in (1, 2))
    (tmp_path / "heads.conllu").write_text(f"{ring}\n{good}", encoding="utf-8")
    out = tmp_path / "out"
    command = ["parse", f"{tmp_path}/*.conllu", "--model", model, "--output-dir", out]
    done = run(*command, "--skip-invalid", "--keep-heads")
    first = f"skipped: {tmp_path}/some.conllu, line 1: expected 10 columns"
    cycle = f"skipped: {tmp_path}/heads.conllu, line 1: "
    assert sum(first in line for line in done.err.splitlines()) == 1
    assert sum(cycle in line for line in done.err.splitlines()) == 1
    assert f"{tmp_path}/none.conllu: no sentence is left to parse: 2 invalid" in done.err
    assert "2 shards parsed (" in done.err and "; skipped: 2 sentences" in done.err
    alone = run("parse", toy.DEV, "--model", model, "--keep-heads").out
    assert (out / "some.conllu").read_text(encoding="utf-8") == alone
    assert (out / "heads.conllu").read_text(encoding="utf-8").endswith(alone)
    manifest = (out / "manifest.jsonl").read_text(encoding="utf-8")
    assert manifest.count('"left_out": 1') == 2


def test_what_does_not_go_together(run: Run, model: Path, tmp_path: Path) -> None:
    both = run("parse", toy.DEV, "--output", tmp_path / "x", "--output-dir", tmp_path)
    assert "--output is for one file" in both.complaint()
    assert "give --output-dir, too" in run("parse", toy.DEV, "--cluster", "auto").complaint()
    none = run("parse", tmp_path / "*.xz", "--output-dir", tmp_path, "--model", model)
    assert none.complaint().endswith("a shard, or a pattern such as 'in/*.conllu'")
