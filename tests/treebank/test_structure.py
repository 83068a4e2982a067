"""Cycles and crossing arcs, against definitions that look at every pair."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from bbparse.treebank import find_cycle, is_projective
from bbparse.treebank.sentence import crossing_words


def crosses(heads: list[int]) -> bool:
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1) if h >= 0]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def has_cycle(heads: list[int]) -> bool:
    for word in range(1, len(heads) + 1):
        for _ in range(len(heads) + 1):
            if word <= 0:
                break
            word = heads[word - 1]
        if word > 0:
            return True
    return False


def check(heads: list[int]) -> None:
    assert is_projective(heads) is not crosses(heads)
    cycle = find_cycle(heads)
    assert bool(cycle) is has_cycle(heads)
    for word, head in zip(cycle, [*cycle[1:], *cycle[:1]]):
        assert heads[word - 1] == head
    assert len(set(cycle)) == len(cycle)


def test_all_heads_of_short_sentences() -> None:
    for n in range(5):
        for heads in product(range(-1, n + 1), repeat=n):
            check(list(heads))


@given(st.integers(5, 12).flatmap(lambda n: st.lists(st.integers(-1, n), min_size=n, max_size=n)))
def test_heads_of_longer_sentences(heads: list[int]) -> None:
    check(heads)


@given(st.lists(st.integers(-1, 7), min_size=7, max_size=7))
def test_words_whose_arcs_cross(heads: list[int]) -> None:
    spans = {m: (min(h, m), max(h, m)) for m, h in enumerate(heads, 1) if h >= 0}
    expected = {
        m for m, (a, b) in spans.items()
        if any(a < c < b < d or c < a < d < b for c, d in spans.values())
    }  # fmt: skip
    assert crossing_words(heads) == expected
    assert bool(expected) == crosses(heads)
