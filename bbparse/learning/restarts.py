"""Several runs over the same data in other orders, and the mean of their weights.

Each run ends somewhere else: what they have learned about the language they share, what they have
learned about single training sentences depends on the order of these. For a linear model the mean
of the scores of several models is the score by the mean of their weights, so it parses as fast as
one of them (as the averaged perceptron is a vote at the price of one, Collins 2002).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbparse.factors import FactorFamily, FactorTable
from bbparse.learning.run import Run, unlabelled_accuracy
from bbparse.learning.trainer import Trainer
from bbparse.model.model import Model
from bbparse.problem.quantum import QUANTUM
from bbparse.scoring.scorer import PartScorer


def learn_restarts(run: Run, families: Sequence[FactorFamily]) -> Model:
    """The backbone (and the factors, if any) of a run, the mean over its restarts.

    Each restart has a checkpoint of its own; one that is done is not done again when an
    interrupted run goes on.

    Parameters
    ----------
    run : Run
        Its configuration says how many restarts.
    families : sequence of FactorFamily
        To be learned together with the backbone.
    """
    config = run.config
    count = config.learning.restarts
    models = []
    for restart in range(count):
        part = run
        if count > 1:
            prefix = f"{run.part} " if run.part else ""
            part = run.of(f"{prefix}restart {restart + 1}")
        trainer = Trainer(config, run.data, run.pruner, families, restart)
        if families and not restart:
            run.say(f"{len(trainer.factor_weights)} factor features")
        models.append(part.learn(trainer, config.learning.epochs))
    if count == 1:
        return models[0]
    model = mean_of(models)
    if run.dev:
        uas = unlabelled_accuracy(model.maker, run.dev, config.learning.node_limit)
        model.notes["dev_uas"] = uas
        run.say(f"mean of {count} restarts: UAS {100 * uas:.2f} on dev")
    return model


def mean_of(models: Sequence[Model]) -> Model:
    """The model with the mean of the weights of several that differ in nothing else.

    Means are rounded to whole quanta, halves to even ones, so that all scores stay multiples of
    the quantum, and the same models always have the same mean.
    """
    makers = [model.maker for model in models]
    first = makers[0]
    total = np.zeros(first.scorer.weights.shape, np.int64)
    for maker in makers:
        total += maker.scorer.weights
    weights = np.rint(total / len(makers)).astype(np.int32)
    # tables that come from a file have no features of weight 0
    tables = [maker.table.pruned() for maker in makers]
    keys, first_at, place = np.unique(
        np.concatenate([table.keys for table in tables]), return_index=True, return_inverse=True
    )
    gates = np.concatenate([table.gates for table in tables])[first_at]
    quanta = np.concatenate([table.weights for table in tables]) / QUANTUM
    sums = np.bincount(place, quanta, len(keys))
    mean = first.with_(
        scorer=PartScorer(first.config.templates, weights, QUANTUM),
        table=FactorTable(keys, gates, np.rint(sums / len(makers)) * QUANTUM),
        quantum=QUANTUM,
    )
    return Model(mean, notes={"epochs": [model.notes["epoch"] for model in models]})
