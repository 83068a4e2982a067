"""The parser as a whole: model files, parts, commands, wrong input."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from bbparse.cli.main import cli
from bbparse.errors import BBParseError, ConfigError, ModelError
from bbparse.parsing.parser import Parser
from bbparse.phrases.model import KIND, load_phrases, save_phrases
from bbparse.phrases.trees import read_trees
from bbparse.storage.archive import write_archive

_spec = importlib.util.spec_from_file_location("toy", Path(__file__).with_name("toy.py"))
assert _spec is not None and _spec.loader is not None
toy = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = toy
_spec.loader.exec_module(toy)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("phrases") / "toy.model"
    save_phrases(toy.parser(), path)
    return path


def _run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=True)


def test_a_model_parses_as_it_did_before_it_was_written(model: Path) -> None:
    again = load_phrases(model)
    for tree in toy.trees(10, seed=5):
        for use in ("none", "tags"):
            before = toy.parser().parse(tree.words, use=use)
            after = again.parse(tree.words, use=use)
            assert str(before.trees[0]) == str(after.trees[0])
            assert before.trees[0].words == tree.words
            assert len(after.heads) == len(tree.words) and after.heads.count(0) == 1
            if use == "tags":
                assert after.agreement is not None and after.agreement.proved


def test_what_is_no_model_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"bbparse\.Phrases"):
        Parser.load(model)
    other = tmp_path / "other.model"
    write_archive(other, "bbparse.Other", 1, {"header": np.array("{}")})
    with pytest.raises(ModelError, match=r"other\.model.*bbparse\.Other"):
        load_phrases(other)
    other.write_bytes(model.read_bytes()[:2000])
    with pytest.raises(ModelError, match=r"other\.model"):
        load_phrases(other)
    with np.load(model) as archive:
        arrays = {name: archive[name] for name in archive.files if name not in ("kind", "version")}
    for field, value, message in (
        ("split_root", np.full_like(arrays["split_root"], -np.inf), "without a start symbol"),
        ("split_parent", arrays["split_parent"] + 10_000, "split_parent has shape"),
        ("header", np.array("{"), "the header is damaged"),
    ):
        write_archive(other, KIND, 1, {**arrays, field: value})
        with pytest.raises(ModelError, match=message):
            load_phrases(other)


def test_sentences_without_a_tree_are_parsed_in_parts() -> None:
    found = toy.parser().parse("fly the the . Ada".split(), use="none")
    assert found.fallback
    assert found.trees[0].words == "fly the the . Ada".split()
    assert found.heads.count(0) == 1
    long = toy.parser().parse("Ada saw the fly .".split() * 60, use="tags")
    assert long.fallback and len(long.trees[0].words) == 300
    unknown = toy.parser().parse("Xqz zzzing 33".split(), use="tags")
    assert unknown.trees[0].words == "Xqz zzzing 33".split()
    with pytest.raises(ConfigError, match="no dependency parser"):
        toy.parser().parse(["Ada"], use="arcs")


def test_heads_that_are_given_are_kept() -> None:
    words = "Kim saw Ada with it .".split()
    alone = toy.parser().parse(words, use="none")
    seen = set()
    for head in range(1, 7):  # of "with"
        heads = [*alone.heads[:3], head, *alone.heads[4:]]
        found = toy.parser().parse(words, use="none", heads=heads)
        if found.heads == heads:
            seen.add(head)
            assert found.scores[0] <= alone.scores[0] + 1e-9
        else:  # no tree has them
            assert found.heads == alone.heads
    assert alone.heads[3] in seen and len(seen) == 2
    with pytest.raises(ConfigError, match="heads"):
        toy.parser().parse(words, use="none", heads=[0])


def test_commands(model: Path, tmp_path: Path) -> None:
    gold, out = tmp_path / "gold.ptb", tmp_path / "out.ptb"
    gold.write_text(toy.text(8, seed=7))
    using = ("--model", str(model), "--with", "tags")
    assert _run("phrases", str(gold), *using, "-o", str(out)).exit_code == 0
    assert [t.words for _, t in read_trees(out)] == [t.words for _, t in read_trees(gold)]
    result = _run("evaluate", str(gold), str(out), "--json")
    scores = json.loads(result.stdout)
    assert scores["sentences"] == 8 and 0.5 < scores["f1"] <= 1
    text = tmp_path / "a.txt"
    text.write_text("Ada saw the fly.\n")
    for kind, start in (("tree", "ROOT\n└─S"), ("svg", "<svg"), ("jsonl", '{"words"')):
        shown = _run("phrases", str(text), *using, "--format", kind)
        assert shown.exit_code == 0 and shown.stdout.startswith(start)
    trained = tmp_path / "new.model"
    gold.write_text(toy.text(20))
    result = _run("train-phrases", str(gold), "--config", "none", "--model", str(trained))
    assert result.exit_code == 0 and load_phrases(trained).dependencies is None


def test_commands_refuse_what_is_wrong(model: Path, tmp_path: Path) -> None:
    bad, out = tmp_path / "bad.ptb", tmp_path / "out"
    for content, message in (
        ("(ROOT (S (NN a))\n", "bad.ptb:1: a tree that begins here is not closed"),
        ("(ROOT\n (S ()))\n", "bad.ptb:2: an empty bracket"),
        ("", "bad.ptb: no trees"),
    ):
        bad.write_text(content)
        result = _run("train-phrases", str(bad), "--model", str(out))
        assert isinstance(result.exception, BBParseError)
        assert message in str(result.exception) and not out.exists()
    for arguments in (
        ("phrases", str(bad), "--model", str(bad)), ("parse", str(bad), "--model", str(model)),
    ):  # fmt: skip
        result = _run(*arguments, "-o", str(out))
        assert isinstance(result.exception, ModelError) and not out.exists()
