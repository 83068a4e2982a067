"""Conditions on a labelled arc, as texts: ``label=det side=left mod.upos!=DET|PRON``.

All of what stands there, with spaces between, has to hold. Many conditions are looked up at once:
each is a bit of an integer, and what a label, a head, a modifier and a side allow is remembered.

A table has the rules of valid trees and what is worked out of them, for checking and for solving.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product, repeat
from typing import NamedTuple, Self

from bbparse.treebank import Sentence

#: Columns of a word that conditions may name.
COLUMNS = ("upos", "pos", "xpos", "form", "lemma", "feats", "misc")
#: What precedes the first word: the head of the sentence's root.
ROOT = ("ROOT",) * len(COLUMNS)
UPOS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
)  # fmt: skip
RELATIONS = (
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound",
    "conj", "cop", "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat",
    "goeswith", "iobj", "list", "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan",
    "parataxis", "punct", "reparandum", "root", "vocative", "xcomp",
)  # fmt: skip

_TEST = re.compile(rf"(label|side|(?:head|mod)\.(?:{'|'.join(COLUMNS)}))(!?=)(.*)", re.DOTALL)

#: A condition that a plug-in gives in Python: of a sentence, a head, a modifier and a label.
ArcFunction = Callable[[Sentence, int, int, str], bool]
Word = tuple[str, ...]


class ConditionError(ValueError):
    """What is wrong with the text of a condition."""


class Test(NamedTuple):
    """Whether a value is (or, negated, is not) one of some."""

    what: str
    values: tuple[str, ...]
    negated: bool


@dataclass(frozen=True)
class ArcCondition:
    """What an arc must be like: all tests hold."""

    tests: tuple[Test, ...]

    @classmethod
    def parse(
        cls, text: str, relations: Collection[str] = RELATIONS, upos: Collection[str] = UPOS
    ) -> ArcCondition:
        """The condition that a text states; `ConditionError` if a test is malformed, or names a
        relation or a tag that is not one of those given."""
        tests = []
        for part in text.split():
            match = _TEST.fullmatch(part)
            if match is None:
                raise ConditionError(
                    f"found {part!r}, expected label, side, head.COLUMN or mod.COLUMN, then = or"
                    f" != and values with | between them; COLUMN is one of {', '.join(COLUMNS)}"
                )
            what, sign, rest = match.groups()
            values = tuple(rest.split("|"))
            known: Collection[str] | None = None
            if what == "label":
                known = relations
            elif what == "side":
                known = ("left", "right")
            elif what.endswith("pos") and not what.endswith("xpos"):
                known = (*upos, "ROOT") if what.startswith("head") else upos
            for value in values:
                name = value.partition(":")[0] if what == "label" else value
                if not value or (known is not None and name not in known):
                    wanted = f": one of {', '.join(known)}" if known is not None else "a value"
                    raise ConditionError(f"{part!r} has {value!r}, expected {wanted.strip(': ')}")
            tests.append(Test(what, values, sign == "!="))
        return cls(tuple(tests))

    def allows(self, known: Mapping[str, Collection[str]]) -> bool:
        """Whether an arc may be meant of which we know values that tests may name: what ``label``
        is, ``head.upos`` and so on."""
        return all(
            any(value in known[what] for value in values) != negated
            for what, values, negated in self.tests
            if what in known
        )


def misc_of(sentence: Sentence, items: Collection[str]) -> list[str]:
    """Those of some items that the MISC of each word has; treebanks have others at every word."""
    found = []
    for i in sentence.word_lines:
        line, own = sentence.lines[i], ""
        for item in items:
            if item in line:
                column = line.rpartition("\t")[2].rstrip("\r").split("|")
                own = "|".join([one for one in column if one in items])
                break
        found.append(own)
    return found


class WordBits(NamedTuple):
    """Conditions that a word may fulfil, as a head and as a modifier."""

    head: int
    mod: int


class ArcBits:
    """Which of several conditions hold for an arc, as the bits of an integer.

    The conditions are those of first arcs, as many of second ones, as many of exceptions. None
    holds for no arc.
    """

    def __init__(self, conditions: Sequence[ArcCondition | ArcFunction | None]) -> None:
        self._conditions = [
            (1 << i, c) for i, c in enumerate(conditions) if isinstance(c, ArcCondition)
        ]
        self.functions = [
            (1 << i, c)
            for i, c in enumerate(conditions)
            if c is not None and not isinstance(c, ArcCondition)
        ]
        tests = [test for _, c in self._conditions for test in c.tests]
        asked = {test.what.partition(".")[2] for test in tests}
        with_pos = asked | {"upos", "feats"} if "pos" in asked else asked
        self._asked = [name in with_pos for name in ("upos", "xpos", "form", "lemma", "feats")]
        self._misc = {v for test in tests if test.what.endswith(".misc") for v in test.values}
        self._labels: dict[str, int] = {}
        self._words: dict[tuple[str, ...], WordBits] = {}
        self._numbers: dict[tuple[int, tuple[str, ...]], frozenset[int]] = {}
        self._root = self._of_word(ROOT)
        #: Those that hold for modifiers to the left and to the right.
        self.left = self._those({"side": ("left",)})
        self.right = self._those({"side": ("right",)})

    def _those(self, known: Mapping[str, Collection[str]]) -> int:
        return sum(bit for bit, condition in self._conditions if condition.allows(known))

    def of_labels(self, labels: Sequence[str]) -> list[int]:
        """Those that arcs with some labels may fulfil."""
        known = self._labels
        try:
            return [known[label] for label in labels]
        except KeyError:
            for label in {*labels} - known.keys():
                known[label] = self._those({"label": (label, label.partition(":")[0])})
        return [known[label] for label in labels]

    def labels_with(self, bits: int, labels: tuple[str, ...]) -> frozenset[int]:
        """Numbers of the labels with which arcs may fulfil one of some conditions."""
        key = bits, labels
        if key not in self._numbers:
            if len(self._numbers) > 10_000:
                self._numbers.clear()
            own = enumerate(self.of_labels(labels))
            self._numbers[key] = frozenset(i for i, held in own if held & bits)
        return self._numbers[key]

    def of_words(self, sentence: Sentence) -> list[WordBits]:
        """Those that each word, the root first, may fulfil."""
        columns = [sentence.upos, sentence.xpos, sentence.forms, sentence.lemmas, sentence.feats]
        keys = zip(
            *(column if asked else repeat("") for column, asked in zip(columns, self._asked)),
            misc_of(sentence, self._misc) if self._misc else repeat(""),
        )
        known, own = self._words, [*islice(keys, sentence.n_words)]
        try:
            return [self._root, *[known[key] for key in own]]
        except KeyError:
            if len(known) > 50_000:  # forms and MISC have no end
                known = self._words = {}
            for key in {*own} - known.keys():
                upos, xpos, form, lemma, feats, misc = key
                at = feats.find("ExtPos=")
                pos = upos if at < 0 else feats[at + 7 :].partition("|")[0]
                known[key] = self._of_word((upos, pos, xpos, form, lemma, feats, misc))
        return [self._root, *[known[key] for key in own]]

    def _of_word(self, word: Word) -> WordBits:
        columns = {
            name: value.split("|") if name in ("feats", "misc") else (value,)
            for name, value in zip(COLUMNS, word)
        }
        return WordBits(*(
            self._those({f"{role}.{name}": values for name, values in columns.items()})
            for role in ("head", "mod")
        ))


#: How the second arc of a rule lies to the first; "" is for rules about one arc.
KINDS = ("", "below", "beside", "inside", "crossing")

Condition = ArcCondition | ArcFunction


@dataclass(frozen=True)
class Rule:
    """What must not be in a tree.

    Attributes
    ----------
    name : str
        Rules may share one.
    arc : tuple of conditions
        What an arc must be like for the rule to speak of it; one of them holds. A condition is an
        `ArcCondition`, or a function of a sentence, a head (0: the root), a modifier and a label.
    kind : str
        One of `KINDS`: how a second arc lies to it, so that both must not be together. below: from
        its modifier; beside: from its head to another word; inside: to a word between its head and
        its modifier; crossing it.
    other : tuple of conditions
        What the second arc must be like.
    unless : condition, optional
        The rule does not hold where the arc's modifier has a modifier by such an arc.
    at : {"", "head", "mod"}
        Where a fault is reported; "": the head for beside and inside, the second arc's modifier for
        below, and the arc's modifier for others.
    warning : bool
        Faults are told, but trees need not keep the rule.
    says, example, source : str
        For people: see ``ud.toml``.
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


class Entry(NamedTuple):
    """One of the alternatives of a rule: single conditions."""

    rule: Rule
    arc: Condition
    other: Condition | None
    unless: Condition | None


class RuleTable:
    """Several rules, the relations that there are, if known, and what is worked out of them."""

    def __init__(self, rules: Iterable[Rule], relations: Collection[str] = ()) -> None:
        self.rules = tuple(rules)
        self.relations = tuple(relations)
        self.entries = [
            Entry(rule, arc, other, rule.unless)
            for rule in self.rules
            for arc, other in product(rule.arc, rule.other or (None,))
        ]
        self.bits = ArcBits(
            [e.arc for e in self.entries]
            + [e.other for e in self.entries]
            + [e.unless for e in self.entries]
        )
        self.size = len(self.entries)
        #: Of each kind, which entries are of it.
        self.of_kind = {
            kind: sum(1 << i for i, e in enumerate(self.entries) if e.rule.kind == kind)
            for kind in KINDS
        }
        #: Those about one arc, whatever else there is.
        self.alone = sum(
            1 << i for i, e in enumerate(self.entries) if not e.rule.kind and e.unless is None
        )
        #: Entries that ask the same of both arcs, so that these may change places.
        self.mutual = sum(
            1 << i for i, e in enumerate(self.entries) if e.arc == e.other and e.unless is None
        )

    def __len__(self) -> int:
        return len(self.rules)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.rules + other.rules, dict.fromkeys(self.relations + other.relations)
        )

    @cached_property
    def binding(self) -> Self:
        """Those that are no mere warnings."""
        kept = [rule for rule in self.rules if not rule.warning]
        return self if len(kept) == len(self) else type(self)(kept, self.relations)
