"""Training runs: epochs of a trainer, networks, and factors beside them, resumed if interrupted.

Factors beside a network are trained on sentences that it was not trained on, because its errors
there are like those in new text. The training data is divided into folds (as QL13 §4.2 does for
tags), and the sentences of a fold are scored by a network that was trained on the other folds.
Afterwards the factors are used with the network that was trained on everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.inference.solve import solve
from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.tree_family import TreeFamily
from bbparse.models.learning.arc_network import ArcLearner
from bbparse.models.learning.checkpoint import Checkpoint, key_of
from bbparse.models.learning.data import TrainingData, folds_of, labels_of, root_label
from bbparse.models.learning.linear import prune_all, train_labeller
from bbparse.models.learning.trainer import Trainer
from bbparse.models.model import Model
from bbparse.models.scoring.arc_network import ARC_FIELDS, ArcNetwork
from bbparse.models.scoring.linear import LinearScorer
from bbparse.models.scoring.problem_maker import ProblemMaker, with_arcs_of
from bbparse.neural.ragged import batches
from bbparse.runtime.archive import REALS, Rule
from bbparse.runtime.arrays import Ints, Longs
from bbparse.runtime.errors import ConfigError
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence

_REALS: Rule = (REALS, 1, None)


@dataclass(slots=True)
class Run:
    """Data and settings of a training run."""

    config: Configuration
    #: Training data with candidate arcs.
    data: TrainingData
    #: Development data; without any, the last epoch is kept.
    dev: Sequence[Sentence] = ()
    #: Called with lines of progress.
    say: Callable[[str], None] = lambda line: None
    #: Files of the run's state.
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    #: Name of this part of a larger run, for messages and for the file of its checkpoint.
    part: str = ""

    def epochs(
        self, trainer: Trainer, count: int
    ) -> tuple[dict[str, NDArray[np.int32]], dict[str, Any]]:
        """Train for `count` epochs; return the mean weights after the best one, and a note."""
        # The families depend on the number of backbone epochs, the backbone itself does not.
        key = self.config.to_table() if trainer.problems else key_of(self.config)
        best, done = trainer.average(), np.zeros(2, np.int64)
        best_uas = np.full(1, -1.0)
        state: dict[str, NDArray[Any]] = {"epochs": done, "best_uas": best_uas}
        for name, learner in trainer.learners.items():
            arrays = {**learner.state(), "best": best[name]}
            state |= {f"{name}_{part}": array.reshape(-1) for part, array in arrays.items()}
        prefix = f"{self.part}, " if self.part else ""
        kept = self.checkpoint.read(self.part, key, dict.fromkeys(state, _REALS))
        if kept is not None:
            for name, array in state.items():
                array[:] = kept[name]
            self.say(f"{prefix}resuming after epoch {done[0]} of an earlier run")
        for number in range(int(done[0]) + 1, count + 1):
            report = trainer.epoch(number)
            average = trainer.average()
            if self.dev:
                report.dev_uas = unlabelled_accuracy(trainer.model(average).maker, self.dev)
            self.say(prefix + report.line())
            if not self.dev or report.dev_uas > best_uas[0]:
                done[1], best_uas[0] = number, report.dev_uas
                for name, weights in average.items():
                    best[name][:] = weights
            done[0] = number
            self.checkpoint.write(self.part, key, state)
        if not done[1]:
            raise ConfigError(f"learning.epochs is {count}, no epoch is left to train")
        return best, {"epoch": int(done[1]), "dev_uas": float(best_uas[0])}


def unlabelled_accuracy(maker: ProblemMaker, sentences: Iterable[Sentence]) -> float:
    """Return the unlabelled accuracy as a fraction of all words."""
    options = {"node_limit": maker.config.learning.node_limit, **maker.config.search_options}
    right = words = 0
    for batch in batches(watched(sentences, "dev")):
        for scored in maker(batch):
            solution = solve(scored.problem, **options)
            right += int((solution.heads[0, 1:] == np.array(scored.sentence.heads)).sum())
            words += scored.sentence.n_words
    return right / max(1, words)


def learn_with_templates(run: Run, families: Sequence[FactorFamily]) -> Model:
    """Train a pruner, the templates and the factors of `families` together, and a labeller."""
    config, data = run.config, run.data
    pruner = prune_all(data, config, run.checkpoint)
    run.say(f"pruner trained: {data.summary}")
    scorer = LinearScorer(config.templates)
    trainer = Trainer(config, data, ProblemMaker(config, None, pruner, scorer, families))
    if families:
        run.say(f"{len(trainer.table)} factor features")
    model = trainer.model(*run.epochs(trainer, config.learning.epochs))
    model.notes |= {"pruner_recall": data.recall, "candidates_per_word": data.per_word}
    model.labeller = train_labeller(config, data)
    if model.labeller is not None:
        run.say(f"{len(model.labeller.labels)} labels trained")
    return model


def learn_factors(
    run: Run, backbone: Model, problems: Sequence[Problem], families: Sequence[FactorFamily]
) -> Model:
    """Train factors beside a backbone on ``problems`` scored by held-out backbones."""
    maker = replace(backbone.maker, config=run.config, families=families)
    trainer = Trainer(run.config, run.data, maker, problems)
    factors = sum(map(len, trainer.proposals)) / len(problems)
    run.say(f"{len(trainer.table)} factor features; {factors:.0f} factors per sentence")
    weights, notes = replace(run, part="families").epochs(trainer, run.config.factors.epochs)
    before = {f"backbone_{key}": value for key, value in backbone.notes.items()}
    return trainer.model(weights, {**before, **notes})


def learn_with_network(run: Run, families: Sequence[FactorFamily]) -> Model:
    """Train a network on the data of a run, and the factors of `families` beside it."""
    config, everything = run.config, np.arange(len(run.data.sentences))
    network, *others = (
        _network(
            run,
            config.with_("learning", seed=config.learning.seed + 10_000 * i),
            everything,
            config.network.epochs,
            f"network {i + 1}" if i else "network",
        )
        for i in range(config.network.members)
    )
    network = network.with_others(others)
    run.say(f"network trained: {len(network.labels)} labels")
    model = Model(ProblemMaker(config, network, families=families, embeddings=run.data.embeddings))
    if run.dev:
        model.notes["dev_uas"] = uas = unlabelled_accuracy(model.maker, run.dev)
        run.say(f"network: UAS {100 * uas:.2f} on dev")
    if not all(isinstance(family, TreeFamily) for family in families):  # these learn nothing
        model = learn_factors(run, model, held_out_problems(run), families)
    model.labeller = network if network.labels else None
    return model


def _network(run: Run, config: Configuration, chosen: Longs, epochs: int, part: str) -> ArcNetwork:
    """Train a network on the sentences `chosen`, or read the one of an interrupted run."""
    data = run.data
    labels = [label for label in labels_of(data.sentences) if label != "_"]
    names = tuple(labels) if config.labels.epochs else ()
    root = root_label(data.sentences, labels) if names else -1
    fields = run.checkpoint.once(
        part,
        key_of(config),
        ARC_FIELDS,
        lambda: ArcLearner(config, data, chosen, names, root).learn(epochs, part).to_fields(),
    )
    return ArcNetwork.from_fields(fields, part)


def held_out_problems(run: Run) -> list[Problem]:
    """Return the problem of each training sentence, by a network that was not trained on it."""
    data, config = run.data, run.config
    count = len(data.sentences)
    problems: dict[int, Problem] = {}
    data.arcs, data.arc_labels = [(np.zeros(0, np.int32),) * 2] * count, []
    labels: dict[int, Ints] = {}
    folds = folds_of(count, config.factors.folds, config.learning.seed)
    for fold, (others, held_out) in enumerate(folds, start=1):
        network = _network(run, config, others, config.factors.fold_epochs, f"fold {fold}")
        maker = ProblemMaker(config, network, embeddings=data.embeddings)
        for i in watched(held_out.tolist(), f"fold {fold}"):
            (scored,) = maker([data.sentences[i]])
            p = scored.problem
            head, mod = with_arcs_of(p.arc_head, p.arc_mod, data.heads[i])
            if added := len(head) - len(p.arc_head):
                data.missing += added
                gold = {m: h for m, h in enumerate(data.heads[i].tolist()) if m}
                (scored,) = maker([data.sentences[i]], given=[gold])
                head, mod = scored.problem.arc_head, scored.problem.arc_mod
            data.arcs[i] = np.array(head), np.array(mod)
            problems[i] = scored.problem
            if network.labels and scored.scores is not None:
                labels[i] = scored.scores.label_numbers(head, mod)
    if labels:
        data.arc_labels = [labels[i] for i in range(count)]
    run.say(data.summary)
    return [problems[i] for i in range(count)]
