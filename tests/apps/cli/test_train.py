"""``bbparse train``: the whole way, and every kind of bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bbparse.models.configuration import Configuration
from bbparse.parser.parser import Parser
from bbparse.text.raw import plain_text
from bbparse.treebank import write_conllu
from tests import toy
from tests.apps.cli.conftest import NETWORK, Run

GOOD = "1\tHello\thello\tINTJ\tUH\t_\t0\troot\t_\t_\n2\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_\n"
COLUMNS = "\tw\tw\tNOUN\tNN\t_\t{}\tdep\t_\t_\n"


def sentence(*heads: object, name: str = "bad") -> str:
    """A sentence of as many words as there are heads."""
    lines = [f"{i}" + COLUMNS.format(head) for i, head in enumerate(heads, 1)]
    return f"# sent_id = {name}\n" + "".join(lines)


def treebank(folder: Path, *sentences: str) -> Path:
    path = folder / "train.conllu"
    path.write_text("".join(text + "\n" for text in sentences), encoding="utf-8")
    return path


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "train.conllu")


def test_the_whole_way(run: Run, config: Path, tmp_path: Path) -> None:
    model, predicted = tmp_path / "toy.model", tmp_path / "dev.conllu"
    done = run(
        "train",
        toy.TRAIN,
        "--dev",
        toy.DEV,
        "--config",
        config,
        "--model",
        model,
        "--factors",
        "siblings,combs",
        "--prune",
        "5",
        "--epochs",
        "3",
        "--seed",
        "4",
    )
    assert done.code == 0
    assert done.out == ""
    lines = done.err.splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith("epoch")] == [
        "epoch 1",
        "epoch 2",
        "epoch 3",
    ]
    assert lines[-1] == f"wrote {model}"
    assert leftovers(tmp_path) == ["toy.model"]
    loaded = Parser.load(model)
    assert loaded.model.config.factors.families == ("siblings", "combs")
    assert (loaded.model.config.pruner.k, loaded.model.config.learning.epochs) == (5, 3)
    assert loaded.model.config.learning.seed == 4
    options = ("--model", model, "--output", predicted, "--valid", "none")  # as in training
    assert run("parse", toy.DEV, *options).code == 0
    scores = json.loads(run("evaluate", toy.DEV, predicted, "--json").out)
    assert scores["uas"] > 0.85
    assert scores["uas"] == pytest.approx(loaded.model.notes["dev_uas"], abs=1e-9)
    assert {*loaded.model.notes["confidence"]} == {"arc", "either", "tree"}


def test_a_bad_sentence_is_named_or_skipped(run: Run, config: Path, tmp_path: Path) -> None:
    bad, model = sentence(0, 1, 0), tmp_path / "toy.model"
    path = treebank(tmp_path, GOOD, bad, GOOD, bad)
    for arguments in ((path,), (toy.DEV, "--dev", path)):
        complaint = run("train", *arguments, "--config", config, "--model", model).complaint()
        assert complaint.startswith(f"{path}, line 7, bad: words 1, 3 have head 0, expected")
        assert leftovers(tmp_path) == []
    done = run("train", path, "--config", config, "--model", model, "--skip-invalid")
    assert done.code == 0
    assert done.err.startswith(f"2 sentences skipped; the first: {path}, line ")
    assert Parser.load(model).model.notes["sentences"] == 2
    model.unlink()
    done = run("train", treebank(tmp_path, bad), "--model", model, "--skip-invalid")
    assert "no sentence is left to use" in done.complaint(alone=False)
    assert leftovers(tmp_path) == []


def test_what_is_refused_before_anything_is_learned(run: Run, config: Path, tmp_path: Path) -> None:
    model, empty, wrong = tmp_path / "toy.model", treebank(tmp_path), tmp_path / "wrong.toml"
    wrong.write_text(toy.TOML.replace("epochs = 2", "epoks = 2"), encoding="utf-8")
    start = (toy.DEV, "--config", config, "--model")
    for arguments, message in (
        ((empty, *start[1:], model), "the file is empty, expected at least one sentence"),
        ((*start, model, "--dev", empty), "the file is empty, expected at least one sentence"),
        ((*start, tmp_path / "no" / "toy.model"), "cannot be written: there is no folder"),
        ((*start, tmp_path), "cannot be written: it is a folder"),
        ((*start, model, "--factors", "siblings,x"), "no factor family 'x'; there are: agreement"),
        ((*start, model, "--factors", "combs,combs"), "factor family 'combs' is given twice"),
        ((toy.DEV, "--config", wrong, "--model", model), "unknown key 'epoks' in [learning]; keys"),
        (
            (toy.DEV, "--config", "klingon", "--model", model),
            "klingon: no such file, nor the name of a configuration",
        ),
        (("--print-config", "odd"), "odd: no such file, nor the name of a configuration"),
    ):
        assert message in run("train", *arguments).complaint()
    assert leftovers(tmp_path) == ["wrong.toml"]


def test_a_configuration_can_be_printed(run: Run, tmp_path: Path) -> None:
    done = run("train", "--print-config", "universal")
    assert done.code == 0
    own = tmp_path / "own.toml"
    own.write_text(done.out, encoding="utf-8")
    assert Configuration.load(own) == Configuration.load("universal")


def test_text_is_learned_too(run: Run, config: Path, tmp_path: Path) -> None:
    model = tmp_path / "toy.model"
    start = ("train", toy.TRAIN, "--config", config, "--epochs", "1", "--model")
    done = run(*start, model, "--dev", toy.DEV, "--name", "Toys", "--license", "none at all")
    assert done.code == 0 and "tokenizer trained: " in done.err
    titles = ("gold tags", "gold words", "from text")
    table = [line.split() for line in done.err.splitlines() if line.startswith(titles)]
    assert [" ".join(row[:2]) for row in table] == list(titles)
    assert float(table[2][-2]) > 60  # LAS of running text
    learned = Parser.load(model)
    assert learned.model.tagger is not None and learned.model.tokenizer is not None
    shown = run("model", model).out
    for line in (
        "treebank +Toys",
        "licence +none at all",
        "language +-",
        f"trained on +{len(toy.sentences())} sentences",
        "takes +text, words, words and",
    ):
        assert re.search(f"^{line}", shown, re.MULTILINE)
    assert shown.endswith("\n" + done.err[done.err.index("dev, %") : done.err.index("wrote")])
    card = json.loads(run("model", model, "--json").out)
    assert card == learned.card
    assert card["results"]["its text"]["las"] == float(table[2][-2])
    other = tmp_path / "other.model"
    assert run(*start, other, "--text-from", model).code == 0
    taken = Parser.load(other)
    assert taken.model.tagger is not None and taken.model.tagger.notes == learned.model.tagger.notes
    assert run(*start, other, "--no-text").code == 0
    assert Parser.load(other).model.tokenizer is None
    assert "exclude each other" in run(*start, other, "--no-text", "--text-from", model).err


def test_what_was_learned_of_text_is_kept(
    run: Run, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "toy.model"
    start = ("train", toy.TRAIN, "--config", config, "--epochs", "1", "--model", model)
    with monkeypatch.context() as patch:
        patch.setattr("bbparse.models.learning.run.prune_all", lambda *args: 1 / 0)
        assert run(*start).code != 0
    assert leftovers(tmp_path) == ["toy.model.checkpoint.text"]
    done = run(*start)
    assert "toy.model.checkpoint.text: resuming an earlier run" in done.err
    assert "tagger trained" not in done.err
    assert leftovers(tmp_path) == ["toy.model"]
    again = model.read_bytes()
    assert "tagger trained" in run(*start).err
    assert model.read_bytes() == again


def test_a_treebank_without_tags_is_enough(run: Run, config: Path, tmp_path: Path) -> None:
    path, model = tmp_path / "bare.conllu", tmp_path / "bare.model"
    write_conllu(path, map(toy.bare, toy.sentences()))
    done = run("train", path, "--dev", path, "--config", config, "--epochs", "1", "--model", model)
    assert done.code == 0 and f"no tagger trained: {path}, line " in done.err
    assert ": word 1 has no UPOS (and " in done.err
    rows = [line for line in done.err.splitlines() if line.startswith(("gold", "from text"))]
    assert [row.partition("  ")[0] for row in rows] == ["gold tags", "from text"]
    nlp = Parser.load(model)
    assert nlp.card["takes"] == ["text", "words"]
    assert nlp("She sleeps.")[0].sentence.forms == ["She", "sleeps", "."]
    text = tmp_path / "in.txt"
    text.write_text("She sleeps.", encoding="utf-8")
    assert run("parse", text, "--model", model).out.count("TokenRange") == 3


def test_raw_text_teaches(run: Run, tmp_path: Path) -> None:
    config, text = tmp_path / "net.toml", tmp_path / "raw.txt"
    config.write_text(NETWORK, encoding="utf-8")
    text.write_text(plain_text(toy.sentences()[60:]), encoding="utf-8")
    gold = tmp_path / "train.conllu"
    write_conllu(gold, toy.sentences()[:60])
    start = (
        "train",
        gold,
        "--dev",
        toy.DEV,
        "--config",
        config,
        "--factors",
        "",
        "--raw",
        text,
        "--text-from",
        "english",
    )
    done = run(*start, "--model", tmp_path / "whole.model")
    assert done.code == 0 and "words; skipped" in done.err
    assert done.err.count("network trained") == 2  # the teacher's, and the model's own
    assert "words, parsed by a model of TRAIN alone" in run("model", tmp_path / "whole.model").out


def test_what_is_refused_of_raw_text(run: Run, config: Path, tmp_path: Path) -> None:
    model, text, net = tmp_path / "toy.model", tmp_path / "raw.txt", tmp_path / "net.toml"
    net.write_text(NETWORK, encoding="utf-8")
    text.write_text("", encoding="utf-8")
    start = ("train", toy.DEV, "--model", model, "--config")
    for arguments, message in (
        ((*start, net, "--raw", text), "no words, expected running text"),
        ((*start, net, "--teacher", "english"), "--teacher has nothing to parse: give --raw, too"),
        ((*start, config, "--raw", text), "--raw is for networks, and network.epochs is 0"),
        ((*start, net, "--raw", text, "--no-text"), "--raw with --no-text needs a --teacher"),
    ):
        assert message in run(*arguments).complaint()
    text.write_text("She sleeps.", encoding="utf-8")
    done = run(*start, net, "--raw", text, "--teacher", "english")
    assert "the teacher's label acl is not in the treebank" in done.complaint()
    assert leftovers(tmp_path) == ["net.toml", "raw.txt"]
