from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bbparse_families.combs import BAG, ENDS, MAX_LENGTH, MIN_LENGTH, SEQUENCE, TEMPLATES, Combs
from tests.factors.helpers import all_arcs, random_arcs, random_sentence, view_of
from tests.features import plain
from tests.features.test_dense import factors_of, word_text


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_combs_are_the_runs_of_adjacent_modifiers(share: float) -> None:
    rng = np.random.default_rng(12)
    for n_words in (1, 3, 5, 9, 15):
        arcs = random_arcs(rng, n_words, share)
        view = view_of(random_sentence(rng, n_words), arcs)
        found = factors_of(Combs().propose(view), view)
        expected = plain.combs(arcs, n_words, MIN_LENGTH, MAX_LENGTH)
        assert Counter(found) == Counter(expected)


def test_keys_are_equal_exactly_where_templates_read_the_same() -> None:
    rng = np.random.default_rng(13)
    text_of: dict[int, tuple[object, ...]] = {}
    key_of: dict[tuple[object, ...], int] = {}
    shared = 0
    for n_words in (6, 9, 14, 14):
        sentence = random_sentence(rng, n_words)
        view = view_of(sentence, all_arcs(n_words))
        batch = Combs().propose(view)
        for f, comb in enumerate(factors_of(batch, view)):
            head, mods = comb[0][0], [m for _, m in comb]
            if mods[-1] < head:
                place = ("left", mods[-1] == head - 1)
            else:
                place = ("right", mods[0] == head + 1)
            keys = batch.feat_keys[len(TEMPLATES) * f : len(TEMPLATES) * (f + 1)].tolist()
            for (head_attribute, attribute, kind), key in zip(TEMPLATES, keys):
                texts = [word_text(sentence, m, attribute) for m in mods]
                shape: object = {
                    SEQUENCE: tuple(texts),
                    BAG: frozenset(Counter(texts).items()),
                    ENDS: (texts[0], texts[-1], len(texts)),
                }[kind]
                text = (head_attribute, attribute, kind, place,
                        word_text(sentence, head, head_attribute), shape)  # fmt: skip
                shared += text in key_of
                assert key_of.setdefault(text, key) == key
                assert text_of.setdefault(key, text) == text
    assert shared > 50
