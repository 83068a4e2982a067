"""Training in stages: backbones on all folds but one, the backbone on everything, the factors.

The training data is divided into folds (QL13 §4.2 does so for tags). A backbone trained on all of
them but one scores the sentences of that one, which it did not see; from these scores and the gold
trees the factors' weights are learned (:mod:`bbparse.learning.family_stage`). They are used with
the backbone that was trained on everything: its scores of new sentences are like those of the
folds' backbones for the sentences they did not see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from bbparse.configuration.records import FactorConfig
from bbparse.factors import FactorFamily
from bbparse.learning.data import TrainingData
from bbparse.learning.family_stage import FamilyStage
from bbparse.learning.restarts import learn_restarts
from bbparse.learning.run import Run
from bbparse.model.model import Model
from bbparse.problem import Problem


def train_in_stages(run: Run, families: Sequence[FactorFamily]) -> Model:
    """The backbone of a run, and factors learned from its errors on unseen sentences.

    Parameters
    ----------
    run : Run
    families : sequence of FactorFamily

    Returns
    -------
    Model
        Without a labeller.
    """
    backbone, problems = learn_backbone(run)
    return learn_factors(run, backbone, problems, families)


def learn_backbone(run: Run) -> tuple[Model, list[Problem]]:
    """The backbone of a run, and what factors are learned from: see `held_out_problems`.

    Several sets of families may be learned for one backbone.
    """
    plain = replace(run.config, factors=_backbones_only(run.config.factors))
    problems = held_out_problems(run.of("", config=plain))
    backbone = run.of("backbone", config=plain)
    return backbone.thinned(learn_restarts(backbone, [])), problems


def learn_factors(
    run: Run, backbone: Model, problems: Sequence[Problem], families: Sequence[FactorFamily]
) -> Model:
    """The backbone with factors whose weights are learned from the scores of its fold backbones.

    Parameters
    ----------
    run : Run
        That the backbone was learned in; of its configuration, `factors` may differ.
    backbone, problems
        From `learn_backbone`; neither is changed.
    families : sequence of FactorFamily
    """
    notes = {f"backbone_{key}": value for key, value in backbone.notes.items()}
    below = Model(backbone.maker.with_(config=run.config), notes=notes)
    stage = FamilyStage(below, run.data, problems, families)
    run.say(
        f"{len(stage.table)} factor features;"
        f" {sum(map(len, stage.proposals)) / len(problems):.0f} factors a sentence"
    )
    # what is best on dev depends on the backbone
    return run.of("families", longer=False).learn(stage, run.config.factors.epochs)


def _backbones_only(factors: FactorConfig) -> FactorConfig:
    """What the backbones depend on; a run whose factors are learned otherwise may use them too."""
    return FactorConfig(
        stage=factors.stage, folds=factors.folds, fold_epochs=factors.fold_epochs,
        fold_restarts=factors.fold_restarts,
    )  # fmt: skip


def held_out_problems(run: Run) -> list[Problem]:
    """Every training sentence, scored by a backbone trained without it; no factors.

    The order of the sentences is that of the training data.
    """
    config, data = run.config, run.data
    factors = config.factors
    own = config.with_("learning", epochs=factors.fold_epochs, restarts=factors.fold_restarts)
    count = len(data.sentences)
    folds = min(factors.folds, count)
    fold_of = np.random.default_rng(config.learning.seed).permutation(count) % max(folds, 1)
    problems: dict[int, Problem] = {}
    for fold in range(folds):
        # a single sentence has no other to learn from
        seen = np.flatnonzero(fold_of != fold) if folds > 1 else np.arange(count)
        part = subset(data, seen)
        rest = run.of(f"fold {fold + 1}", config=own, data=part, dev=())
        judge = rest.thinned(learn_restarts(rest, []))
        for i in np.flatnonzero(fold_of == fold):
            problems[int(i)] = judge.maker.over_arcs(
                data.sentences[i], data.values[i], *data.arcs[i], data.marks_of(int(i))
            )
    return [problems[i] for i in range(count)]


def subset(data: TrainingData, chosen: Iterable[int]) -> TrainingData:
    """The training data of some sentences."""
    places = list(chosen)

    def pick(column: list) -> list:
        return [column[i] for i in places]

    return TrainingData(
        pick(data.sentences), pick(data.values), pick(data.heads), data.projectivised,
        pick(data.arcs), data.recall, data.guide, pick(data.marks) if data.marks else [],
    )  # fmt: skip
