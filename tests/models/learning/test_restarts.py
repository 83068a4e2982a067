"""Restarts: the mean of models that saw the sentences in other orders, resumed after a break."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.core.quantum import QUANTUM
from bbparse.models.configuration import Configuration
from bbparse.models.learning.run import Run, unlabelled_accuracy
from bbparse.models.learning.trainer import Trainer
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import OutputError
from bbparse.treebank import Sentence
from tests import toy
from tests.models.learning.interrupted import PowerCut, counted


def configuration(**learning: Any) -> Configuration:
    return toy.configuration().with_("learning", **{"epochs": 2, "restarts": 3, **learning})


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return list(toy.sentences()[:30])


@pytest.fixture(scope="module")
def dev() -> list[Sentence]:
    return list(toy.dev_sentences()[:10])


def weights(parser: Parser) -> list[Any]:
    return [parser.maker.scorer.weights.tolist(), parser.maker.table.keys.tolist(),
            parser.maker.table.weights.tolist()]  # fmt: skip


def test_the_model_is_the_mean_of_its_restarts(
    monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence], dev: list[Sentence]
) -> None:
    made: list[Trainer] = []
    init = Trainer.__init__

    def watched(trainer: Trainer, *given: Any) -> None:
        init(trainer, *given)
        made.append(trainer)

    monkeypatch.setattr(Trainer, "__init__", watched)
    lines: list[str] = []
    parser = Parser.train(sentences, [], configuration(), report=lines.append)
    ends = [trainer.model(trainer.learner.average()).maker for trainer in made]
    assert len(ends) == 3
    assert len({tuple(end.scorer.weights.tolist()) for end in ends}) == 3
    mean = np.mean([end.scorer.weights for end in ends], axis=0)
    assert np.array_equal(parser.maker.scorer.weights, np.rint(mean).astype(np.int32))
    assert np.abs(parser.maker.scorer.weights).max() > 0
    quanta = np.rint(np.mean([end.table.weights / QUANTUM for end in ends], axis=0))
    expected = dict(zip(ends[0].table.keys.tolist(), (quanta * QUANTUM).tolist()))
    found = parser.maker.table.pruned()
    assert dict(zip(found.keys.tolist(), found.weights.tolist())) == {
        key: weight for key, weight in expected.items() if weight
    }
    assert set(parser.maker.table.keys.tolist()) <= set(expected)
    assert parser.notes["epochs"] == [2, 2, 2]
    # the first restart is a run without any
    single = Parser.train(sentences, [], configuration(restarts=1))
    assert np.array_equal(single.maker.scorer.weights, ends[0].scorer.weights)

    lines.clear()
    parser = Parser.train(sentences, dev, configuration(), report=lines.append)
    assert parser.notes["dev_uas"] == unlabelled_accuracy(parser.maker, dev)
    assert f"mean of 3 restarts: UAS {100 * parser.notes['dev_uas']:.2f} on dev" in lines
    starts = [line.split(", epoch")[0] for line in lines if ", epoch" in line]
    assert starts == [f"restart {k}" for k in (1, 1, 2, 2, 3, 3)]


def test_halves_are_rounded_to_even_quanta(
    monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence]
) -> None:
    """Two restarts, of which the second ends one quantum above the first."""
    first = toy.parser().maker.scorer.weights.astype(np.int32)

    def learned(run: Run, trainer: Trainer, count: int) -> Any:
        more = 1 if run.part == "restart 2" else 0
        return first + more, {"epoch": 1}

    monkeypatch.setattr(Run, "epochs", learned)
    mean = Parser.train(sentences, [], configuration(restarts=2), factors=[]).maker
    assert (mean.scorer.weights % 2 == 0).all()
    assert np.abs(mean.scorer.weights - first).max() == 1
    single = Parser.train(sentences, [], configuration(restarts=1), factors=[]).maker
    assert single.scorer.weights.tolist() == first.tolist()


@pytest.mark.parametrize("after", [20, 70, 130, 179])
def test_an_interrupted_run_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence],
    dev: list[Sentence], after: int,
) -> None:  # fmt: skip
    whole = Parser.train(sentences, dev, configuration())
    learn, seen, path = Trainer._learn_from, list[str](), tmp_path / "run.checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_learn_from", counted(learn, after))
        with pytest.raises(PowerCut):
            Parser.train(sentences, dev, configuration(), checkpoint=path)
        patch.setattr(Trainer, "_learn_from", counted(learn, 180, seen))
        resumed = Parser.train(sentences, dev, configuration(), checkpoint=path)
    assert len(seen) <= 180 - after // 30 * 30  # what is left, and what no checkpoint had
    assert weights(resumed) == weights(whole)
    assert resumed.notes["epochs"] == whole.notes["epochs"]
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_cannot_be_written_leaves_the_checkpoint(
    tmp_path: Path, sentences: list[Sentence], dev: list[Sentence]
) -> None:
    path, model = tmp_path / "run.checkpoint", tmp_path / "folder"
    model.mkdir()
    config = configuration(restarts=2)
    with pytest.raises(OutputError, match="cannot be written"):
        Parser.train(sentences, dev, config, checkpoint=path, model=model)
    model.rmdir()
    lines: list[str] = []
    parser = Parser.train(sentences, dev, config, checkpoint=path, model=model, report=lines.append)
    assert not any(", epoch" in line for line in lines)  # nothing is learned again
    assert weights(Parser.load(model))[0] == weights(parser)[0]
    assert list(tmp_path.iterdir()) == [model]
