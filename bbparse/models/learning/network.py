"""Training with a network: the network on all sentences, then factors beside it.

Factors are trained on sentences that the network was not trained on, because its errors there are
like those in new text. The training data is divided into folds (as QL13 §4.2 does for tags), and
the sentences of a fold are scored by a network that was trained on the other folds. Afterwards the
factors are used with the network that was trained on everything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily
from bbparse.models.factors.tree_family import TreeFamily
from bbparse.models.learning.arc_network import train_arcs
from bbparse.models.learning.checkpoint import key_of
from bbparse.models.learning.data import folds_of, labels_of
from bbparse.models.learning.linear import root_label
from bbparse.models.learning.run import Run, learn_factors
from bbparse.models.model import Model
from bbparse.models.scoring.arc_network import ARC_ARRAYS, ArcNetwork
from bbparse.models.scoring.problem_maker import ProblemMaker, with_arcs_of
from bbparse.treebank.progress import watched

Ints = NDArray[np.int64]


def learn_with_network(run: Run, families: Sequence[FactorFamily]) -> Model:
    """Train a network on the data of a run, and the factors of `families` beside it.

    Raises `TreebankError` if there are more labels than `models.scoring.labeller.MAX_LABELS`.
    """
    config, everything = run.config, np.arange(len(run.data.sentences))
    network, *others = (
        _network(
            run, config.with_("learning", seed=config.learning.seed + 10_000 * i), everything,
            config.network.epochs, f"network {i + 1}" if i else "network",
        )
        for i in range(config.network.members)
    )
    network = network.with_others(others)
    run.say(f"network trained: {len(network.labels)} labels")
    model = Model(ProblemMaker(config, network, families=families, embeddings=run.data.embeddings))
    run.judge(model, "network:")
    if not all(isinstance(family, TreeFamily) for family in families):  # these learn nothing
        model = learn_factors(run, model, held_out_problems(run), families)
    model.labeller = network if network.labels else None
    return model


def _network(run: Run, config: Configuration, chosen: Ints, epochs: int, part: str) -> ArcNetwork:
    """Train a network on the sentences `chosen`, or read the one of an interrupted run."""
    data = run.data
    labels = [label for label in labels_of(data.sentences) if label != "_"]
    names = tuple(labels) if config.labels.epochs else ()
    root = root_label(data.sentences, labels) if names else -1
    arrays = run.checkpoint.once(
        part, key_of(config), ARC_ARRAYS,
        lambda: train_arcs(config, data, chosen, names, root, epochs, part).to_arrays(),
    )
    return ArcNetwork.from_arrays(arrays, part)


def held_out_problems(run: Run) -> list[Problem]:
    """Return the problem of every training sentence, scored by a network not trained on it.

    The candidate arcs of these networks, and the gold arcs, become the candidate arcs of the data.
    """
    data, config = run.data, run.config
    count = len(data.sentences)
    problems: dict[int, Problem] = {}
    data.arcs, data.arc_labels = [(np.zeros(0, np.int32),) * 2] * count, []
    labels: dict[int, NDArray[np.int32]] = {}
    missing = 0
    folds = folds_of(count, config.factors.folds, config.learning.seed)
    for fold, (others, held_out) in enumerate(folds, start=1):
        network = _network(run, config, others, config.factors.fold_epochs, f"fold {fold}")
        maker = ProblemMaker(config, network, embeddings=data.embeddings)
        for i in watched(held_out.tolist(), f"fold {fold}"):
            gold = {m: h for m, h in enumerate(data.heads[i].tolist()) if m}
            (scored,) = maker([data.sentences[i]])
            before = len(scored.problem.arc_head)
            head, mod = with_arcs_of(
                scored.problem.arc_head, scored.problem.arc_mod, data.heads[i]
            )
            if len(head) > before:
                missing += len(head) - before
                (scored,) = maker([data.sentences[i]], given=[gold])
                head, mod = scored.problem.arc_head, scored.problem.arc_mod
            data.arcs[i] = np.array(head), np.array(mod)
            problems[i] = scored.problem
            if network.labels and scored.scores is not None:
                best = scored.scores.label_scores(head, mod).argmax(axis=1)
                labels[i] = 1 + best.astype(np.int32)
    if labels:
        data.arc_labels = [labels[i] for i in range(count)]
    words = sum(sentence.n_words for sentence in data.sentences)
    data.recall = (words - missing) / max(1, words)
    run.say(
        f"{sum(len(head) for head, _ in data.arcs) / words:.2f} candidate heads per word,"
        f" {100 * data.recall:.2f} % of gold heads among them"
    )
    return [problems[i] for i in range(count)]
