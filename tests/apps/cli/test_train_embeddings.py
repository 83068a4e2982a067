"""``bbparse train --vectors`` and ``--encoder``: the commands, their cards and their complaints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bbparse.neural.embeddings.hugging_face import read_bert
from bbparse.treebank import write_conllu
from tests import toy
from tests.apps.cli.conftest import NETWORK, Done, Run
from tests.neural.embeddings.small import make_weights, write_encoder
from tests.neural.embeddings.tiny import make_encoder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few sentences, vectors, and a configuration with a network."""
    folder = tmp_path_factory.mktemp("embeddings")
    write_conllu(folder / "train.conllu", toy.sentences()[:20])
    write_conllu(folder / "dev.conllu", toy.dev_sentences()[:12])
    (folder / "some.vec").write_text("the 1 0 2\n, 0 1 1\n. 1 1 0\n", encoding="utf-8")
    (folder / "network.toml").write_text(NETWORK, encoding="utf-8")
    return folder


def train(run: Run, small: Path, model: Path, *more: str | Path, text: str = "--no-text") -> Done:
    return run(
        "train",
        small / "train.conllu",
        "--dev",
        small / "dev.conllu",
        "--epochs",
        "1",
        "--config",
        small / "network.toml",
        *text.split(),
        "--factors",
        "",
        "--model",
        model,
        *more,
    )


def test_vectors(run: Run, small: Path, tmp_path: Path) -> None:
    model = tmp_path / "a.model"
    done = train(run, small, model, "--vectors", small / "some.vec", "--vectors-license", "CC0")
    assert done.code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.model"]
    card = run("model", model).out
    assert "some.vec, 3 of 3 words, 3 dimensions, CC0, hash " in card
    out = tmp_path / "out.conllu"
    assert run("parse", small / "dev.conllu", "--model", model, "-o", out).code == 0
    again = tmp_path / "b.model"
    train(run, small, again, "--vectors", small / "some.vec", "--vectors-license", "CC0")
    assert model.read_bytes() == again.read_bytes()


def test_vectors_of_a_tagger(run: Run, small: Path, tmp_path: Path) -> None:
    some, other = small / "some.vec", tmp_path / "other.vec"
    other.write_text("the 1 0\n, 0 1\n", encoding="utf-8")
    tagger, model, both = (tmp_path / name for name in ("t.tagger", "a.model", "b.model"))
    given = [small / "train.conllu", "--dev", small / "dev.conllu", "--epochs", "1", "--vectors"]
    done = run("train-tagger", *given, some, "--model", tagger)
    assert done.code == 0
    # of the tagger alone, and then the same of the parser, stored once
    (mine := tmp_path / "a.model.states").mkdir()  # no folder of this command
    assert train(run, small, model, text=f"--text-from {tagger}").code == 0
    assert mine.is_dir()
    assert "some.vec, 3 of 3 words" in run("model", model).out
    assert run("tag", small / "dev.conllu", "--model", model).code == 0
    done = train(run, small, both, "--vectors", some, text=f"--text-from {tagger}")
    assert done.code == 0 and "some.vec, 3 of 3 words" in run("model", both).out
    assert run("train-tagger", *given, other, "--model", tagger).code == 0
    wrong = "parser and tagger use different pretrained embeddings"
    done = train(run, small, model, "--vectors", some, text=f"--text-from {tagger}")
    assert wrong in done.complaint(alone=False)
    assert wrong in run("bundle", both, tagger, "--output", model).complaint()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["--vectors", "x.vec", "--encoder", "x"],
            "--vectors, --encoder and --base exclude each other",
        ),
        (["--first-words", "3"], "--first-words is for --vectors"),
        (["--pieces", "9"], "--pieces is for --encoder"),
        (["--encoder-layers", "5-8"], "--encoder-layers is for --encoder"),
        (["--encoder-layers", "8-5"], "'8-5': layers count from 1, and the first comes first"),
        (["--encoder-layers", "five"], "'five' is no number of layers, or two such as 5-8"),
        (["--encoder-bits", "4.5"], "--encoder-bits is for --encoder"),
        (["--vectors-license", "x"], "is for --vectors and --encoder"),
        (["--vectors", "none.vec"], "none.vec: cannot be read: No such file or directory"),
    ],
)
def test_complaints(given: list[str], message: str, run: Run, small: Path, tmp_path: Path) -> None:
    assert message in train(run, small, tmp_path / "a.model", *given).complaint()
    assert not list(tmp_path.iterdir())


def test_an_encoder(run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    folder = make_encoder(tmp_path / "tiny")
    model = tmp_path / "a.model"
    assert train(run, small, model, "--encoder", folder).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.model", "tiny"]
    again = tmp_path / "b.model"
    (mine := tmp_path / "b.model.states" / "ab" / "notes.txt").parent.mkdir(parents=True)
    mine.touch()
    assert train(run, small, again, "--encoder", folder).code == 0
    assert [*(tmp_path / "b.model.states").rglob("*.*")] == [mine]  # not made by the command
    assert again.read_bytes() == model.read_bytes()
    card = json.loads(run("model", model, "--json").out)["embeddings"]
    assert card["kind"] == "encoder" and card["dimension"] == 18
    sections = tmp_path / "sections.conllu"  # for several processes
    write_conllu(sections, [*toy.sentences(), *toy.dev_sentences()] * 2)
    outputs = []
    for threads in ("1", "2"):
        outputs.append(tmp_path / f"out{threads}.conllu")
        done = run("parse", sections, "--model", model, "-o", outputs[-1], "--threads", threads)
        assert done.code == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    make_encoder(folder, seed=7)
    done = run("parse", small / "dev.conllu", "--model", model)
    assert "another version than the model was trained with" in done.complaint()


def test_an_encoder_is_tuned(run: Run, small: Path, tmp_path: Path) -> None:
    """Its folder is one that `train` takes, and an older folder stays as it is."""
    folder = write_encoder(tmp_path / "old", make_weights())
    train = "train-encoder", folder, small / "train.conllu", "--output"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for there in (folder, small / "train.conllu", "-"):
        done = run(*train, there)
        assert done.code == 2 and ", expected the name of a new folder" in done.err
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
    pytest.importorskip("torch")
    more = "--encoder-layers", "1-2", "--passes", "1"
    assert run(*train, tmp_path / "new", *more).code == 0
    assert read_bert(tmp_path / "new", (1, 2)).hash != read_bert(folder, (1, 2)).hash
