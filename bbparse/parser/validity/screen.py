"""`Screen`: which trees of a batch may break a rule, by operations on the arrays of all words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from bbparse.parser.validity.check import ones
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.arrays import Flags, Hashes, Ints, Longs
from bbparse.treebank import Sentence
from bbparse.treebank.encode import RowMemory


class Screen:
    """Screen of trees whose arcs have some labels.

    It leaves MISC, exceptions, conditions in Python and how arcs cross undecided, so that it
    suspects all trees that break a rule and a few others. The conditions that arcs fulfil as first
    and as second arc of a rule are uint64[2, K] here, a bit for each entry.
    """

    def __init__(self, rules: Rules, labels: Sequence[str]) -> None:
        self._rules = rules
        self._number = {label: i for i, label in enumerate(labels)}
        self._of_label = self._arrays(rules.of_labels(labels))
        self._of_side = self._arrays([rules.left, rules.right])
        self._kinds = {kind: self._arrays([bits])[0, 0] for kind, bits in rules.of_kind.items()}
        #: Conditions of words by their `Rules.keys_of`, as heads and as modifiers.
        self._words = RowMemory(
            lambda: lambda key: self._arrays(rules.bits_of_key(key)).ravel().tolist(),
            4 * len(self._kinds[""]), np.uint64,
        )

    def _arrays(self, conditions: Sequence[int]) -> Hashes:
        """Return conditions as uint64[len(conditions), 2, K]."""
        size = self._rules.size
        mask, width = (1 << size) - 1, 8 * (size // 64 + 1)
        parts = [bits >> at & mask for bits in conditions for at in (0, size)]
        joined = b"".join(part.to_bytes(width, "little") for part in parts)
        return np.frombuffer(joined, "<u8").reshape(len(conditions), 2, -1).astype(np.uint64)

    def __call__(
        self, sentences: Sequence[Sentence], heads: Sequence[Ints], labels: Sequence[Sequence[str]],
        projective: bool,
    ) -> Flags:
        """Return which sentences' trees may break a rule, bool[S].

        A tree is given by its heads, int32[n + 1], and the labels of the words 1 to n. With
        ``projective`` no arcs cross.
        """
        keys = [key for sentence in sentences for key in self._rules.keys_of(sentence)]
        places, rows, _ = self._words(keys)
        words = rows[places].reshape(len(keys), 2, 2, -1)
        numbers = [i for own in labels for i in (0, *map(self._number.__getitem__, own))]
        sizes = np.array([len(own) for own in heads])
        first = np.cumsum(sizes) - sizes
        head = np.concatenate(heads) + np.repeat(first, sizes)
        head[first] = first  # roots, which have no arcs, point at themselves
        side = (np.arange(len(head)) > head).astype(np.int64)
        arcs = words[head, 0] & words[:, 1] & self._of_label[numbers] & self._of_side[side]
        arcs[first] = 0
        one, two = arcs[:, 0], arcs[:, 1]
        hits = one & self._kinds[""] | one[head] & two & self._kinds["below"]
        broken = hits.any(axis=1)
        either = one | two
        for e in ones(self._rules.of_kind["beside"]):
            chosen = either[:, e // 64] >> np.uint64(e % 64) & np.uint64(1)
            broken |= np.bincount(head[chosen > 0], minlength=len(head)) > 1
        broken[self._across(arcs, head, sizes, projective)] = True
        suspected: Flags = np.logical_or.reduceat(broken, first)
        return suspected

    def _across(self, arcs: Hashes, head: Longs, sizes: Longs, projective: bool) -> Longs:
        """Return the words whose arcs may break a rule with an arc inside or across them."""
        one, two = arcs[:, 0], arcs[:, 1]
        inside, crossing = self._kinds["inside"], self._kinds["crossing"] * (not projective)
        words = np.flatnonzero((one & (inside | crossing)).any(axis=1))
        # Each of them with all words of its sentence.
        count = np.repeat(sizes, sizes)[words]
        word = np.repeat(words, count)
        start = np.repeat(np.cumsum(sizes) - sizes, sizes)[words] - (np.cumsum(count) - count)
        other = np.arange(len(word)) + np.repeat(start, count)
        at, from_ = (  # positive between the word and its head, negative beyond them
            ((end - word) * (head[word] - end))[:, np.newaxis] for end in (other, head[other])
        )
        hits = (at > 0) * inside | (np.sign(at) * np.sign(from_) < 0) * crossing
        found: Longs = word[(one[word] & two[other] & hits).any(axis=1)]
        return found


@lru_cache(8)
def screen_of(rules: Rules, labels: tuple[str, ...]) -> Screen:
    """Return the screen for rules and labels; the last ones are kept."""
    return Screen(rules, labels)
