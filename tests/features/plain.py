"""The families of QL13 §4.3 in plain Python, straight from their definitions."""

from __future__ import annotations

from itertools import combinations

Arc = tuple[int, int]


def siblings(arcs: list[Arc], size: int) -> list[tuple[Arc, ...]]:
    """Sets of so many arcs with one head."""
    return [
        tuple(sorted(chosen))
        for chosen in combinations(arcs, size)
        if len({h for h, _ in chosen}) == 1
    ]


def chains(arcs: list[Arc], size: int) -> list[tuple[Arc, ...]]:
    """Chains of so many arcs, from the top down, that a projective tree may hold."""
    found: list[tuple[Arc, ...]] = [(arc,) for arc in arcs]
    for _ in range(size - 1):
        found = [(*chain, arc) for chain in found for arc in arcs if arc[0] == chain[-1][1]]
    return [chain for chain in found if is_projective(chain)]


def is_projective(chain: tuple[Arc, ...]) -> bool:
    """Whether the words of a chain differ and no arc of it passes over a word above its head."""
    words = [chain[0][0], *(m for _, m in chain)]
    if len(set(words)) < len(words):
        return False
    return not any(
        min(h, m) < above < max(h, m)
        for place, (h, m) in enumerate(chain)
        for above in words[:place]
    )


def nephews(arcs: list[Arc]) -> list[tuple[Arc, ...]]:
    """Arcs h → s, h → m, m → c that a projective tree may hold."""
    found = []
    for h, s in arcs:
        for m, c in arcs:
            words = {h, s, m, c}
            if (h, m) not in arcs or len(words) < 4:
                continue
            low, high = min(m, c), max(m, c)
            if not any(low < other < high for other in (h, s)):
                found.append(((h, s), (h, m), (m, c)))
    return found


def combs(arcs: list[Arc], n_words: int, shortest: int, longest: int) -> list[tuple[Arc, ...]]:
    """Runs of adjacent words that one head has arcs to."""
    present = set(arcs)
    return [
        tuple((h, m) for m in range(first, first + length))
        for h in range(n_words + 1)
        for first in range(1, n_words + 1)
        for length in range(shortest, longest + 1)
        if all((h, m) in present for m in range(first, first + length))
    ]
