"""Training in stages: backbones on all folds but one, the backbone on everything, the factors.

The training data is divided into folds (QL13 §4.2 does so for tags). A backbone trained on all of
them but one scores the sentences of that one, which it did not see; from these scores and the gold
trees the factors' weights are learned (:mod:`bbparse.learning.trainer`). They are used with the
backbone that was trained on everything: its scores of new sentences are like those of the folds'
backbones for the sentences they did not see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bbparse.configuration.records import FactorConfig
from bbparse.factors import FactorFamily
from bbparse.learning.data import folds_of, subset
from bbparse.learning.run import Run
from bbparse.learning.trainer import Trainer
from bbparse.model.model import Model
from bbparse.problem import Problem


def train_in_stages(run: Run, families: Sequence[FactorFamily]) -> Model:
    """The backbone of a run, and factors learned from its errors on unseen sentences."""
    return learn_factors(run, *learn_backbone(run), families)


def learn_backbone(run: Run) -> tuple[Model, list[Problem]]:
    """The backbone of a run, and what factors are learned from: see `held_out_problems`.

    Several sets of families may be learned for one backbone: it depends on the folds only.
    """
    old = run.config.factors
    factors = FactorConfig(
        stage=old.stage, folds=old.folds, fold_epochs=old.fold_epochs,
        fold_restarts=old.fold_restarts,
    )  # fmt: skip
    plain = run.of("", config=replace(run.config, factors=factors))
    problems = held_out_problems(plain)
    backbone = plain.of("backbone")
    return backbone.thinned(backbone.learn()), problems


def learn_factors(
    run: Run, backbone: Model, problems: Sequence[Problem], families: Sequence[FactorFamily]
) -> Model:
    """The backbone with factors whose weights are learned from the scores of its fold backbones.

    Both from `learn_backbone`, neither is changed; of the run's configuration, `factors` may
    differ.
    """
    notes = {f"backbone_{key}": value for key, value in backbone.notes.items()}
    trainer = Trainer(
        run.config, run.data, run.pruner, families,
        below=Model(backbone.maker, notes=notes), problems=problems,
    )  # fmt: skip
    factors = sum(some.n_factors for some in trainer.proposals) / len(problems)
    run.say(f"{len(trainer.table)} factor features; {factors:.0f} factors a sentence")
    # what is best on dev depends on the backbone
    part = run.of("families", longer=False)
    return trainer.model(*part.epochs(trainer, run.config.factors.epochs))


def held_out_problems(run: Run) -> list[Problem]:
    """Every training sentence, in order, scored by a backbone trained without it; no factors."""
    config, data = run.config, run.data
    factors, count = config.factors, len(data.sentences)
    own = config.with_("learning", epochs=factors.fold_epochs, restarts=factors.fold_restarts)
    problems: dict[int, Problem] = {}
    for fold, (seen, unseen) in enumerate(folds_of(count, factors.folds, config.learning.seed), 1):
        rest = run.of(f"fold {fold}", config=own, data=subset(data, seen), dev=())
        judge = rest.thinned(rest.learn())
        for i in unseen.tolist():
            head, mod = data.arcs[i]
            problems[i] = judge.maker.over_arcs(
                data.sentences[i], data.values[i], head, mod, data.marks_of(i)
            )
    return [problems[i] for i in range(count)]
