"""The script that makes models of other languages, on two toy languages and a tiny encoder."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tomllib
from codecs import encode
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import bbparse
from bbparse.models import MODELS
from bbparse.models.configuration import Configuration
from bbparse.models.model_file import load_model
from bbparse.runtime.archive import archive_card
from bbparse.treebank import Sentence, write_conllu
from tests import toy
from tests.neural.embeddings import test_bert

weights = test_bert.weights
FOLDER = Path(__file__).parents[1] / "models"


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if not FOLDER.exists():
        pytest.skip("models are made in a checkout")
    spec = importlib.util.spec_from_file_location("build_models", FOLDER / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HERE", tmp_path / "models")
    monkeypatch.setattr(module, "LAYERS", test_bert.LAYERS)
    languages = {
        code: {
            "code": code,
            "license": "CC BY-SA 4.0",
            "train": [f"UD_{code} train"],
            "dev": f"UD_{code} dev",
        }
        for code in ("aa", "bb")
    }
    monkeypatch.setattr(module, "LANGUAGES", languages)
    few = Configuration.load("head").with_("network", epochs=1)
    monkeypatch.setattr(module.Configuration, "load", lambda name: few)
    monkeypatch.setattr(module, "PIECES", ["UD_aa dev"])
    monkeypatch.setattr("bbparse.models.learning.train.ON_BASE", toy.NETWORK)
    monkeypatch.setattr("bbparse.text.tokenizer_training._SETTINGS", toy.NETWORK)
    return module


def treebank(folder: Path, change: Callable[[str], str]) -> None:
    """Write a treebank as a git repository; its train part has the dev part in it, too."""

    def changed(sentences: list[Sentence]) -> list[Sentence]:
        return [
            Sentence.from_words(
                [change(form) for form in s.forms], upos=s.upos, heads=s.heads, deprels=s.deprels
            )
            for s in sentences
        ]

    folder.mkdir(parents=True)
    code, dev = folder.name[3:], toy.dev_sentences()[:10]
    write_conllu(folder / f"{code}-ud-dev.conllu", changed(dev))
    write_conllu(folder / f"{code}-ud-train.conllu", changed([*toy.sentences()[:60], *dev]))
    names = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (["init", "-q"], ["add", "."], [*names, "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", folder, *command], check=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="treebanks are git repositories")
def test_base_and_models(
    build: ModuleType,
    tmp_path: Path,
    weights: dict[str, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    treebank(tmp_path / "ud" / "UD_aa", lambda form: form)
    treebank(tmp_path / "ud" / "UD_bb", lambda form: encode(form, "rot13"))
    encoder = test_bert.write_encoder(tmp_path / "tiny-encoder", weights)
    options = ["--treebanks", str(tmp_path / "ud"), "--work", str(tmp_path / "work")]
    for names in (["base", str(encoder)], ["bb"]):
        monkeypatch.setattr(sys, "argv", ["build.py", *names, *options])
        build.main()
    trained, held_out = (
        {tuple(s.forms) for s in made.sentences(f"UD_aa {part}")}
        for made in [build.Treebanks(tmp_path / "ud", tmp_path / "work", 1000)]
        for part in ("train", "dev")
    )
    assert trained & held_out
    made = build.Treebanks(tmp_path / "ud", tmp_path / "work", 1000)
    assert not held_out & {tuple(s.forms) for s in made.training("aa", 1000) if s.n_words > 5}
    head = build.path_of("bb")
    card = archive_card(head)["model"]["notes"]["card"]
    assert card["language"] == "bb" and "from text" not in card and card["results"]
    project = tomllib.loads((tmp_path / "models" / "bb" / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == ["bbparse", "bbparse-world"]
    assert project["entry-points"]["bbparse.models"] == {"bb": "bbparse_bb"}
    # what an installed model would be
    found = {name: build.path_of(name) for name in ("world", "bb")}
    monkeypatch.setattr(type(MODELS), "files", lambda self: found)
    text = " ".join(encode(form, "rot13") for form in toy.sentences()[0].forms)
    told = bbparse.load("world")(f"{text}\n\nThe cat slept.")
    assert "# language = bb" in told[0].sentence.lines
    assert "# language = aa (joint model)" in told[-1].sentence.lines
    assert load_model(found["world"]).labeller is not None


@pytest.mark.skipif(not FOLDER.exists(), reason="models are made in a checkout")
def test_models_of_the_folder() -> None:
    languages = tomllib.loads((FOLDER / "languages.toml").read_text("utf-8"))
    base = archive_card(FOLDER / "world" / "bbparse_world" / "world.model")["embeddings"]
    names = {path.parent.parent.name for path in FOLDER.glob("*/*/*.model")}
    for name in names - {"world"}:
        card = archive_card(FOLDER / name / f"bbparse_{name.replace('-', '_')}" / f"{name}.model")
        assert (card["embeddings"]["base"], card["embeddings"]["hash"]) == ("world", base["hash"])
        about = card["model"]["notes"]["card"]
        assert about["license"] == languages[name]["license"] and "NC" not in about["license"]
        assert about["name"] == ", ".join(languages[name]["train"])
        project = tomllib.loads((FOLDER / name / "pyproject.toml").read_text("utf-8"))["project"]
        assert project["name"] == f"bbparse-{name}"
