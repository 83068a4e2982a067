"""A run that is interrupted and goes on ends with exactly the model of one that was not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbparse.models.configuration import Configuration
from bbparse.models.learning import linear
from bbparse.models.learning.trainer import Trainer
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ModelError
from bbparse.treebank import Sentence
from tests import toy
from tests.models.learning.interrupted import PowerCut, counted


def weights(parser: Parser) -> dict[str, Any]:
    """Everything that a model's trees depend on."""
    labeller = parser.labeller
    table = parser.maker.table.pruned()  # files leave out features of weight 0
    return {
        "backbone": parser.maker.scorer.weights.tolist(),
        "pruner": parser.maker.pruner.scorer.weights.tolist(),
        "factors": dict(zip(table.keys.tolist(), table.weights.tolist())),
        "labels": None if labeller is None else labeller.weights.tolist(),
        "notes": {k: str(v) for k, v in parser.notes.items()},
    }


def configuration(method: str = "perceptron", epochs: int = 3) -> Configuration:
    config = toy.configuration()
    return config.with_("learning", method=method, epochs=epochs, cost=1.0, seed=5)


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return list(toy.sentences()[:40])


@pytest.fixture(scope="module")
def dev() -> list[Sentence]:
    return list(toy.dev_sentences()[:10])


def interrupt(
    monkeypatch: pytest.MonkeyPatch, after: int, path: Path, *given: Any, **options: Any
) -> None:
    """Train until so many sentences were learned from, and no further."""
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_learn_from", counted(Trainer._learn_from, after))
        with pytest.raises(PowerCut):
            Parser.train(*given, checkpoint=path, **options)


@pytest.mark.parametrize("method", ["perceptron", "passive-aggressive", "adagrad"])
@pytest.mark.parametrize("after", [5, 60, 119])
def test_going_on_gives_the_same_model(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sentences: list[Sentence],
    dev: list[Sentence],
    method: str,
    after: int,
) -> None:
    config = configuration(method)
    path = tmp_path / "run.checkpoint"
    whole = Parser.train(sentences, dev, config)
    interrupt(monkeypatch, after, path, sentences, dev, config)
    assert path.exists() == (after >= len(sentences))
    lines: list[str] = []
    resumed = Parser.train(sentences, dev, config, checkpoint=path, report=lines.append)
    told = f"resuming after epoch {after // len(sentences)} of an earlier run"
    assert (told in lines) == (after >= len(sentences))
    first = path if after >= len(sentences) else f"{path}.pruner"
    assert lines[0] == f"{first}: resuming an earlier run"
    assert weights(resumed) == weights(whole)
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
    one, two = tmp_path / "one", tmp_path / "two"
    whole.save(one)
    resumed.save(two)
    assert one.read_bytes() == two.read_bytes()


def test_without_a_dev_set_and_twice_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence]
) -> None:
    config = configuration()
    path = tmp_path / "run.checkpoint"
    whole = Parser.train(sentences, [], config)
    interrupt(monkeypatch, 50, path, sentences, [], config)
    interrupt(monkeypatch, 55, path, sentences, [], config)
    assert weights(Parser.train(sentences, [], config, checkpoint=path)) == weights(whole)


def test_more_epochs_go_on_from_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence], dev: list[Sentence]
) -> None:
    path = tmp_path / "run.checkpoint"
    interrupt(monkeypatch, 85, path, sentences, dev, configuration(epochs=3))
    whole = Parser.train(sentences, dev, configuration(epochs=4))
    longer = Parser.train(sentences, dev, configuration(epochs=4), checkpoint=path)
    assert weights(longer) == weights(whole)
    interrupt(monkeypatch, 85, path, sentences, dev, configuration(epochs=3))
    # Fewer than were done already: the best of those done.
    shorter = Parser.train(sentences, dev, configuration(epochs=1), checkpoint=path)
    assert shorter.notes["epoch"] in (1, 2)


@pytest.mark.parametrize("what", ["seed", "sentences", "dev", "factors", "templates"])
def test_a_checkpoint_of_another_run_is_not_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sentences: list[Sentence],
    dev: list[Sentence],
    what: str,
) -> None:
    path = tmp_path / "run.checkpoint"
    config = configuration(epochs=2)
    interrupt(monkeypatch, 45, path, sentences, dev, config)
    options: dict[str, Any] = {}
    if what == "seed":
        config = config.with_("learning", seed=6)
    elif what == "sentences":
        sentences = sentences[1:]
    elif what == "dev":
        dev = dev[1:]
    elif what == "factors":
        options["factors"] = ["combs"]
    else:
        table = config.to_table()
        table["templates"]["arc"] = table["templates"]["arc"][1:]
        config = Configuration.from_table(table)
    lines: list[str] = []
    fresh = Parser.train(sentences, dev, config, **options)
    found = Parser.train(sentences, dev, config, checkpoint=path, report=lines.append, **options)
    assert not any(line.startswith("going on") for line in lines)
    assert weights(found) == weights(fresh)


def test_a_damaged_checkpoint_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence], dev: list[Sentence]
) -> None:
    path = tmp_path / "run.checkpoint"
    config = configuration(epochs=2)
    interrupt(monkeypatch, 45, path, sentences, dev, config)
    for damaged in (path, path.with_name("run.checkpoint.pruner-fold-2")):
        whole = damaged.read_bytes()
        damaged.write_bytes(whole[: len(whole) // 2])
        named = f"{damaged.name}: not a complete.*; remove it, and"
        with pytest.raises(ModelError, match=named):
            Parser.train(sentences, dev, config, checkpoint=path)
        damaged.write_bytes(whole)
    Parser.train(sentences, dev, config, checkpoint=path)


def test_pruners_are_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence]
) -> None:
    config = configuration(epochs=1)
    path = tmp_path / "run.checkpoint"
    whole = weights(Parser.train(sentences, [], config))
    trained: list[str] = []
    honest = linear.train_pruner
    monkeypatch.setattr(linear, "train_pruner", counted(honest, 2))
    with pytest.raises(PowerCut):  # before the last of three
        Parser.train(sentences, [], config, checkpoint=path)
    monkeypatch.setattr(linear, "train_pruner", counted(honest, 2, trained))
    resumed = Parser.train(sentences, [], config, checkpoint=path)
    assert len(trained) == 1
    assert weights(resumed) == whole
