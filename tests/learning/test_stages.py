"""Training in stages: what the factors learn from, and that interrupted runs end the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError
from bbparse.factors import load_families
from bbparse.learning import run as run_module
from bbparse.learning.candidates import prune_all
from bbparse.learning.data import prepare, subset
from bbparse.learning.run import Run, held_out_problems, unlabelled_accuracy
from bbparse.learning.trainer import EpochReport, Trainer
from bbparse.parsing.parser import Parser
from bbparse.problem import Problem
from bbparse.problem.quantum import QUANTUM
from bbparse.scoring.problem_maker import ProblemMaker
from bbparse.treebank import Sentence
from tests import toy


def configuration(**changes: Any) -> Configuration:
    chosen = {
        "stage": "jackknife", "folds": 3, "fold_epochs": 2, "epochs": 2, "rate": 1.0, "cost": 1.0,
        "cutoff": 1,
    }  # fmt: skip
    config = toy.configuration().with_("factors", **{**chosen, **changes})
    return config.with_("learning", method="adagrad", cost=1.0, rate=0.5)


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return list(toy.sentences()[:50])


@pytest.fixture(scope="module")
def dev() -> list[Sentence]:
    return list(toy.dev_sentences()[:15])


def run_of(config: Configuration, sentences: list[Sentence]) -> Run:
    data = prepare(sentences, config.model)
    return Run(config, data, prune_all(data, config))


def factors_alone(run: Run, problems: list[Problem]) -> Trainer:
    """A trainer of factors over the backbone of one epoch."""
    config = run.config
    below = Trainer(config, run.data, run.pruner, [])
    families = load_families(config.factors.families)
    return Trainer(
        config, run.data, run.pruner, families, below=below.model(below.learner.average()).maker,
        problems=problems,
    )  # fmt: skip


def test_no_backbone_sees_what_it_scores(
    monkeypatch: pytest.MonkeyPatch, sentences: list[Sentence]
) -> None:
    seen: list[set[str]] = []
    scored: list[tuple[int, str]] = []
    init, score = Trainer.__init__, ProblemMaker.over_arcs

    def watched(trainer: Trainer, config: Any, data: Any, *rest: Any) -> None:
        seen.append({s.name for s in data.sentences})
        init(trainer, config, data, *rest)

    def watched_score(maker: ProblemMaker, sentence: Sentence, *rest: Any) -> Any:
        scored.append((len(seen) - 1, sentence.name))
        return score(maker, sentence, *rest)

    run = run_of(configuration(), sentences)
    monkeypatch.setattr(Trainer, "__init__", watched)
    monkeypatch.setattr(ProblemMaker, "over_arcs", watched_score)
    monkeypatch.setattr(Trainer, "epoch", lambda self, number: EpochReport(1))
    problems = held_out_problems(run)
    assert len(seen) == 3
    assert sorted(name for _, name in scored) == sorted(s.name for s in sentences)
    assert all(name not in seen[fold] for fold, name in scored)
    for problem, sentence, arcs in zip(problems, sentences, run.data.arcs):
        assert problem.n_words == sentence.n_words
        assert problem.arc_head.tolist() == arcs[0].tolist()
        assert len(problem.factor_score) == 0


def test_fold_backbones_may_be_means_of_restarts(sentences: list[Sentence]) -> None:
    config = configuration(fold_restarts=2).with_("learning", keep=0.5, bits=16)
    run = run_of(config, sentences)
    lines: list[str] = []
    run.say = lines.append
    problems = held_out_problems(run)
    assert [line.split(", epoch")[0] for line in lines if ", epoch" in line] == [
        f"fold {fold} restart {restart}" for fold in (1, 2, 3) for restart in (1, 1, 2, 2)
    ]
    # the second fold's, made by hand
    fold_of = np.random.default_rng(config.learning.seed).permutation(len(sentences)) % 3
    part = subset(run.data, np.flatnonzero(fold_of != 1))
    parts = []
    for restart in range(2):
        trainer = Trainer(config, part, run.pruner, [], restart)
        parts.append(Run(config, part, run.pruner).epochs(trainer, 2)[0])
    made = trainer.model(np.rint(np.mean(parts, axis=0)).astype(np.int32))
    mean = Run(config, part, run.pruner).thinned(made)
    i = int(np.flatnonzero(fold_of == 1)[0])
    expected = mean.maker.over_arcs(sentences[i], run.data.values[i], *run.data.arcs[i])
    assert problems[i].arc_score.tolist() == expected.arc_score.tolist()
    assert problems[i].quantum == expected.quantum


def test_factors_lower_the_errors_on_what_they_learn_from(sentences: list[Sentence]) -> None:
    config = configuration(epochs=6)
    run = run_of(config, sentences)
    problems = held_out_problems(run)
    stage = factors_alone(run, problems)
    reports = [stage.epoch(number) for number in range(1, 7)]
    assert reports[-1].train_uas > reports[0].train_uas
    assert reports[0].updates > 0
    found = stage.model(stage.learner.average()).maker
    assert found.scorer is stage.maker.scorer
    assert (np.rint(found.table.weights / QUANTUM) * QUANTUM == found.table.weights).all()
    assert np.count_nonzero(found.table.weights) > 50


def test_the_backbone_is_that_of_a_run_without_factors(
    sentences: list[Sentence], dev: list[Sentence]
) -> None:
    lines: list[str] = []
    staged = Parser.train(sentences, dev, configuration(), report=lines.append)
    plain = Parser.train(sentences, dev, configuration(), factors=[])
    assert (staged.maker.scorer.weights == plain.maker.scorer.weights).all()
    assert staged.config.factors.families == ("siblings", "grandchildren")
    assert len(staged.maker.table.pruned()) > 0
    assert staged.notes["backbone_dev_uas"] == plain.notes["dev_uas"]
    assert staged.notes["dev_uas"] == unlabelled_accuracy(staged.maker, dev)
    kinds = [line.split(", epoch")[0] for line in lines if ", epoch" in line]
    assert kinds == [f"fold {k}" for k in (1, 1, 2, 2, 3, 3)] + ["backbone"] * 2 + ["families"] * 2


def test_the_average_may_begin_late(sentences: list[Sentence]) -> None:
    config = configuration(epochs=3, average_from=3)
    run = run_of(config, sentences)
    stage = factors_alone(run, held_out_problems(run))
    for number in (1, 2):
        stage.epoch(number)
    weights = [stage.learner.weights.astype(np.int64)]
    learn = stage._learn_from

    def recorded(*given: Any) -> None:
        learn(*given)
        weights.append(stage.learner.weights.astype(np.int64))

    stage._learn_from = recorded  # type: ignore[method-assign]
    stage.epoch(3)
    found = stage.model(stage.learner.average()).maker.table.weights / QUANTUM
    assert np.abs(found - np.mean(weights, axis=0)).max() <= 0.5
    assert (found != 0).any()


def result(parser: Parser) -> dict[str, Any]:
    table = parser.maker.table.pruned()
    return {
        "backbone": parser.maker.scorer.weights.tolist(),
        "factors": dict(zip(table.keys.tolist(), table.weights.tolist())),
        "notes": {k: str(v) for k, v in parser.notes.items() if k != "seconds"},
    }


@pytest.mark.parametrize("after", [1, 5, 7, 9])
def test_an_interrupted_run_ends_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sentences: list[Sentence],
    dev: list[Sentence],
    after: int,
) -> None:
    class PowerCut(Exception):
        pass

    config = configuration()
    whole = result(Parser.train(sentences, dev, config))
    learn = run_module.Checkpoint.write
    count = 0

    def save(checkpoint: Any, part: str, *given: Any) -> None:
        nonlocal count
        learn(checkpoint, part, *given)
        count += not part.startswith("pruner")
        if count == after:
            raise PowerCut

    path = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(run_module.Checkpoint, "write", save)
        with pytest.raises(PowerCut):
            Parser.train(sentences, dev, config, checkpoint=path)
    assert list(tmp_path.iterdir())
    lines: list[str] = []
    again = result(Parser.train(sentences, dev, config, checkpoint=path, report=lines.append))
    assert again == whole
    assert sum("epoch" in line and " on training" in line for line in lines) == 10 - after
    assert not list(tmp_path.iterdir())


def test_models_of_staged_training_are_saved_and_read(
    tmp_path: Path, sentences: list[Sentence], dev: list[Sentence]
) -> None:
    parser = Parser.train(sentences, dev, configuration())
    parser.save(tmp_path / "staged.model")
    again = Parser.load(tmp_path / "staged.model")
    assert again.config == parser.config
    for sentence in dev:
        assert again.parse(sentence) == parser.parse(sentence)


def test_small_treebanks() -> None:
    one = Sentence.from_words(["Hello"], heads=[0])
    pair = Sentence.from_words(["a", "b"], upos=["DET", "NOUN"], heads=[2, 0])
    assert Parser.train([one], [], configuration()).parse(one)[0].heads == (0,)
    assert Parser.train([pair, one], [one], configuration()).parse(pair)[0].heads == (2, 0)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("stage", "apart", "factors.stage is 'apart', expected one of joint, jackknife"),
        ("folds", 1, "factors.folds is 1, expected a whole number of at least 2"),
        ("fold_epochs", 0, "factors.fold_epochs is 0"),
        ("fold_restarts", 0, "factors.fold_restarts is 0"),
        ("epochs", 0, "factors.epochs is 0"),
        ("rivals", 0, "factors.rivals is 0"),
        ("cost", -1.0, "factors.cost is -1.0, expected 0 or more"),
    ],
)
def test_impossible_settings(key: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configuration(**{key: value})
