"""Validity rules, and their conditions on labelled arcs: all conditions are evaluated at once.

A condition is a text such as ``label=det side=left mod.upos!=DET|PRON``: tests with spaces between,
all of which have to hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product, repeat
from typing import Any, NamedTuple, Self

from bbparse.treebank import Sentence

#: Columns of a word that conditions may name.
COLUMNS = ("upos", "pos", "xpos", "form", "lemma", "feats", "misc")
#: UPOS, XPOS, form, lemma, FEATS and MISC of the artificial root, which precedes the first word.
ROOT = ("ROOT",) * 6
UPOS = tuple(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
RELATIONS = tuple(
    """acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
    dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis
    punct reparandum root vocative xcomp""".split()
)

_TEST = re.compile(rf"(label|side|(?:head|mod)\.(?:{'|'.join(COLUMNS)}))(!?=)(.*)", re.DOTALL)

#: A condition in Python: a function of a sentence, a head, a modifier and a label.
ArcFunction = Callable[[Sentence, int, int, str], bool]


class ConditionError(ValueError):
    """An error in the text of a condition."""


class Test(NamedTuple):
    """A test whether a value is (or, negated, is not) one of several."""

    attribute: str
    values: tuple[str, ...]
    negated: bool


@dataclass(frozen=True)
class ArcCondition:
    """A condition on an arc: all tests hold."""

    tests: tuple[Test, ...]

    @classmethod
    def parse(
        cls, text: str, relations: Collection[str] = RELATIONS, upos: Collection[str] = UPOS
    ) -> ArcCondition:
        """Parse a condition.

        `ConditionError` if a test is malformed, or names a relation or tag that is not in the given
        ones.
        """
        tests = []
        for part in text.split():
            match = _TEST.fullmatch(part)
            if match is None:
                raise ConditionError(
                    f"found {part!r}, expected label, side, head.COLUMN or mod.COLUMN, then = or"
                    f" != and values with | between them; COLUMN is one of {', '.join(COLUMNS)}"
                )
            attribute, sign, value_text = match.groups()
            values = tuple(value_text.split("|"))
            valid: Collection[str] | None = None
            if attribute == "label":
                valid = relations
            elif attribute == "side":
                valid = ("left", "right")
            elif attribute.endswith("pos") and not attribute.endswith("xpos"):
                valid = (*upos, "ROOT") if attribute.startswith("head") else upos
            for value in values:
                name = value.partition(":")[0] if attribute == "label" else value
                if not value or (valid is not None and name not in valid):
                    expected = f": one of {', '.join(valid)}" if valid is not None else "a value"
                    raise ConditionError(f"{part!r} has {value!r}, expected {expected.strip(': ')}")
            tests.append(Test(attribute, values, sign == "!="))
        return cls(tuple(tests))

    def allows(self, known: Mapping[str, Collection[str]]) -> bool:
        """Return True if an arc may fulfil the condition, as far as the given values decide.

        `known` has values by what tests name: ``label``, ``head.upos`` and so on.
        """
        return all(
            any(value in known[attribute] for value in values) != negated
            for attribute, values, negated in self.tests
            if attribute in known
        )


class Cache(dict[Any, Any]):
    """Values of a function by its argument; emptied when they are many."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __missing__(self, key: Any) -> Any:
        if len(self) > 50_000:  # the number of forms and MISC is unlimited
            self.clear()
        value = self[key] = self._function(key)
        return value


class WordBits(NamedTuple):
    """Conditions that a word may fulfil, as a head and as a modifier."""

    head: int
    mod: int


#: Position of the second arc of a rule relative to the first; "" for rules about one arc.
KINDS = ("", "below", "beside", "inside", "crossing")

Condition = ArcCondition | ArcFunction


@dataclass(frozen=True)
class Rule:
    """A validity rule: what a tree must not have.

    Attributes
    ----------
    name : str
        Several rules may share a name.
    arc : tuple of conditions
        Alternative conditions on the arc. A condition is an `ArcCondition`, or a function of a
        sentence, a head (0: the root), a modifier and a label.
    kind : str
        One of `KINDS`: the position of a second arc, which must not occur with the first. below:
        from its modifier; beside: from its head to another word; inside: to a word between its head
        and its modifier; crossing: crossing it.
    other : tuple of conditions
        Alternative conditions on the second arc.
    unless : condition, optional
        The rule does not apply if the arc's modifier has a modifier by such an arc.
    at : {"", "head", "mod"}
        Word at which a fault is reported; "": the head for beside and inside, the second arc's
        modifier for below, and the arc's modifier for others.
    warning : bool
        Faults are reported, but trees need not keep the rule.
    says, example, source : str
        For readers: see ``ud.toml``.
    """

    name: str
    arc: tuple[Condition, ...]
    kind: str = ""
    other: tuple[Condition, ...] = ()
    unless: Condition | None = None
    at: str = ""
    warning: bool = False
    says: str = ""
    example: str = ""
    source: str = ""


class RuleCase(NamedTuple):
    """One combination of a rule's alternatives, with single conditions."""

    rule: Rule
    arc: Condition
    other: Condition | None
    unless: Condition | None


class RuleTable:
    """Several validity rules, the known relations if any, and the conditions of the rules on arcs.

    The conditions that an arc fulfils are the bits of an integer. With size entries, bits e,
    size + e and 2 size + e are the first arc, the second arc and the exception of entry e. What a
    label, a head, a modifier and a side allow is cached. A condition in Python may hold for any.
    """

    def __init__(self, rules: Iterable[Rule], relations: Collection[str] = ()) -> None:
        self.rules = tuple(rules)
        self.relations = tuple(relations)
        self.entries = [
            RuleCase(rule, arc, other, rule.unless)
            for rule in self.rules
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
        bits = [(1 << i, c) for i, c in enumerate(chain(*parts)) if c is not None]
        self._conditions = [(bit, c) for bit, c in bits if isinstance(c, ArcCondition)]
        #: Conditions in Python, by bit.
        self.functions = {bit: c for bit, c in bits if not isinstance(c, ArcCondition)}
        tests = [test for _, c in self._conditions for test in c.tests]
        columns = {test.attribute.partition(".")[2] for test in tests}
        with_pos = columns | {"upos", "feats"} if "pos" in columns else columns
        self._is_read = [name in with_pos for name in ("upos", "xpos", "form", "lemma", "feats")]
        self._misc = {v for test in tests if test.attribute.endswith(".misc") for v in test.values}
        self._items = Cache(self._items_of)
        self._of_label = Cache(self._bits_of_label)
        self._of_word = Cache(self.bits_of_key)
        #: Conditions that can hold for modifiers to the left and to the right.
        self.left = self._bits_of({"side": ("left",)})
        self.right = self._bits_of({"side": ("right",)})

    def __len__(self) -> int:
        return len(self.rules)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.rules + other.rules, dict.fromkeys(self.relations + other.relations))

    @cached_property
    def binding(self) -> Self:
        """The rules without mere warnings."""
        rules = [rule for rule in self.rules if not rule.warning]
        return self if len(rules) == len(self) else type(self)(rules, self.relations)

    def bit(self, entry: int, part: int) -> int:
        """Return the bit of a condition: the first arc (0), the second (1) or the exception (2)."""
        return 1 << part * self.size + entry

    def _bits_of(self, known: Mapping[str, Collection[str]]) -> int:
        fulfilled = [bit for bit, condition in self._conditions if condition.allows(known)]
        return sum(fulfilled, start=sum(self.functions))

    def _bits_of_label(self, label: str) -> int:
        return self._bits_of({"label": (label, label.partition(":")[0])})

    def of_labels(self, labels: Sequence[str]) -> list[int]:
        """Return the conditions that arcs with each label may fulfil."""
        return [*map(self._of_label.__getitem__, labels)]

    def of_words(self, sentence: Sentence) -> list[WordBits]:
        """Return the conditions that each word may fulfil, the root first."""
        miscs = self._miscs_of(sentence) if self._misc else repeat("")
        return [*map(self._of_word.__getitem__, self.keys_of(sentence, miscs))]

    def keys_of(
        self, sentence: Sentence, miscs: Iterable[str | None] = repeat(None)
    ) -> Iterator[tuple[str | None, ...]]:
        """Yield what conditions name of each word, the root first; a MISC of None is unknown."""
        columns = [sentence.upos, sentence.xpos, sentence.forms, sentence.lemmas, sentence.feats]
        keys = zip(
            *(column if is_read else repeat("") for column, is_read in zip(columns, self._is_read)),
            miscs,
        )
        return chain([ROOT], islice(keys, sentence.n_words))

    def _miscs_of(self, sentence: Sentence) -> list[str]:
        """Return the items of MISC that conditions name, by word."""
        lines, items = sentence.lines, self._items
        return [items[(line := lines[i])[line.rfind("\t") + 1 :]] for i in sentence.word_lines]

    def _items_of(self, misc: str) -> str:
        """Return the items of a MISC column that conditions name.

        Other items, which every word may have, would make words harder to cache.
        """
        return "|".join([item for item in misc.rstrip("\r").split("|") if item in self._misc])

    def bits_of_key(self, word: tuple[Any, ...]) -> WordBits:
        """Return the conditions that a word of `keys_of` may fulfil."""
        upos, xpos, form, lemma, feats, misc = word
        external = [value for value in feats.split("|") if value.startswith("ExtPos=")]
        pos = external[0].partition("=")[2] if external else upos
        columns: dict[str, Sequence[str]] = dict(
            upos=[upos], pos=[pos], xpos=[xpos], form=[form], lemma=[lemma],
            feats=feats.split("|"),
        )  # fmt: skip
        if misc is not None:
            columns["misc"] = misc.split("|")
        return WordBits(*(
            self._bits_of({f"{role}.{name}": values for name, values in columns.items()})
            for role in ("head", "mod")
        ))
