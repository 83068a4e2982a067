"""Training: it learns, it updates on violations only, and it says what it did."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError, FactorError, TreebankError
from bbparse.factors import load_families
from bbparse.learning import trainer as trainer_module
from bbparse.learning.data import prepare, prune_all
from bbparse.learning.trainer import Trainer, train, unlabelled_accuracy
from bbparse.quantum import QUANTUM
from bbparse.treebank import Sentence
from tests import toy


def trainer_of(config: Configuration, count: int = 30) -> Trainer:
    data = prepare(toy.sentences()[:count], config.model.single_root)
    pruner = prune_all(data, config)
    return Trainer(config, data, pruner, load_families(config.factors.families))


@pytest.mark.parametrize(
    ("method", "rate", "cost"),
    [
        ("perceptron", 0.1, 0.0),
        ("perceptron", 0.1, 1.0),
        ("passive-aggressive", 0.1, 1.0),
        ("adagrad", 0.1, 1.0),
    ],
)
@pytest.mark.parametrize("backbone", ["sibling", "carreras", "grandsib"])
def test_every_rule_learns_the_toy_treebank(
    method: str, rate: float, cost: float, backbone: str
) -> None:
    table = toy.configuration().to_table()
    table["model"]["backbone"] = backbone
    table["learning"].update(method=method, rate=rate, cost=cost, epochs=4)
    if backbone != "grandsib":
        del table["templates"]["grandsibling"]
    sentences = toy.sentences()[:60]
    parser = train(sentences, [], Configuration.from_table(table))
    assert unlabelled_accuracy(parser, sentences) > 0.95


def test_the_best_epoch_on_dev_is_kept() -> None:
    config = toy.configuration().with_("learning", epochs=4)
    lines: list[str] = []
    dev = toy.dev_sentences()
    parser = train(toy.sentences()[:50], dev, config, report=lines.append)
    epochs = [line for line in lines if line.startswith("epoch ")]
    figures = [float(line.split(" on dev;")[0].split()[-1]) for line in epochs]
    assert len(figures) == 4
    assert 100 * unlabelled_accuracy(parser, dev) == pytest.approx(max(figures), abs=0.006)
    assert parser.notes["epoch"] == figures.index(max(figures)) + 1
    assert parser.notes["dev_uas"] == pytest.approx(max(figures) / 100, abs=1e-4)


@pytest.mark.parametrize("first", [1, 2, 3])
def test_the_average_begins_with_a_later_epoch(first: int) -> None:
    config = toy.configuration().with_("learning", cost=1.0, average_from=first)
    trainer = trainer_of(config, count=8)
    seen: list[Any] = []
    learn = trainer._learn_from

    def watched(i: int) -> Any:
        outcome = learn(i)
        seen.append(trainer.backbone.average.weights.astype(np.int64))
        return outcome

    trainer._learn_from = watched  # type: ignore[method-assign]
    for number in (1, 2, 3):
        if number == first:
            # the weights at the start of the epoch count as one step, as zeros do in the first
            seen[:] = [trainer.backbone.average.weights.astype(np.int64)]
        trainer.epoch(number, False)
        mean = np.mean(seen if number >= first else [np.zeros_like(seen[0]), *seen], axis=0)
        assert np.array_equal(trainer.averaged().scorer.weights, np.rint(mean).astype(np.int32))


def test_the_average_is_the_mean_over_all_examples() -> None:
    """Over the weights at the start and after each sentence, in backbone and factors alike."""
    trainer = trainer_of(toy.configuration().with_("learning", cost=1.0), count=12)
    backbone = [trainer.backbone.average.weights.astype(np.int64)]
    factors = [trainer.factor_weights.astype(np.int64)]
    learn = trainer._learn_from

    def recorded(i: int) -> Any:
        outcome = learn(i)
        backbone.append(trainer.backbone.average.weights.astype(np.int64))
        factors.append(trainer.factor_weights.astype(np.int64))
        return outcome

    trainer._learn_from = recorded  # type: ignore[method-assign]
    reports = [trainer.epoch(number, False) for number in (1, 2)]
    assert len(backbone) == 25
    assert all(report.updates > 0 for report in reports)
    parser = trainer.averaged()
    assert np.abs(parser.scorer.weights - np.mean(backbone, axis=0)).max() <= 0.5
    assert np.abs(parser.table.weights / QUANTUM - np.mean(factors, axis=0)).max() <= 0.5


def test_weights_stay_whole_quanta() -> None:
    config = toy.configuration().with_("learning", method="adagrad", cost=0.3)
    parser = train(toy.sentences()[:40], [], config)
    assert parser.scorer.quantum == QUANTUM
    for sentence in toy.dev_sentences():
        for tree in parser.parse(sentence, k_best=3):
            assert (tree.score / QUANTUM).is_integer()


def test_the_finished_model_keeps_a_share_of_its_weights() -> None:
    lines: list[str] = []
    config = toy.configuration()
    whole = train(toy.sentences()[:40], toy.dev_sentences(), config)
    thin = train(
        toy.sentences()[:40], toy.dev_sentences(), config.with_("learning", keep=0.25),
        report=lines.append,
    )  # fmt: skip
    before, after = (np.count_nonzero(p.scorer.weights) for p in (whole, thin))
    assert 0.25 * before <= after < 0.5 * before
    kept = thin.scorer.weights != 0
    assert (thin.scorer.weights[kept] == whole.scorer.weights[kept]).all()
    assert thin.notes["dev_uas"] == unlabelled_accuracy(thin, toy.dev_sentences())
    assert any("25 % of the weights kept" in line for line in lines)
    with pytest.raises(ConfigError, match=r"learning\.keep is 0"):
        config.with_("learning", keep=0.0)


def test_it_learns_nothing_from_a_tree_that_does_not_outscore_the_gold_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = trainer_of(toy.configuration())
    trainer.epoch(1, False)
    honest = trainer_module.solve

    def poor(problem: Any, **options: Any) -> Any:
        """The worst of the ten best trees, as from a search that was cut short."""
        options.pop("node_limit", None)
        found = honest(problem, k_best=10, **options)
        last = slice(len(found) - 1, None)
        return replace(
            found, heads=found.heads[last], arcs=found.arcs[last], scores=found.scores[last],
            upper_bounds=found.upper_bounds[last], proved=found.proved[last], status="node_limit",
        )  # fmt: skip

    monkeypatch.setattr(trainer_module, "solve", poor)
    before = trainer.backbone.average.weights.copy()
    mild = 0
    for i in range(30):
        outcome, correct = trainer._learn_from(i)
        n = len(trainer.data.heads[i]) - 1
        if outcome == "no violation":
            mild += 1
            assert correct < n
            assert (trainer.backbone.average.weights == before).all()
        before = trainer.backbone.average.weights.copy()
    assert mild > 10
    report = trainer.epoch(2, False)
    assert report.cut_short == 30
    assert report.not_violations > 10
    assert f"{report.not_violations} without violation, 30 searches cut short" in report.line()


def test_a_passive_aggressive_step_makes_up_for_the_whole_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Afterwards the gold tree beats the tree that was found by the cost of its errors."""
    cost = 1.0
    config = toy.configuration().with_(
        "learning", method="passive-aggressive", rate=100.0, cost=cost
    ).with_("factors", rate=1.0)  # fmt: skip
    trainer = trainer_of(config)
    honest = trainer_module.solve
    found: list[np.ndarray] = []

    def recorded(problem: Any, **options: Any) -> Any:
        solution = honest(problem, **options)
        found.append(solution.heads[0])
        return solution

    monkeypatch.setattr(trainer_module, "solve", recorded)
    updates = 0
    for i in range(30):
        if trainer._learn_from(i)[0] != "update":
            continue
        updates += 1
        values, (head, mod) = trainer.data.values[i], trainer.data.arcs[i]
        problem = trainer.parser.score_arcs(trainer.data.sentences[i], values, head, mod)
        gold = trainer.data.heads[i]
        errors = int((found[-1][1:] != gold[1:]).sum())
        margin = problem.score(gold) - problem.score(found[-1])
        assert margin == pytest.approx(cost * errors, abs=0.01)
    assert updates > 10


def test_what_cannot_be_trained_on() -> None:
    config = toy.configuration()
    good = list(toy.sentences()[:5])
    words = Sentence.from_words
    with pytest.raises(TreebankError, match="there are no training sentences"):
        train([], [], config)
    for bad, message in (
        (words(["a", "b"], name="bad"), "bad: word 1 has no head"),
        (words(["a", "b", "c"], heads=[2, 1, 0], name="bad"), "bad: the heads .* form a cycle"),
        (words(["a", "b"], heads=[0, 0], name="bad"), "bad: words 1, 2 have head 0"),
    ):
        with pytest.raises(TreebankError, match=message):
            train([*good, bad], [], config)
        with pytest.raises(TreebankError, match=message):
            train(good, [bad], config)
    with pytest.raises(FactorError, match="no factor family 'sibling'; there are: "):
        train(good, [], config, factors=["sibling"])
    with pytest.raises(ConfigError, match=r"learning\.epochs is 0"):
        config.with_("learning", epochs=0)


def test_several_roots_where_the_configuration_allows_them() -> None:
    config = toy.configuration().with_("model", single_root=False)
    two = Sentence.from_words(
        ["Hello", "hello"], upos=["INTJ", "INTJ"], heads=[0, 0], name="two roots"
    )
    parser = train([*toy.sentences()[:20], *[two] * 5], [], config.with_("learning", epochs=4))
    assert parser.parse(two)[0].heads == (0, 0)


def test_small_treebanks() -> None:
    config = toy.configuration()
    one = Sentence.from_words(["Hello"], heads=[0])
    assert train([one], [], config).parse(one)[0].heads == (0,)
    pair = Sentence.from_words(["a", "b"], upos=["DET", "NOUN"], heads=[2, 0])
    for names in ("siblings", "combs,siblings", ""):
        factors = names.split(",") if names else []
        parser = train([pair, one], [one], config, factors=factors)
        assert parser.parse(pair)[0].heads == (2, 0)


def test_without_factors_there_are_none() -> None:
    parser = train(toy.sentences()[:20], [], toy.configuration(), factors=[])
    assert parser.families == []
    assert parser.config.factors.families == ()
    problem = parser.problem(toy.dev_sentences()[5])
    assert len(problem.factor_score) == 0
