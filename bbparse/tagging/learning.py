"""Training of one layer of the tagger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bbparse.problem.quantum import QUANTUM
from bbparse.tagging.encode import COLUMNS, PAD
from bbparse.tagging.kernels import sentence_keys
from bbparse.tagging.layer import LAYER_QUANTUM, MOST, Layer, Lists, Weights, flat, template_arrays
from bbparse.tagging.learning_kernels import Learned, learn_sentence
from bbparse.tagging.templates import TagTemplates, compile_tag_templates

__all__ = ["LayerSettings", "Lesson", "train_layer"]

Ints = NDArray[np.int32]

#: Weights of features there is memory for while learning, 12 bytes each.
_MOST_WEIGHTS = 1 << 27
#: Labels that may be chained: the weights of pairs are dense.
_MOST_CHAINED = 2048


@dataclass(frozen=True, slots=True)
class LayerSettings:
    """How a layer is trained.

    Attributes
    ----------
    chained : bool
        Whether labels next to each other are scored together.
    epochs : int
        Passes over the training data.
    rate : float
        AdaGrad's step.
    cost : float
        Of a wrong label while decoding.
    dropout : float
        Share of the features of a word that are left out in a pass, so that others learn too.
    cutoff : int
        A feature takes part when so many words have it. With 2, words seen once are learned from
        as unknown words are tagged: without the form.
    least : float
        Smaller weights are left out in the end.
    """

    chained: bool = True
    epochs: int = 6
    rate: float = 0.1
    cost: float = 2.0
    dropout: float = 0.1
    cutoff: int = 2
    least: float = 0.04


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a layer learns from a sentence.

    Attributes
    ----------
    values : uint64[n + 2 * PAD, len(COLUMNS)]
        Its words.
    lists : sequence of tuples, length n
        Candidates.
    gold : int32[n]
        Labels.
    """

    values: NDArray[np.uint64]
    lists: Lists
    gold: Ints


def _untaught(size: int) -> Learned:
    return Learned(
        np.zeros(size, np.int32), np.zeros(size, np.float32), np.zeros(size, np.float32)
    )


def _averaged(learned: Learned, clock: int, least: float) -> tuple[NDArray[np.int64], Ints]:
    """Places of the averaged weights that matter, and the weights in `LAYER_QUANTUM`."""
    used = np.flatnonzero(learned.squares)
    mean = (learned.weights[used] - learned.sums[used] / clock) * (QUANTUM / LAYER_QUANTUM)
    mean[np.abs(mean) < least / LAYER_QUANTUM] = 0.0
    limits = np.iinfo(np.int16)
    values = np.clip(np.rint(mean), limits.min, limits.max).astype(np.int32)
    return used[values != 0], values[values != 0]


def _known_features(
    lessons: Sequence[Lesson], templates: TagTemplates, cutoff: int, most: int
) -> tuple[NDArray[np.uint32], list[Ints]]:
    """Keys of the features that take part, and the features of each word, -1 for the others."""
    ends = np.cumsum([len(lesson.gold) for lesson in lessons])
    every = np.empty((int(ends[-1]), len(templates.lines)), np.uint32)
    for lesson, part in zip(lessons, np.split(every, ends[:-1])):
        pad = (len(lesson.values) - len(part)) // 2
        sentence_keys(lesson.values, pad, *template_arrays(templates), part)
    unique, inverse, counts = np.unique(every, return_inverse=True, return_counts=True)
    while np.count_nonzero(counts >= cutoff) > most:
        cutoff += 1
    kept = counts >= cutoff
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    return unique[kept], np.split(number[inverse].reshape(every.shape), ends[:-1])


def train_layer(
    labels: Sequence[str],
    lists: Mapping[str, tuple[int, ...]],
    lines: Sequence[str],
    lessons: Sequence[Lesson],
    settings: LayerSettings,
    seed: int,
    tick: Callable[[], object] = lambda: None,
    columns: Sequence[str] = COLUMNS,
    reach: int = PAD,
) -> Layer:
    """Train a layer.

    Parameters
    ----------
    labels : sequence of str
    lists : mapping
        Candidates of words when the layer is used; see `Layer`.
    lines : sequence of str
        Templates.
    lessons : sequence of Lesson
    settings : LayerSettings
    seed : int
        Of the order of sentences, and of what is dropped.
    tick : callable, optional
        Called after every sentence.
    columns, reach
        See `Layer`.
    """
    templates = compile_tag_templates(lines, columns, reach)
    n_labels = len(labels)
    keys, features = _known_features(
        lessons, templates, settings.cutoff, max(1, _MOST_WEIGHTS // n_labels)
    )
    candidates = [flat(lesson.lists) for lesson in lessons]
    side = n_labels + 1 if settings.chained and n_labels <= _MOST_CHAINED else 1
    own = _untaught(len(keys) * n_labels)
    chain = _untaught(side * side)
    cost, rate = round(settings.cost / QUANTUM), settings.rate / QUANTUM
    clock = 1
    random = np.random.default_rng(seed)
    for _ in range(settings.epochs):
        for i in random.permutation(len(lessons)):
            some = features[i]
            dropped = random.random(some.shape, np.float32) < settings.dropout
            learn_sentence(
                np.where(dropped, np.int32(-1), some), *candidates[i], lessons[i].gold, n_labels,
                MOST, cost, rate, clock, own, chain,
            )  # fmt: skip
            clock += 1
            tick()

    used, values = _averaged(own, clock, settings.least)
    weights = Weights.from_pairs(keys[used // n_labels], used % n_labels, values, n_labels)
    bigrams = np.zeros(side * side, np.int32)
    used, values = _averaged(chain, clock, settings.least)
    bigrams[used] = values
    return Layer(labels, lists, lines, weights, bigrams.reshape((side, side)), columns, reach)
