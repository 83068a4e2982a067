"""Whether a tree may break a rule at all: of nearly all trees a kernel says no, in microseconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbparse.jit import kernel
from bbparse.validity.check import RuledSentence


def may_break(ruled: RuledSentence, heads: Sequence[int], labels: Sequence[str]) -> bool:
    """Whether `RuledSentence.faults` may find anything in a tree, whose arguments these are."""
    rules = ruled.rules
    if rules.bits.functions:
        return True
    width = rules.kinds.shape[1]
    of_labels = b"".join([row for _, row in rules.bits.of_labels(labels)])
    of_words = b"".join([word.row for word in ruled.words])
    return bool(
        _may_break(
            np.array(heads, np.int32),
            np.frombuffer(of_labels, np.uint64).reshape(-1, 2, width),
            np.frombuffer(of_words, np.uint64).reshape(-1, 4, width),
            rules.sides, rules.kinds,
        )
    )  # fmt: skip


@kernel
def _may_break(heads, labels, words, sides, kinds):
    """Exceptions of rules are not looked at.

    The uint64 arrays have bits of entries: of those whose first and whose second arc labels[n, 2]
    allow, words[n + 1, 4] as heads and then as modifiers, and sides[2, 2], left and right; and of
    those of each of `KINDS`, kinds[5].
    """
    n = heads.shape[0]
    for w in range(kinds.shape[1]):
        alone, below, beside = kinds[0, w], kinds[1, w], kinds[2, w]
        inside, crossing = kinds[3, w], kinds[4, w]
        first, second = np.zeros(n + 1, np.uint64), np.zeros(n + 1, np.uint64)
        for m in range(1, n + 1):
            h, own = heads[m - 1], labels[m - 1]
            if h >= 0:
                side = sides[0] if m < h else sides[1]
                first[m] = own[0, w] & words[h, 0, w] & words[m, 2, w] & side[0, w]
                second[m] = own[1, w] & words[h, 1, w] & words[m, 3, w] & side[1, w]
            if first[m] & alone:
                return True
        firsts, seconds = np.zeros(n + 1, np.uint64), np.zeros(n + 1, np.uint64)  # of each head
        for m in range(1, n + 1):
            h = heads[m - 1]
            if h >= 0:
                one, other = first[m] & beside, second[m] & beside
                if first[h] & second[m] & below or one & seconds[h] or other & firsts[h]:
                    return True
                firsts[h] |= one
                seconds[h] |= other
            if not first[m] & (inside | crossing):
                continue
            low, high = min(h, m), max(h, m)
            for x in range(1, n + 1):
                g, both = heads[x - 1], first[m] & second[x]
                among = low < x < high
                if both & inside and among:
                    return True
                cross = among != (low < g < high) and low != g != high and low != x != high
                if both & crossing and cross:
                    return True
    return False
