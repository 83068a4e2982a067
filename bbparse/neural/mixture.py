"""Batches of gold examples, from a treebank, and silver ones, which a teacher has labelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from bbparse.runtime.arrays import Hashes, Longs
from bbparse.treebank.encode import HashCounter

#: Fraction of gold elements in a batch until a fraction of the steps is over, and from there on:
#: the model is the mean of the last steps, which should err as little as gold examples do.
_GOLD, _UNTIL, _LAST_GOLD = 1 / 3, 0.75, 0.6
#: Fraction of gold elements in all batches of a run.
MEAN_GOLD = _UNTIL * _GOLD + (1.0 - _UNTIL) * _LAST_GOLD
#: Silver text has many more words: attribute values that occur less often there, and are too rare
#: among gold examples, have no vectors.
_SILVER_CUTOFF = 20


def passes(n_gold: int, n_silver: int, elements: int) -> int:
    """Return the passes over gold examples in a run of so many elements (words, or characters)."""
    return max(1, round(elements * (MEAN_GOLD if n_silver else 1.0) / max(1, n_gold)))


def mixed_batches(
    sizes: Longs, n_gold: int, batch: int, steps: int, random: np.random.Generator
) -> Iterator[list[int]]:
    """Yield batches of about ``batch`` elements, with gold examples (the first) and silver ones."""
    gold, silver = _forever(n_gold, random), _forever(len(sizes) - n_gold, random)
    excess = 0.0  # gold elements beyond their fraction so far, because examples are whole
    for step in range(steps):
        fraction = _GOLD if step < _UNTIL * steps else _LAST_GOLD
        chosen: list[int] = []
        taken = 0
        while taken < fraction * batch - excess:
            chosen.append(next(gold))
            taken += int(sizes[chosen[-1]])
        excess += taken - fraction * batch
        while taken < batch:
            chosen.append(n_gold + next(silver))
            taken += int(sizes[chosen[-1]])
        yield chosen


def _forever(count: int, random: np.random.Generator) -> Iterator[int]:
    """Yield the numbers below ``count`` in random order, again and again in other orders."""
    while True:
        yield from random.permutation(count).tolist()


def vocabulary(gold: Iterable[Hashes], cutoff: int, silver: Iterable[Hashes] = ()) -> Hashes:
    """Return the attribute values that have vectors, sorted: all that are not too rare."""
    keys, counts = _counted(gold)
    frequent, times = _counted(silver)
    return np.union1d(keys[counts >= cutoff], frequent[times >= max(cutoff, _SILVER_CUTOFF)])


def _counted(values: Iterable[Hashes]) -> tuple[Hashes, Longs]:
    """Count the values of attributes."""
    counter = HashCounter()
    for words in values:
        counter.add(words.reshape(-1))
    return counter.counts()
