"""`CompiledRules`: validity rules with their conditions on arcs as bits, all evaluated at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain, islice, product, repeat, starmap
from typing import NamedTuple

from bbparse.parser.validity.conditions import KINDS, ArcCondition, Rule, Test
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import miscs

#: UPOS, XPOS, form, lemma, FEATS and MISC of the artificial root, which precedes the first word.
_ROOT = ("ROOT",) * 6


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
        columns = {test.attribute.partition(".")[2] for test in tests}
        with_pos = columns | {"upos", "feats"} if "pos" in columns else columns
        self._reads = [name in with_pos for name in ("upos", "xpos", "form", "lemma", "feats")]
        self._misc = {v for test in tests if test.attribute.endswith(".misc") for v in test.values}
        cached = lru_cache(50_000)  # the number of forms and MISC is unlimited
        self._items, self._of_word = cached(self._items_of), cached(self._bits_of_word)
        #: Label → conditions that arcs with it may fulfil.
        self.of_label = cached(
            lambda label: self._bits_of({"label": (label, label.partition(":")[0])})
        )
        self._allowed = cached(self._allowed_by)
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
        columns = [sentence.upos, sentence.xpos, sentence.forms, sentence.lemmas, sentence.feats]
        read = [column if is_read else repeat("") for column, is_read in zip(columns, self._reads)]
        items: Iterable[str] = repeat("")
        if self._misc:
            items = map(self._items, miscs(sentence))
        keys = chain([_ROOT], islice(zip(*read, items), len(sentence.forms)))
        return [*map(self._of_word, keys)]

    def _items_of(self, misc: str) -> str:
        """Return the items of MISC that conditions name; others would make words hard to cache."""
        return "|".join([item for item in misc.rstrip("\r").split("|") if item in self._misc])

    def _bits_of_word(self, word: tuple[str, ...]) -> WordBits:
        """Return the conditions that a word with these columns may fulfil."""
        upos, xpos, form, lemma, feats, misc = word
        external = [value for value in feats.split("|") if value.startswith("ExtPos=")]
        columns = {
            "upos": (upos,),
            "pos": (external[0].partition("=")[2] if external else upos,),
            "xpos": (xpos,),
            "form": (form,),
            "lemma": (lemma,),
            "feats": tuple(feats.split("|")),
            "misc": tuple(misc.split("|")),
        }
        head, mod = (
            self._bits_of({f"{role}.{name}": values for name, values in columns.items()})
            for role in ("head", "mod")
        )
        return WordBits(head, mod)
