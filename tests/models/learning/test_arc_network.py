"""Learning a parser's network: the loss and its gradients against plain numpy, steps, seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.models.configuration import Configuration
from bbparse.models.learning.arc_network import ArcLearner
from bbparse.models.learning.data import labels_of, prepare
from bbparse.models.learning.run import unlabelled_accuracy
from bbparse.models.scoring.arc_network import ArcNetwork
from bbparse.models.scoring.problem_maker import ProblemMaker
from bbparse.neural.sequence import QUANTUM
from bbparse.runtime.archive import archive_bytes
from bbparse.treebank import Sentence
from tests import toy
from tests.gradients import assert_gradients
from tests.models.scoring.networks import LABELS, Arrays, Plain, random_sentence
from tests.models.scoring.reference import candidate_parts
from tests.neural.plain import assert_derivatives
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_tree


class RandomEmbeddings:
    """Vectors of words that say nothing; some have none."""

    width = 12
    note: ClassVar = {"name": "numbers"}

    def __call__(self, sentences: Sequence[Sentence]) -> list[np.ndarray]:
        found = []
        for sentence in sentences:
            rng = np.random.default_rng(sum(map(len, sentence.forms)))
            own = rng.standard_normal((sentence.n_words, self.width)).astype(np.float32)
            own[::5] = 0.0
            found.append(own)
        return found

    def to_fields(self) -> Arrays:
        return {}


def treebank(sizes: Sequence[int], crossing: bool = False) -> list[Sentence]:
    """Random sentences with trees and labels, of which some are unknown."""
    rng = np.random.default_rng(8)
    found = []
    for n in sizes:
        words = random_sentence(rng, n)
        heads = random_tree(rng, n, projective=True)[1:]
        if crossing and n == 4:
            heads = [3, 4, 0, 3]
        labels = [str(rng.choice([*LABELS[:3], "_"])) if h else "root" for h in heads]
        found.append(Sentence.from_words(words.forms, upos=words.upos, heads=heads, deprels=labels))
    return found


def learner_of(
    sentences: Sequence[Sentence], labels: tuple[str, ...], root: int, outside: Any, **network: Any
) -> ArcLearner:
    """A learner whose weights have moved at random from where they begin."""
    config = toy.network_configuration(cutoff=1, **network).with_("model", projective=False)
    data = prepare(sentences, config.model)
    data.embeddings = outside
    learner = ArcLearner(config, data, np.arange(len(sentences)), labels, root)
    rng = np.random.default_rng(2)
    for weights in learner.learner.weights.values.values():
        weights += 0.2 * rng.standard_normal(weights.shape).astype(np.float32)
    return learner


def loss_by_definition(
    learner: ArcLearner, p: Arrays, sentences: Sequence[Sentence], trees: bool
) -> float:
    """The loss of the sentences, in double precision, by enumeration of their trees."""
    sizes, kinds = learner.learner.sizes, learner.learner.kinds
    p = {**p, "end_w": p["end_w"] * learner.share, "end_b": p["end_b"] * learner.share}
    network = ArcNetwork(
        learner.labels,
        kinds,
        sizes,
        learner.keys,
        learner.learner.vectors.weights.astype(np.int8),
        learner.learner.weights.values,
    )
    total, words = 0.0, 0
    for i, sentence in enumerate(sentences):
        n, heads = sentence.n_words, [-1, *sentence.heads]
        outside = RandomEmbeddings()([sentence])[0] if sizes["embeddings"] else None
        plain = Plain(network, sentence, outside, given=p)
        square = plain.arcs()
        words += n
        for m in range(1, n + 1):
            own = np.logaddexp.reduce(square[:, m]) - square[heads[m], m]
            total += own * (0.5 if trees else 1.0)
            label = sentence.deprels[m - 1]
            ruled = learner.root >= 0 and (heads[m] == 0 or label == learner.labels[learner.root])
            if label in learner.labels and not ruled:
                scores = plain.labels(heads[m], m)
                total += np.logaddexp.reduce(scores) - scores[learner.labels.index(label)]
        crossing = any(
            min(heads[a], a) < min(heads[b], b) < max(heads[a], a) < max(heads[b], b)
            for a in range(1, n + 1)
            for b in range(1, n + 1)
        )
        if trees and not crossing:
            least = square[:, 1:].max(axis=0) - (6.0 if i else np.inf)
            arcs = {
                (h, m)
                for h in range(n + 1)
                for m in range(1, n + 1)
                if h != m and (square[h, m] >= least[m - 1] or h == heads[m])
            }
            total -= tree_likelihood(plain, square, heads, arcs)
    return float(total) / words


def tree_likelihood(
    plain: Plain, square: np.ndarray, heads: list[int], arcs: set[tuple[int, int]]
) -> float:
    """Logarithm of the gold tree's share of all trees over candidate arcs."""
    head, mod = np.array(sorted(arcs), np.int32).T.copy()
    parts = candidate_parts(len(heads) - 1, arcs, True, True)
    sib, gc = parts["sibling"], parts["grandchild"]
    problem = Problem(
        len(heads) - 1,
        head,
        mod,
        square[head, mod],
        sib_head=[x["h"] for x in sib],
        sib_inner=[x["s"] for x in sib],
        sib_outer=[x["m"] for x in sib],
        sib_score=[plain.part("sib", x["h"], x["s"], x["m"]) for x in sib],
        gc_grand=[x["g"] for x in gc],
        gc_head=[x["h"] for x in gc],
        gc_mod=[x["m"] for x in gc],
        gc_score=[plain.part("gc", x["h"], x["g"], x["m"]) for x in gc],
    )
    scores = [score for score, _ in enumerate_trees(problem)]
    return problem.score(heads) - float(np.logaddexp.reduce(scores))


@pytest.mark.parametrize(
    ("trees", "labels", "root", "outside"),
    [
        (False, LABELS, -1, None),
        (False, (), -1, RandomEmbeddings()),
        (True, LABELS, 3, None),
        (True, LABELS, -1, RandomEmbeddings()),
        (True, (), -1, None),
    ],
)
def test_the_loss_is_as_defined_and_its_gradients_are_derivatives(
    trees: bool, labels: tuple[str, ...], root: int, outside: RandomEmbeddings | None
) -> None:
    sentences = treebank([3, 1, 4, 4, 3], crossing=True)
    learner = learner_of(sentences, labels, root, outside)
    w, chosen = learner.learner.weights, [0, 2, 1, 3, 4]
    w.values["arc_out"] *= 4.0  # the first sentence has arcs in its trees that others would not
    assert sum(not one.is_whole for one in learner.examples) == 2
    sentences = [sentences[i] for i in chosen]
    rows, found = learner.loss(chosen, trees, noisy=False)
    p = {name: array.astype(float) for name, array in w.values.items()}
    p["vectors"] = learner.learner.vectors.weights.astype(float)

    def loss() -> float:
        return loss_by_definition(learner, p, sentences, trees)

    assert found == pytest.approx(loss(), rel=1e-4)
    gradients = {**w.gradients, "vectors": learner.learner.vectors.gradient}
    silent = {name for name in p if not trees and name.startswith(("sib_", "gc_", "none"))}
    silent |= set() if labels else {"label_w", "label_b"}
    assert not any(gradients[name].any() for name in silent)
    own = {name: array for name, array in p.items() if name not in silent}
    assert_derivatives(loss, own, gradients, np.random.default_rng(3), 4)
    # gradients are added to those there are
    before = {name: gradient.copy() for name, gradient in gradients.items()}
    again, other = learner.loss(chosen, trees, noisy=False)
    assert np.array_equal(rows, again) and other == found
    assert all(np.allclose(gradients[name], 2.0 * before[name], atol=1e-6) for name in p)


def test_gradients_are_those_of_what_dropout_leaves() -> None:
    learner = learner_of(treebank([3, 1, 6, 9, 12]), LABELS, -1, RandomEmbeddings())

    def loss() -> float:
        learner.learner.noise.random = np.random.default_rng(4)
        return learner.loss(range(5), True)[1]

    assert loss() != learner.loss(range(5), True, noisy=False)[1]
    assert_gradients(learner.learner, loss, 5e-4, 1e-3, 2e-3, rel=0.02)


@pytest.mark.parametrize("outside", [None, RandomEmbeddings()])
def test_learning_and_parsing_have_the_same_scores(outside: RandomEmbeddings | None) -> None:
    config = toy.network_configuration()
    sentences = toy.sentences()[:12]
    data = prepare(sentences, config.model)
    data.embeddings = outside
    labels = tuple(labels_of(sentences))
    network = ArcLearner(config, data, np.arange(12), labels).learn(2)
    # the same for all heads of a word: nothing but rounding would move it
    assert not network.weights.values["end_b"][: network.sizes["biaffine_dim"]].any()
    network.weights = network.weights._replace(matrices={})  # learning is in floats
    learner = ArcLearner(config, data, np.arange(12), labels)
    for name, array in network.weights.values.items():
        learner.learner.weights.values[name][:] = array
    learner.share[:] = 1.0  # it is part of the network's weights
    learner.learner.vectors.weights[:] = network.vectors * QUANTUM
    total = 0.0
    scores = network(data.sentences, None if outside is None else outside(sentences))
    for one, sentence in zip(scores.sentences(), sentences):
        head, mod = np.array(sentence.heads, np.int32), np.arange(1, sentence.n_words + 1)
        total -= one.log_probabilities(head, mod.astype(np.int32)).sum()
        own = one.label_scores(head, mod.astype(np.int32)).astype(float)
        right = [labels.index(label) for label in sentence.deprels]
        total += (np.logaddexp.reduce(own, axis=1) - own[mod - 1, right]).sum()
    words = sum(s.n_words for s in sentences)
    _, found = learner.loss(range(12), False, noisy=False)
    assert found == pytest.approx(total / words, rel=1e-3)


def test_it_learns_its_training_sentences() -> None:
    config = toy.network_configuration(epochs=25)
    sentences = toy.sentences()[:30]
    data, labels = prepare(sentences, config.model), tuple(labels_of(sentences))
    network = ArcLearner(config, data, np.arange(30), labels).learn(25)
    maker = ProblemMaker(config, network)
    assert unlabelled_accuracy(maker, sentences) > 0.95
    right = 0
    for scored in maker(sentences):
        found = network.tree_scores(scored, np.array([-1, *scored.sentence.heads], np.int32))
        names = [network.labels[i] for i in found.argmax(axis=1)]
        right += sum(a == b for a, b in zip(names, scored.sentence.deprels))
    assert right > 0.75 * sum(s.n_words for s in sentences)


def bytes_of(network: ArcNetwork) -> bytes:
    return archive_bytes("network", network.to_fields())


def digest(config: Configuration, seed: int = 1, epochs: int = 2) -> bytes:
    config = config.with_("learning", seed=seed)
    sentences = toy.sentences()[:12]
    data = prepare(sentences, config.model)
    labels = tuple(labels_of(sentences))
    return bytes_of(ArcLearner(config, data, np.arange(12), labels).learn(epochs))


THREADS = """
from hashlib import blake2b
from tests import toy
from tests.models.learning.test_arc_network import digest
print(blake2b(digest(toy.network_configuration())).hexdigest())
"""


def test_the_same_seed_gives_the_same_bytes_however_many_threads_there_are() -> None:
    config = toy.network_configuration()
    one = digest(config)
    assert digest(config) == one
    assert digest(config, seed=5) != one
    assert digest(config, epochs=3) != one
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    path = os.pathsep.join([os.getcwd(), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **dict.fromkeys(names, "1"), "PYTHONPATH": path},
    )
    assert done.stdout.strip() == blake2b(one).hexdigest()
