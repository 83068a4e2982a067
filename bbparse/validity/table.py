"""Rules of valid trees and what is worked out of them, for checking and for solving."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple, Self

from bbparse.validity.conditions import ArcBits, ArcCondition, ArcFunction

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
    """Several rules, and what is worked out of them."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
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
        return type(self)(self.rules + other.rules)

    @cached_property
    def binding(self) -> Self:
        """Those that are no mere warnings."""
        kept = [rule for rule in self.rules if not rule.warning]
        return self if len(kept) == len(self) else type(self)(kept)
