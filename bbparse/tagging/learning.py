"""Training of one layer of the tagger.

A sentence is decoded with a cost for every wrong label; where the answer is wrong, features of the
right labels gain and those of the answer lose, by AdaGrad's step (Duchi et al. 2011). Weights are
whole quanta and averaged as in `bbparse.learning.trainer`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.problem.quantum import QUANTUM
from bbparse.tagging.encode import COLUMNS, PAD, TagTemplates, compile_tag_templates
from bbparse.tagging.kernels import best_first, best_sequence, sentence_keys
from bbparse.tagging.layer import LAYER_QUANTUM, MOST, Layer, Lists, Weights, flat
from bbparse.treebank.progress import watched

Ints = NDArray[np.int32]
Reals = NDArray[np.float32]

#: Weights of features there is memory for while learning, 12 bytes each.
_MOST_WEIGHTS = 1 << 27
#: Labels that may be chained: the weights of pairs are dense.
_MOST_CHAINED = 2048


@dataclass(frozen=True, slots=True)
class LayerSettings:
    """Settings of the training of a layer."""

    #: Whether labels next to each other are scored together.
    chained: bool = True
    #: Passes over the training data.
    epochs: int = 6
    #: AdaGrad's step.
    rate: float = 0.1
    #: Of a wrong label while decoding.
    cost: float = 2.0
    #: Share of the features of a word that are left out in a pass, so that others learn too.
    dropout: float = 0.1
    #: A feature takes part when so many words have it. With 2, words seen once are learned from
    #: as unknown words are tagged: without the form.
    cutoff: int = 2
    #: Smaller weights are left out in the end.
    least: float = 0.04


@dataclass(frozen=True, slots=True)
class Lesson:
    """A sentence as a layer learns from it."""

    #: uint64[n + 2 * PAD, len(COLUMNS)]: its words.
    values: NDArray[np.uint64]
    #: Candidates.
    lists: Lists
    #: int32[n]: labels.
    gold: Ints


class Learned(NamedTuple):
    """Weights in quanta, the changes of each times their moments, the squares of its gradients."""

    weights: Ints
    sums: Reals
    squares: Reals


class Step(NamedTuple):
    """How to learn from a sentence."""

    cost: int  #: What a wrong label scores too much, in quanta.
    rate: float  #: AdaGrad's step, in quanta.
    clock: int  #: Number of the sentence, for the average.


@kernel
def _change(learned: Learned, place: int, sign: int, rate: float, clock: int) -> None:
    weights, sums, squares = learned
    squares[place] += np.float32(1.0)
    step = np.int64(np.rint(sign * rate / np.sqrt(1.0 + squares[place])))
    weights[place] += step
    sums[place] += clock * step


@kernel
def _scored(
    features: Ints, candidates: Ints, gold: int, n_labels: int, cost: int, weights: Ints,
    labels: Ints, scores: NDArray[np.int64],
) -> int:  # fmt: skip
    """Write the candidates of a word, the gold label among them, and their scores; count them."""
    count = 0
    there = False
    for label in candidates:
        labels[count] = label
        there |= label == gold
        count += 1
    if not there:
        labels[count] = gold
        count += 1
    for k in range(count):
        scores[k] = 0 if labels[k] == gold else cost
    if count > 1:
        for feature in features:
            if feature >= 0:
                place = np.int64(feature) * n_labels
                for k in range(count):
                    scores[k] += weights[place + labels[k]]
    return count


@kernel
def _learn_chain(chain: Learned, gold: Ints, found: Ints, border: int, step: Step) -> None:
    """Learn from the pairs of labels in a row, those at the borders of the sentence included."""
    right_before = wrong_before = border
    for i in range(gold.shape[0] + 1):
        right = gold[i] if i < gold.shape[0] else border
        wrong = found[i] if i < gold.shape[0] else border
        if right != wrong or right_before != wrong_before:
            here = right_before * (border + 1) + right
            _change(chain, here, 1, step.rate, step.clock)
            here = wrong_before * (border + 1) + wrong
            _change(chain, here, -1, step.rate, step.clock)
        right_before, wrong_before = right, wrong


@kernel
def learn_sentence(
    features: Ints,
    candidates: tuple[Ints, Ints],
    gold: Ints,
    n_labels: int,
    most: int,
    step: Step,
    own: Learned,
    chain: Learned,
) -> int:
    """Decode a sentence and learn from it; returns its number of errors.

    Features (int32[n, T]) of -1 take no part. Of the candidates of a word (to which the gold label
    is added where it is not among them) ``most`` are kept for the search, the gold label among
    them. ``own`` has place ``feature * n_labels + label``, ``chain``, of two labels in a row,
    (n_labels + 1)² places, or one where there are none.
    """
    cand_ptr, cand_label = candidates
    n = gold.shape[0]
    n_features = features.shape[1]
    counts = np.empty(n, np.int32)
    labels = np.empty((n, most), np.int32)
    scores = np.zeros((n, most), np.int64)
    own_labels = np.empty(n_labels + 1, np.int32)
    own_scores = np.empty(n_labels + 1, np.int64)
    for i in range(n):
        count = _scored(
            features[i], cand_label[cand_ptr[i] : cand_ptr[i + 1]], gold[i], n_labels, step.cost,
            own.weights, own_labels, own_scores,
        )  # fmt: skip
        counts[i] = best_first(own_labels, own_scores, count, most)
        there = False
        for k in range(counts[i]):
            labels[i, k] = own_labels[k]
            scores[i, k] = own_scores[k]
            there |= own_labels[k] == gold[i]
        if not there:
            for k in range(most, count):
                if own_labels[k] == gold[i]:
                    labels[i, most - 1] = gold[i]
                    scores[i, most - 1] = own_scores[k]
    border = n_labels if chain.weights.shape[0] > 1 else 0
    size = border + 1
    places = np.empty(n, np.int32)
    best_sequence(counts, labels, scores, chain.weights.reshape((size, size)), places)
    errors = 0
    found = np.empty(n, np.int32)
    for i in range(n):
        found[i] = labels[i, places[i]]
        if found[i] == gold[i]:
            continue
        errors += 1
        for f in range(n_features):
            if features[i, f] >= 0:
                place = np.int64(features[i, f]) * n_labels
                _change(own, place + gold[i], 1, step.rate, step.clock)
                _change(own, place + found[i], -1, step.rate, step.clock)
    if border and errors:
        _learn_chain(chain, gold, found, border, step)
    return errors


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
    every = np.empty((int(ends[-1]), len(templates.ptr) - 1), np.uint32)
    for lesson, part in zip(lessons, np.split(every, ends[:-1])):
        pad = (len(lesson.values) - len(part)) // 2
        sentence_keys(lesson.values, pad, templates, part)
    unique, inverse, counts = np.unique(every, return_inverse=True, return_counts=True)
    while np.count_nonzero(counts >= cutoff) > most:
        cutoff += 1
    kept = counts >= cutoff
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    return unique[kept], np.split(number[inverse].reshape(every.shape), ends[:-1])


def train_layer(
    name: str,
    labels: Sequence[str],
    lists: Mapping[str, tuple[int, ...]],
    lines: Sequence[str],
    lessons: Sequence[Lesson],
    settings: LayerSettings,
    seed: int,
    scheme: tuple[Sequence[str], int] = (COLUMNS, PAD),
) -> Layer:
    """Train a layer (see `Layer`) with the templates in ``lines``; ``name`` is for progress bars.

    The seed is that of the order of lessons, and of what is dropped. The scheme is the columns of
    words, and how many words away templates may look.
    """
    columns, reach = scheme
    templates = compile_tag_templates(lines, columns, reach)
    n_labels = len(labels)
    keys, features = _known_features(
        lessons, templates, settings.cutoff, max(1, _MOST_WEIGHTS // n_labels)
    )
    candidates = [flat(lesson.lists) for lesson in lessons]
    side = n_labels + 1 if settings.chained and n_labels <= _MOST_CHAINED else 1
    own, chain = (
        Learned(np.zeros(size, np.int32), *np.zeros((2, size), np.float32))
        for size in (len(keys) * n_labels, side * side)
    )
    cost, rate = round(settings.cost / QUANTUM), settings.rate / QUANTUM
    clock = 1
    random = np.random.default_rng(seed)
    for _ in range(settings.epochs):
        for i in watched(random.permutation(len(lessons)), name):
            some = features[i]
            dropped = random.random(some.shape, np.float32) < settings.dropout
            learn_sentence(
                np.where(dropped, np.int32(-1), some), candidates[i], lessons[i].gold, n_labels,
                MOST, Step(cost, rate, clock), own, chain,
            )  # fmt: skip
            clock += 1

    used, values = _averaged(own, clock, settings.least)
    weights = Weights.from_pairs(keys[used // n_labels], used % n_labels, values, n_labels)
    bigrams = np.zeros(side * side, np.int32)
    used, values = _averaged(chain, clock, settings.least)
    bigrams[used] = values
    return Layer(labels, lists, lines, weights, bigrams.reshape((side, side)), columns, reach)
