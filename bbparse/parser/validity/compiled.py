"""`CompiledRules`: validity rules with their conditions on arcs as bits, all evaluated at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product, repeat, starmap
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.parser.validity.conditions import KINDS, ArcCondition, Rule, Test
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import AnyTree, miscs

#: Name of a column in conditions → its name in `Sentence`.
_COLUMNS = {"upos": "upos", "feats": "feats", "xpos": "xpos", "form": "forms", "lemma": "lemmas"}
#: All values of the artificial root, which precedes the first word.
_ROOT = "ROOT"


class WordBits(NamedTuple):
    """Conditions that a word may fulfil, as a head and as a modifier."""

    head: int
    mod: int


class RuleCase(NamedTuple):
    """One combination of a rule's alternatives, with single conditions."""

    rule: Rule
    arc: ArcCondition
    other: ArcCondition | None
    unless: ArcCondition | None


class CompiledRules:
    """The entries of validity rules, and the conditions on arcs as the bits of an integer.

    With size entries, bits e, size + e and 2 size + e are the first arc, the second arc and the
    exception of entry e. What a label, a head, a modifier and a side allow is cached.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.entries = [
            RuleCase(rule, arc, other, rule.unless)
            for rule in rules
            for arc, other in product(rule.arc, rule.other or (None,))
        ]
        self.size = len(self.entries)
        #: Kind → its entries, as bits.
        self.of_kind = {
            kind: sum(1 << i for i, e in enumerate(self.entries) if e.rule.kind == kind)
            for kind in KINDS
        }
        #: Entries about one arc without an exception.
        self.alone = sum(
            1 << i for i, e in enumerate(self.entries) if not e.rule.kind and e.unless is None
        )
        #: Entries with the same condition on both arcs, which may change places.
        self.mutual = sum(
            1 << i for i, e in enumerate(self.entries) if e.arc == e.other and e.unless is None
        )
        parts = zip(*(entry[1:] for entry in self.entries))
        conditions = [(1 << i, c) for i, c in enumerate(chain(*parts)) if c is not None]
        tests = [test for _, c in conditions for test in c.tests]
        self._all = sum(bit for bit, _ in conditions)
        #: Tests of each attribute, with the bits of their conditions.
        self._tests: dict[str, list[tuple[int, Test]]] = {test.attribute: [] for test in tests}
        for bit, condition in conditions:
            for test in condition.tests:
                self._tests[test.attribute].append((bit, test))
        columns = {"upos", "feats", *(test.attribute.partition(".")[2] for test in tests)}
        self._names = [name for name in _COLUMNS if name in columns]
        self._columns = attrgetter(*(_COLUMNS[name] for name in self._names))
        self._misc = {v for test in tests if test.attribute.endswith(".misc") for v in test.values}
        cached = lru_cache(50_000)  # the number of forms and MISC is unlimited
        self._items, self._of_word = cached(self._items_of), cached(self._bits_of_word)
        #: Label → conditions that arcs with it may fulfil.
        self.of_label = cached(
            lambda label: self._bits_of({"label": (label, label.partition(":")[0])})
        )
        self._allowed = cached(self._allowed_by)
        self._word_bytes = cached(
            lambda word: b"".join(map(self._as_bytes, self._bits_of_word(word)))
        )
        self._label_bytes = cached(lambda label: self._as_bytes(self.of_label(label)))
        #: Conditions that can hold for modifiers to the left and to the right.
        self.left = self._bits_of({"side": ("left",)})
        self.right = self._bits_of({"side": ("right",)})

    def bit(self, entry: int, part: int) -> int:
        """Return the bit of a condition: the first arc (0), the second (1) or the exception (2)."""
        return 1 << part * self.size + entry

    def _bits_of(self, known: Mapping[str, tuple[str, ...]]) -> int:
        """Return the conditions that an arc may fulfil, as far as known values decide."""
        bits = self._all
        for allowed in starmap(self._allowed, known.items()):
            bits &= allowed
        return bits

    def _allowed_by(self, attribute: str, values: tuple[str, ...]) -> int:
        """Return the conditions that the values of one attribute allow."""
        bits = self._all
        for bit, test in self._tests.get(attribute, ()):
            if {*values}.isdisjoint(test.values) != test.negated:
                bits &= ~bit
        return bits

    def of_words(self, sentence: Sentence) -> list[WordBits]:
        """Return the conditions that each word may fulfil, the root first."""
        items = map(self._items, miscs(sentence) if self._misc else repeat(""))
        root = (_ROOT,) * (len(self._names) + 1)
        return [*map(self._of_word, chain([root], zip(*self._columns(sentence), items)))]

    def _items_of(self, misc: str) -> str:
        """Return the items of MISC that conditions name; others would make words hard to cache."""
        return "|".join([item for item in misc.rstrip("\r").split("|") if item in self._misc])

    def _bits_of_word(self, word: tuple[str, ...]) -> WordBits:
        """Return the conditions that a word may fulfil: its columns, and MISC if it is known."""
        columns = dict[str, tuple[str, ...]](zip(self._names, zip(word)))
        (upos,), (feats,) = columns["upos"], columns["feats"]
        external = [value for value in feats.split("|") if value.startswith("ExtPos=")]
        columns["pos"] = (external[0].partition("=")[2] if external else upos,)
        columns["feats"] = tuple(feats.split("|"))
        for misc in word[len(self._names) :]:
            columns["misc"] = tuple(misc.split("|"))
        head, mod = (
            self._bits_of({f"{role}.{name}": values for name, values in columns.items()})
            for role in ("head", "mod")
        )
        return WordBits(head, mod)

    def _as_bytes(self, bits: int) -> bytes:
        """Return conditions on a first arc and on a second one, in whole numbers of 64 bits."""
        parts, width = (bits, bits >> self.size), -(-self.size // 64) * 8
        return b"".join([(own & (1 << self.size) - 1).to_bytes(width, "little") for own in parts])

    def suspects(self, trees: Sequence[AnyTree]) -> list[int]:
        """Return the numbers of those of some projective trees that may break a rule.

        This is a quick test of all words at once, without MISC and exceptions.
        """
        words: list[tuple[str, ...]] = []
        labels, rows, starts = list[str](), list[int](), list[int]()
        for sentence, tree, names in trees:
            starts.append(len(words))
            words.append((_ROOT,) * len(self._names))
            words += zip(*self._columns(sentence))
            labels += ("", *names)
            rows += (starts[-1], *map(starts[-1].__add__, tree))
        heads, count = np.array(rows), len(rows)

        def flags(parts: Iterable[bytes], *shape: int) -> NDArray[np.uint64]:
            return np.frombuffer(b"".join(parts), np.uint64).reshape(*shape, 2, -1)

        of_words = flags(map(self._word_bytes, words), count, 2)
        arcs = of_words[heads, 0] & of_words[:, 1] & flags(map(self._label_bytes, labels), count)
        left, right = flags(map(self._as_bytes, (self.left, self.right)), 2)
        arcs &= np.where((np.arange(count) < heads)[:, None, None], left, right)
        arcs[starts] = 0
        alone, inside, *others = (self.of_kind[kind] for kind in ("", "inside", "below", "beside"))
        always, below, beside = flags(map(self._as_bytes, (alone | inside, *others)), 3)[:, 0]
        first, second = arcs[:, 0], arcs[:, 1]
        is_hit = (first & always | first[heads] & second & below).any(axis=1)
        near = np.flatnonzero(((first | second) & beside).any(axis=1))
        near = near[np.argsort(heads[near], kind="stable")]
        for step in range(1, len(near)):
            pairs = np.stack([near[:-step], near[step:]])
            a, b = pairs[:, heads[pairs[0]] == heads[pairs[1]]]
            if not len(a):
                break
            is_hit[b] |= ((first[a] & second[b] | second[a] & first[b]) & beside).any(axis=1)
        return [*{*(np.searchsorted(starts, np.flatnonzero(is_hit), side="right") - 1).tolist()}]
