"""Validity rules as data, and their conditions on labelled arcs.

A condition is a text such as ``label=det side=left mod.upos!=DET|PRON``: tests with spaces between,
all of which have to hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

#: Columns of a word that conditions may name.
COLUMNS = ("upos", "pos", "xpos", "form", "lemma", "feats", "misc")
UPOS = tuple(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
RELATIONS = tuple(
    """acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
    dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis
    punct reparandum root vocative xcomp""".split()
)

_TEST = re.compile(rf"(label|side|(?:head|mod)\.(?:{'|'.join(COLUMNS)}))(!?=)(.*)", re.DOTALL)


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
        """Parse a condition; `ConditionError` for unknown tests, relations and tags."""
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
                    expected = f"one of {', '.join(valid)}" if valid is not None else "a value"
                    raise ConditionError(f"{part!r} has {value!r}, expected {expected}")
            tests.append(Test(attribute, values, sign == "!="))
        return cls(tuple(tests))


#: Position of the second arc of a rule relative to the first; "" for rules about one arc.
KINDS = ("", "below", "beside", "inside", "crossing")


@dataclass(frozen=True)
class Rule:
    """A validity rule: what a tree must not have."""

    name: str  #: Several rules may share a name.
    arc: tuple[ArcCondition, ...]  #: Alternative conditions on the arc.
    #: One of `KINDS`: the position of a second arc, which must not occur with the first. below:
    #: from its modifier; beside: from its head to another word; inside: to a word between its head
    #: and its modifier; crossing: crossing it.
    kind: str = ""
    other: tuple[ArcCondition, ...] = ()  #: Alternative conditions on the second arc.
    #: The rule does not apply if the arc's modifier has a modifier by such an arc.
    unless: ArcCondition | None = None
    #: Word at which a fault is reported, head or mod; "": the head for beside and inside, the
    #: second arc's modifier for below, and the arc's modifier for others.
    at: str = ""
    warning: bool = False  #: Faults are reported, but trees need not keep the rule.
    #: For readers: see ``ud.toml``.
    says: str = ""
    example: str = ""
    source: str = ""
