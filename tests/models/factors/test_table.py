from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.factors import FactorBatch
from bbparse.models.factors.batch import FactorCounter
from bbparse.models.factors.table import FactorTable
from bbparse.runtime.errors import FactorError

U64 = st.integers(0, 2**64 - 1)
# Keys that share low and high bits, so that slots collide.
KEYS = st.one_of(
    U64,
    st.integers(0, 40),
    st.integers(0, 40).map(lambda x: x << 58),
    st.integers(0, 40).map(lambda x: x << 20),
)


def batch_of(*features: list[int]) -> FactorBatch:
    """Factors over two arcs each with these keys."""
    return FactorBatch.from_lists(
        [[2 * f, 2 * f + 1] for f in range(len(features))], [[keys] for keys in features]
    )


def table_of(weights: dict[int, float]) -> FactorTable:
    keys = sorted(weights)
    return FactorTable(np.array(keys, np.uint64), weights=[weights[key] for key in keys])


@given(st.dictionaries(KEYS, st.integers(-9, 9), max_size=60), st.lists(KEYS, max_size=60))
def test_keys_are_found_exactly(weights: dict[int, float], others: list[int]) -> None:
    table = table_of(weights)
    assert len(table) == len(weights)
    asked = [*weights, *others]
    positions = table.find(np.array(asked, np.uint64))
    for key, position in zip(asked, positions.tolist()):
        if key in weights:
            assert table.keys[position] == key
            assert table.weights[position] == weights[key]
        else:
            assert position == -1


@given(
    st.dictionaries(KEYS, st.integers(-2, 2), max_size=20),
    st.lists(st.lists(KEYS, max_size=6), max_size=10),
)
def test_a_factor_scores_the_sum_of_its_known_features(
    weights: dict[int, float], features: list[list[int]]
) -> None:
    features = features + [list(weights)[:3], list(weights)[:1] * 2]
    table, batch = table_of(weights), batch_of(*features)
    expected = [sum(weights.get(key, 0) for key in keys) for keys in features]
    alive = batch.known(table).scored(table.weights)[0]
    chosen = [f for f, score in enumerate(expected) if score]
    assert alive.score.tolist() == [expected[f] for f in chosen]
    assert alive.arcs.tolist() == [arc for f in chosen for arc in (2 * f, 2 * f + 1)]
    assert alive.ptr.tolist() == list(range(0, 2 * len(chosen) + 1, 2))
    assert (alive.ptr.dtype, alive.arcs.dtype, alive.score.dtype) == (
        np.int64,
        np.int32,
        np.float64,
    )


@pytest.mark.parametrize("cutoff", [1, 2, 3])
def test_the_counter_counts_trees(cutoff: int) -> None:
    rng = np.random.default_rng(2)
    counter, expected = FactorCounter(), Counter[int]()
    for _ in range(30):
        families = []
        for family in range(2):
            keys = [
                [int(key) * 2 + family for key in rng.integers(0, 25, rng.integers(0, 4))]
                for _ in range(rng.integers(0, 4))
            ]
            families.append(batch_of(*keys))
            expected.update({key for factor in keys for key in factor})
        counter.add(families)
    table = counter.table(cutoff)
    assert table.keys.tolist() == sorted(k for k, count in expected.items() if count >= cutoff)
    assert not table.weights.any()
    # A table does not end the counting.
    assert counter.table(1).keys.tolist() == sorted(expected)


def test_pruning_drops_what_weighs_nothing() -> None:
    pruned = table_of({1: 0.0, 2: 1.5, 3: -1.0}).pruned()
    assert pruned.keys.tolist() == [2, 3]
    assert pruned.weights.tolist() == [1.5, -1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.array([2, 1], np.uint64),), "strictly ascending"),
        ((np.array([1, 1], np.uint64),), "strictly ascending"),
        ((np.array([1], np.uint64), [np.nan]), "weights .* finite"),
        ((np.array([1], np.uint64), [np.inf]), "weights .* finite"),
    ],
)
def test_arrays_that_do_not_fit_are_named(arguments: tuple, message: str) -> None:
    with pytest.raises(FactorError, match=message):
        FactorTable(*arguments)
