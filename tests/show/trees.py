"""Random trees for tests of drawings."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def projective_heads(draw: st.DrawFn, most: int = 14) -> list[int]:
    """Heads of a random projective tree with one root."""
    n = draw(st.integers(1, most))
    heads = [0] * n

    def attach(first: int, last: int, above: int) -> None:
        """Let the words first..last hang from a word outside them, as a row of subtrees."""
        while first <= last:
            end = draw(st.integers(first, last))
            top = draw(st.integers(first, end))
            heads[top - 1] = above
            attach(first, top - 1, top)
            attach(top + 1, end, top)
            first = end + 1

    root = draw(st.integers(1, n))
    attach(1, root - 1, root)
    attach(root + 1, n, root)
    return heads


@st.composite
def any_heads(draw: st.DrawFn, most: int = 9) -> list[int]:
    """Heads of a random tree, crossing arcs and several roots allowed."""
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for i, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:i]])) if i else 0
    return heads
