"""Learning from a sentence: updates on violations only, and what the average begins with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bbparse.factors import load_families
from bbparse.models.configuration import Configuration
from bbparse.models.learning import trainer as trainer_module
from bbparse.models.learning.arc_network import train_arcs
from bbparse.models.learning.data import prepare
from bbparse.models.learning.linear import prune_all
from bbparse.models.learning.network import held_out_problems
from bbparse.models.learning.run import Run
from bbparse.models.learning.trainer import EpochReport, Trainer
from bbparse.models.scoring.arc_network import ArcNetwork
from bbparse.models.scoring.problem_maker import ProblemMaker
from tests import toy

LABELS = ("case", "det", "nsubj")


def trainer_of(config: Configuration, count: int = 30) -> Trainer:
    data = prepare(toy.sentences()[:count], config.model)
    pruner = prune_all(data, config)
    return Trainer(config, data, pruner, load_families(config.factors.families))


def weights_of(trainer: Trainer) -> np.ndarray:
    return trainer.learner.weights.astype(np.int64)


@pytest.mark.parametrize("first", [1, 2, 3])
def test_the_average_begins_with_a_later_epoch(first: int) -> None:
    config = toy.configuration().with_("learning", cost=1.0, average_from=first)
    trainer = trainer_of(config, count=8)
    seen: list[Any] = []
    learn = trainer._learn_from

    def watched(*given: Any) -> None:
        learn(*given)
        seen.append(weights_of(trainer))

    trainer._learn_from = watched  # type: ignore[method-assign]
    for number in (1, 2, 3):
        if number == first:
            # the weights at the start of the epoch count as one step, as zeros do in the first
            seen[:] = [weights_of(trainer)]
        trainer.epoch(number)
        mean = np.mean(seen if number >= first else [np.zeros_like(seen[0]), *seen], axis=0)
        assert np.array_equal(trainer.learner.average(), np.rint(mean).astype(np.int32))


def test_it_learns_nothing_from_a_tree_that_does_not_outscore_the_gold_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = trainer_of(toy.configuration())
    trainer.epoch(1)
    honest = trainer_module.solve

    def poor(problem: Any, **options: Any) -> Any:
        """The worst of the ten best trees, as from a search that was cut short."""
        found = honest(problem, **{**options, "k_best": 10, "node_limit": None})
        last = slice(len(found) - 1, None)
        return replace(
            found, heads=found.heads[last], arcs=found.arcs[last], scores=found.scores[last],
            upper_bounds=found.upper_bounds[last], proved=found.proved[last], status="node_limit",
        )  # fmt: skip

    monkeypatch.setattr(trainer_module, "solve", poor)
    before = weights_of(trainer)
    mild = 0
    for i in range(30):
        report = EpochReport(2)
        trainer._learn_from(i, report)
        if report.not_violations:
            mild += 1
            assert report.right < report.words == len(trainer.data.heads[i]) - 1
            assert (weights_of(trainer) == before).all()
        before = weights_of(trainer)
    assert mild > 10
    report = trainer.epoch(2)
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
        report = EpochReport(1)
        trainer._learn_from(i, report)
        if not report.updates:
            continue
        updates += 1
        values, (head, mod) = trainer.data.values[i], trainer.data.arcs[i]
        maker = trainer.model(trainer.learner.weights).maker
        problem = maker.over_arcs(trainer.data.sentences[i], values, head, mod).problem
        gold = trainer.data.heads[i]
        errors = int((found[-1][1:] != gold[1:]).sum())
        margin = problem.score(gold) - problem.score(found[-1])
        assert margin == pytest.approx(cost * errors, abs=0.01)
    assert updates > 10


def test_the_network_is_not_asked_about_problems_that_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor are embeddings read for it; labels are those of the folds."""
    config = toy.network_configuration(epochs=1).with_("factors", families=("sibling-labels",))
    run = Run(config, prepare(toy.sentences()[:8], config.model), None)
    problems = held_out_problems(run)
    below = ProblemMaker(config, train_arcs(config, run.data, np.arange(8), LABELS, -1, 1))

    def silent(*given: Any) -> Any:
        raise AssertionError("asked")

    monkeypatch.setattr(ArcNetwork, "_score", silent)
    families = load_families(config.factors.families)
    trainer = Trainer(config, run.data, None, families, below=below, problems=problems)
    assert len(trainer.table)
    trainer.epoch(1)
    with pytest.raises(AssertionError, match="asked"):
        trainer.maker.over_arcs(run.data.sentences[0], run.data.values[0], *run.data.arcs[0])
