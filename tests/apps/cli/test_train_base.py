"""``bbparse train --base``, several treebanks, and models of other distributions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from bbparse.models import MODELS
from bbparse.models.model_file import load_model
from bbparse.runtime.archive import archive_card
from bbparse.treebank import read_conllu, write_conllu
from tests import toy
from tests.apps.cli.conftest import NETWORK, Run
from tests.apps.cli.test_train_embeddings import train
from tests.neural.embeddings import test_bert, test_unigram

weights = test_bert.weights


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    write_conllu(folder / "train.conllu", toy.sentences()[:20])
    write_conllu(folder / "dev.conllu", toy.dev_sentences()[:12])
    (folder / "network.toml").write_text(NETWORK, encoding="utf-8")
    return folder


def test_a_model_on_a_base(
    run: Run, small: Path, tmp_path: Path, weights: dict[str, np.ndarray]
) -> None:
    pieces = test_unigram.tokenizer()
    encoder = test_bert.write_encoder(tmp_path / "tiny", weights, pieces, model_type="roberta")
    base, head, again = (tmp_path / f"{name}.model" for name in ("base", "head", "again"))
    assert train(run, small, base, "--encoder", encoder).code == 0
    done = train(run, small, head, "--base", base)
    assert done.code == 0 and "base.model itself" in done.err and done.err.count("gold tags") == 2
    assert train(run, small, again, "--base", base).code == 0
    assert head.read_bytes() == again.read_bytes() and not list(tmp_path.glob("*.states"))
    fields = set(archive_card(head)) | set(np.load(head).files)
    assert "embeddings" in fields and not any(name.startswith("encoder_") for name in fields)
    assert json.loads(run("model", head, "--json").out)["embeddings"]["base"] == "base"
    # the same encoder and sentences: the same network, whoever holds the encoder
    parsed = [run("parse", small / "dev.conllu", "--model", m) for m in (base, head)]
    assert parsed[0].code == 0 and parsed[0].out == parsed[1].out
    # a copy of the model elsewhere finds no base; it says so before it writes anything
    lonely = tmp_path / "elsewhere" / "head.model"
    lonely.parent.mkdir()
    shutil.copy(head, lonely)
    out = tmp_path / "out.conllu"
    done = run("parse", small / "dev.conllu", "--model", lonely, "-o", out)
    assert "base: no such file, nor the name of a model" in done.complaint() and not out.exists()
    assert run("model", lonely).code == 0  # its card needs no base
    done = train(run, small, again, "--base", head)
    assert "head.model: holds no encoder" in done.complaint()
    assert "exclude each other" in train(run, small, again, "--base", base, "--encoder", "x").err
    # another base of the same name
    test_bert.write_encoder(tmp_path / "tiny", {k: -v for k, v in weights.items()})
    assert train(run, small, base, "--encoder", tmp_path / "tiny").code == 0
    done = run("parse", small / "dev.conllu", "--model", head)
    assert "base base: another version than the model was trained on" in done.complaint()


def test_several_treebanks(run: Run, small: Path, tmp_path: Path) -> None:
    gold = toy.sentences()[:20]
    halves = [tmp_path / "a.conllu", tmp_path / "b.conllu"]
    write_conllu(halves[0], gold[:10])
    write_conllu(halves[1], gold[10:])
    common = ("--config", small / "network.toml", "--factors", "", "--no-text", "--model")
    whole, both = tmp_path / "whole.model", tmp_path / "both.model"
    assert run("train", small / "train.conllu", *common, whole, "--name", "x").code == 0
    assert run("train", *halves, *common, both, "--name", "x").code == 0
    assert whole.read_bytes() == both.read_bytes()
    assert run("train", *halves, *common, both).code == 0
    assert load_model(both).notes["card"]["name"] == "a.conllu, b.conllu"
    done = run("train", halves[0], halves[0], *common, both)
    assert f"{halves[0]}: given twice" in done.complaint()
    empty = tmp_path / "c.conllu"
    empty.write_text("\n")
    assert f"{empty}: " in run("train", halves[0], empty, *common, both).complaint()
    # tags of one treebank are enough for a tagger, and one says which has none
    write_conllu(halves[1], map(toy.bare, read_conllu(halves[1])))
    done = run("train", *halves, *common[:-2], "--model", both)
    assert f"not all treebanks train the tagger: {halves[1]}, line " in done.err
    assert "words" in json.loads(run("model", both, "--json").out)["takes"]


def test_a_model_of_another_distribution(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "toy_models"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('models are data')")
    shutil.copy(MODELS.path("english"), package / "anglish.model")
    info = tmp_path / "toy_models-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-models\nVersion: 1\n")
    entries = "[bbparse.models]\nanglish = toy_models\nlost = toy_models\ngone = no_package\n"
    (info / "entry_points.txt").write_text(entries + "english = toy_models\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert MODELS.path("anglish") == package / "anglish.model"
    assert "anglish" in MODELS.names() and not {"lost", "gone"} & {*MODELS.names()}
    assert MODELS.path("english").parent != package
    lines = run("model", "--list").out.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("angl")] == [["anglish", "en"]]
    listed = json.loads(run("model", "--list", "--json").out)
    assert listed["anglish"]["license"] == "CC BY-SA 4.0"
    assert run("model", "anglish").out == run("model", "english").out
