"""Probabilities of the grammar with words against the formula over named contexts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bbparse.grammar.grammar import (
    FACTOR,
    FLOOR,
    STATES,
    WORDS,
    Forms,
    HeadChild,
    Modifier,
    _learn_table,
    head_weight,
    modifier_weight,
)
from bbparse.grammar.words import Vocabulary

Levels = list[tuple[Any, ...]]


class WittenBell:
    """Probabilities of outcomes in contexts of several levels, the most detailed first.

    Where an event has several contexts at the next level, it has that of its first observation.
    """

    def __init__(self, observed: list[tuple[Levels, Any]]) -> None:
        self.values: dict[tuple[Any, Any], float] = {}
        self.left: dict[Any, float] = {}
        below = [FLOOR] * len(observed)
        for level in reversed(range(len(observed[0][0]))):
            events = [(contexts[level], outcome) for contexts, outcome in observed]
            count, total = Counter(events), Counter(context for context, _ in events)
            distinct = Counter(context for context, _ in count)
            for i, one in enumerate(events):
                c, u = total[one[0]], distinct[one[0]]
                self.left[one[0]] = 1 - c / (c + FACTOR * u)
                value = count[one] / (c + FACTOR * u) + self.left[one[0]] * below[i]
                self.values.setdefault(one, value)
            below = [self.values[one] for one in events]

    def __call__(self, contexts: Levels, outcome: Any) -> float:
        left = 1.0
        for context in contexts:
            if (context, outcome) in self.values:
                return left * self.values[context, outcome]
            left *= self.left.get(context, 1.0)
        return left * FLOOR


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_are_those_of_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, n_symbols, n_words = 400, 14, 4000
    plain, base = (rng.integers(0, n_symbols, n_symbols).astype(np.int32) for _ in range(2))
    forms = Forms(plain, base)
    symbols = rng.integers(0, n_symbols, (5, n))
    words = np.minimum(rng.geometric(0.02, (2, n)) * rng.integers(1, 40, (2, n)), n_words)
    heads = np.stack([symbols[0], symbols[1], symbols[2], words[0]], axis=1)
    side, state = rng.integers(0, 3, n), rng.integers(0, STATES, n)
    label = np.where(rng.random(n) < 0.3, -1, symbols[3])
    modifiers = np.stack(
        [
            side,
            symbols[0],
            symbols[1],
            state,
            symbols[2],
            words[0],
            label,
            np.where(label < 0, 0, symbols[4]),
            np.where(label < 0, 0, words[1]),
        ],
        axis=1,
    )
    table = _learn_table(heads, modifiers, forms)

    def of_head(p: int, t: int, w: int) -> Levels:
        return [("h0", p, t, w), ("h1", plain[p], t, w), ("h2", p, t), ("h3", p)]

    def of_label(s: int, p: int, h: int, z: int, t: int, w: int) -> Levels:
        z = 0 if z == STATES - 1 else z
        near, far = (s, p, h, z), (s, plain[p], plain[h], z)
        return [
            ("l0", *near, t, w),
            ("l1", *far, t, w),
            ("l2", *near, t),
            ("l3", *far, t),
            ("l4", *near),
            ("l5", *far),
            ("l6", s, base[p]),
        ]

    def of_word(child: tuple[int, ...], x: int, tag: int) -> Levels:
        s, p, h, z, t, w = child
        known, adjacent = (tag, plain[x]), z % (STATES - 1) == 0
        return [
            ("w0", *known, s, plain[p], plain[h], adjacent, t, w),
            ("w1", *known, s, base[p], t, w),
            ("w2", *known, s, base[p], t),
            ("w3", *known),
            ("w4", tag),
        ]

    rows = [tuple(row) for row in modifiers.tolist()]
    first = WittenBell([(of_head(p, t, w), h) for p, h, t, w in heads.tolist()])
    labels = WittenBell([(of_label(*row[:6]), row[6:8]) for row in rows])
    lexical = WittenBell([(of_word(row[:6], *row[6:8]), row[8]) for row in rows if row[6] >= 0])
    scratch = np.empty(7, np.uint64)
    mixed = [[*row[:6], *other[6:]] for row, other in pairwise(rows)]  # mostly unseen
    for p, h, t, w in [*heads.tolist(), *[[*a[:1], *b[1:]] for a, b in pairwise(heads)]]:
        found = head_weight(table, p, h, t, w, forms, scratch)
        assert found == pytest.approx(np.log(first(of_head(p, t, w), h)), abs=1e-4)
    for row in [*rows, *map(tuple, mixed)]:
        child, x, tag, word = row[:6], *row[6:]
        expected = np.log(labels(of_label(*child), (x, tag)))
        if x >= 0:
            expected += WORDS * np.log(lexical(of_word(child, x, tag), word))
        found = modifier_weight(table, HeadChild(*child), Modifier(x, tag, word), forms, scratch)
        assert found == pytest.approx(expected, abs=1e-4)


def test_rare_words_are_known_by_their_shape_and_place() -> None:
    words = Vocabulary.learn([["Zorro", "sees", "Jacks"], ["Aha", "sees", "3-D"]])
    known, unknown = words.numbers(["Larks", "sees", "Larks", "4-E", "!"]), 0
    assert words.entries[known[1]] == "sees" and known[4] == unknown
    assert [words.entries[i] for i in (known[0], known[2])] == ["<Fa>", "<Aa-s>"]
    assert words.entries[known[3]] == "<9aA->"
