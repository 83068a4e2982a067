"""`TagNetwork`: what a small neural network thinks of the tags of words.

It sees of words what can be said without tags (`NETWORK_ATTRIBUTES`), and their context as the
parser's guide does (`bbparse.network.encoder`). Its scores are added to those of the layer of tags,
in the same steps, so that the best sequence is found by sums of whole numbers.

It learns UPOS, UPOS with XPOS, and FEATS at once, so that its vectors know more of a word than its
tag; but only tags are asked for afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ModelError
from bbparse.jit import kernel
from bbparse.network.dense import dense
from bbparse.network.encoder import Encoder, encoder_rules, known_rows
from bbparse.network.kernels import context
from bbparse.network.learning import Learner, Stack, label_loss, product, product_back, vocabulary
from bbparse.outside import Outside
from bbparse.storage.archive import Rule
from bbparse.tagging.encode import COLUMNS, PAD
from bbparse.tagging.layer import LAYER_QUANTUM
from bbparse.treebank import Sentence

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

#: The attributes whose vectors a word is the sum of.
NETWORK_ATTRIBUTES = (
    "form", "lower", "prefix1", "prefix2", "prefix3", "prefix4",
    "suffix1", "suffix2", "suffix3", "suffix4", "suffix5", "shape", "kinds", "habit", "style",
)  # fmt: skip
#: The first of them that are the whole word.
N_WHOLE = 2
NETWORK_COLUMNS = np.array([COLUMNS.index(name) for name in NETWORK_ATTRIBUTES], np.int64)

#: Arrays of a network, with the rules that `read_archive` checks them by.
TAG_NETWORK_ARRAYS: dict[str, Rule] = encoder_rules("tagger_network")


@kernel
def tag_scores(
    values: NDArray[np.uint64],
    encoder: tuple[Any, ...],
    ends: tuple[Any, ...],
    n_labels: int,
    steps: float,
    outside: Floats,
) -> Ints:
    """Scores of the labels of words in whole steps, int32[n, n_labels]; `steps` make 1."""
    end_w, end_b, label_w, label_b = ends
    state = context(values, encoder, outside)
    n = values.shape[0] - 2 * PAD
    fours = (n + 3) & -4  # what `dense` does at once
    width, size = end_w.shape
    hidden = np.empty((fours, size), np.float32)
    dense(state, width, width, width, end_w, end_b, hidden)
    flat = np.empty(fours * size, np.float32)
    for i in range(fours):
        for j in range(size):
            flat[i * size + j] = max(hidden[i, j], np.float32(0.0))
    labels = np.empty((fours, label_w.shape[1]), np.float32)
    dense(flat, 0, size, size, label_w, label_b, labels)
    out = np.empty((n, n_labels), np.int32)
    for i in range(n):
        for k in range(n_labels):
            out[i, k] = np.int32(np.rint(labels[i, k] * np.float32(steps)))
    return out


class TagNetwork(Encoder):
    """Scores of tags, which are those of the layer of tags."""

    NAME = "tagger_network"
    COLUMNS = NETWORK_COLUMNS
    SIZES = ("hidden",)  # length of the vectors that labels are told by

    @classmethod
    def shapes(cls, sizes: Sequence[int], n_labels: int) -> dict[str, tuple[int, ...]]:
        width, hidden = sizes[1], sizes[3]
        columns = -(-n_labels // 16) * 16
        return {
            **super().shapes(sizes, n_labels),
            "end_w": (width, hidden), "end_b": (hidden,),
            "label_w": (hidden, columns), "label_b": (columns,),
        }  # fmt: skip

    def scores(self, values: NDArray[np.uint64], outside: Floats | None = None) -> Ints:
        """Scores of the tags of encoded words, int32[n, L], in steps of `LAYER_QUANTUM`.

        A network that was trained with vectors from outside takes those of the words,
        float32[n, d].
        """
        given = self.given(len(values) - 2 * PAD, outside)
        steps = 1.0 / LAYER_QUANTUM
        return tag_scores(values, self.table, self.ends, len(self.labels), steps, given)

    @classmethod
    def of_tags(
        cls, tags: Sequence[str], arrays: Mapping[str, NDArray[Any]], where: str
    ) -> TagNetwork:
        """As `from_arrays`; `ModelError` if it is for other tags."""
        found = cls.from_arrays(arrays, where)
        if found.labels != tuple(tags):
            raise ModelError(f"{where}: {cls.NAME}_names are not the tags of the tagger")
        return found


Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """How the network of a tagger is trained; for the sizes see `TagNetwork`."""

    word: int = 48
    width: int = 128
    layers: int = 2
    hidden: int = 96
    #: Shares of the numbers between layers, and of the attributes of words, that are left out.
    dropout: float = 0.2
    word_dropout: float = 0.3
    #: Share of the words that are learned from as if they had never been seen: by their parts.
    unknown: float = 0.1
    #: Values of attributes that are there less often have no vectors.
    cutoff: int = 1
    #: Treebanks with more sentences have no network, unless there are vectors from outside: their
    #: layer of tags knows as much by itself.
    largest: int = 5_000
    #: Most passes over the training data, and sentences that are learned from in all.
    epochs: int = 40
    lessons: int = 100_000
    #: Sentences for each step, and Adam's step.
    batch: int = 8
    rate: float = 0.004
    #: What its scores count beside those of the layer of tags.
    weight: float = 0.5


class TagLearner(Learner):
    """A learner of several kinds of labels for each word, ``counts`` of each kind; `outside` is the
    length of vectors from outside."""

    def __init__(
        self, settings: NetworkSettings, counts: Sequence[int], n_values: int, seed: int,
        outside: int = 0,
    ) -> None:  # fmt: skip
        self.ends = np.cumsum(counts).tolist()
        fans = {"end_w": settings.width, "label_w": settings.hidden}
        super().__init__(TagNetwork, settings, self.ends[-1], fans, (), n_values, seed, outside)

    def loss(
        self, rows: Sequence[Rows], gold: Rows, dropout: bool = True,
        outside: Sequence[Floats] | None = None,
    ) -> float:  # fmt: skip
        """The loss of sentences for each of their words; adds its gradients to those there are.

        ``rows`` are those of each sentence, ``gold`` the labels of all words, int64[W, kinds],
        numbered within their kind; ``outside`` vectors of them, of each sentence.
        """
        p, g = self.p, self.g
        drop = self.settings.dropout if dropout else 0.0
        stack = Stack(rows, outside)
        if dropout:
            unknown = self.kept((len(stack.rows), 1), self.settings.unknown) == 0.0
            stack.rows[:, :N_WHOLE] = np.where(unknown, -1, stack.rows[:, :N_WHOLE])
        words = np.flatnonzero(stack.mask)
        state, tape = self.up(stack, dropout)
        kept = self.kept(state.shape, drop)
        own = np.ascontiguousarray((state * kept)[words])
        hidden = product(own, p["end_w"], p["end_b"])
        active = self.kept(hidden.shape, drop) * (hidden > 0.0)
        hidden *= active
        scores = product(hidden, p["label_w"], p["label_b"])
        *kinds, rest = np.split(scores, self.ends, axis=1)
        loss = sum(label_loss(own, right) for own, right in zip(kinds, gold.T))
        rest[:] = 0.0
        scores /= np.float32(len(words))
        d_hidden = product_back(hidden, p["label_w"], scores, g["label_w"], g["label_b"])
        d_own = product_back(own, p["end_w"], d_hidden * active, g["end_w"], g["end_b"])
        d_state = np.zeros_like(state)
        d_state[words] = d_own
        self.down(d_state * kept, tape)
        return loss / len(words)


def train_tag_network(
    values: Sequence[NDArray[np.uint64]],
    columns: Sequence[Sequence[Sequence[str]]],
    labels: Sequence[str],
    settings: NetworkSettings,
    seed: int,
    sentences: Sequence[Sentence] = (),
    outside: Outside | None = None,
) -> TagNetwork:
    """Train a network on encoded sentences, and on columns of each: first the tags, which are all
    in ``labels``, then what else is to be learned. Vectors from outside are asked for sentence by
    sentence."""
    kinds = [
        {label: i for i, label in enumerate(known)}
        for known in (labels, *(sorted(set().union(*some)) for some in [*zip(*columns)][1:]))
    ]
    gold = [
        np.array([[kind[x] for x in column] for kind, column in zip(kinds, some)], np.int64).T
        for some in columns
    ]
    keys = vocabulary(values, NETWORK_COLUMNS, settings.cutoff)
    rows = [known_rows(some, keys, NETWORK_COLUMNS) for some in values]
    width = 0 if outside is None else outside.width
    learner = TagLearner(settings, [len(kind) for kind in kinds], len(keys), seed, width)

    def learn_from(some: list[int]) -> float:
        more = None if outside is None else outside([sentences[i] for i in some])
        right = np.concatenate([gold[i] for i in some])
        return learner.loss([rows[i] for i in some], right, outside=more)

    epochs = min(settings.epochs, -(-settings.lessons // len(rows)))
    vectors, learned = learner.learn(
        np.arange(len(rows)), epochs, settings.batch, settings.rate, seed, learn_from, "network",
    )  # fmt: skip
    # what was learned beside the tags has served its purpose
    shapes = TagNetwork.shapes(learner.sizes, len(labels))
    for name in ("label_w", "label_b"):
        size = shapes[name][-1]
        part = np.zeros(shapes[name], np.float32)
        part[..., : len(labels)] = learned[name][..., : len(labels)] * np.float32(settings.weight)
        learned[name] = part[..., :size]
    return TagNetwork(labels, learner.sizes, keys, vectors, learned)
