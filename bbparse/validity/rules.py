"""Rules that a tree with labels must keep, from files that a person can read, or from Python.

A rule forbids an arc, or two arcs together. ``ud.toml`` has those of Universal Dependencies, and
says at its top how rules are written; a user's file is of the same form.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from bbparse.errors import ConfigError
from bbparse.treebank import Sentence
from bbparse.validity.conditions import (
    RELATIONS,
    UPOS,
    ArcBits,
    ArcCondition,
    ArcFunction,
    ConditionError,
)

__all__ = ["KINDS", "Entry", "Rule", "Rules", "example_of", "speaks_of_ud"]

#: How the second arc of a rule lies to the first; "" is for rules about one arc.
KINDS = ("", "below", "beside", "inside", "crossing")
_TEXTS = ("name", "says", "example", "source", "at")
_CONDITIONS = ("arc", *KINDS[1:], "unless")

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


class Rules:
    """Several rules, and what is worked out of them.

    Parameters
    ----------
    rules : iterable of Rule
    """

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

    def __len__(self) -> int:
        return len(self.rules)

    def __add__(self, other: Rules) -> Rules:
        return Rules(self.rules + other.rules)

    @property
    def binding(self) -> Rules:
        """Those that are no mere warnings."""
        return Rules(rule for rule in self.rules if not rule.warning)

    @classmethod
    def load(cls, name: str) -> Rules:
        """Rules by name: ``ud``, a TOML file, or what a package has under ``bbparse.rules``.

        Raises
        ------
        ConfigError
            If there is no such file and no such name, or a file is malformed: says where, and what
            was expected.
        """
        if name == "ud":
            return cls._parsed(
                (files("bbparse.validity") / "ud.toml").read_text("utf-8"), "ud.toml"
            )
        path = Path(name)
        if path.is_file():
            try:
                return cls._parsed(path.read_text("utf-8"), str(path))
            except UnicodeDecodeError as error:
                raise ConfigError(f"{path}: byte {error.start} is not UTF-8") from None
            except OSError as error:
                raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
        plugins = {point.name: point for point in entry_points(group="bbparse.rules")}
        if name not in plugins:
            names = ", ".join(["none", "ud", *sorted(plugins)])
            raise ConfigError(f"no rules {name!r}: there is no such file, and the names are {names}")
        try:
            given = plugins[name].load()
            return given if isinstance(given, Rules) else cls(given)
        except Exception as error:
            raise ConfigError(
                f"rules {name!r} cannot be loaded: {type(error).__name__}: {error}"
            ) from error

    @classmethod
    def _parsed(cls, text: str, where: str) -> Rules:
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{where}: {error}") from None
        return cls(_rules_of(table, text.splitlines(), where))


def _rules_of(table: dict[str, Any], lines: list[str], where: str) -> list[Rule]:
    """The rules of a file's table."""
    given = table.pop("rule", [])
    relations = table.pop("relations", RELATIONS)
    upos = table.pop("upos", UPOS)
    starts = [i for i, line in enumerate(lines) if re.match(r"\s*\[\[\s*rule\s*\]\]", line)]
    if table or not isinstance(given, list) or len(starts) != len(given):
        name = next(iter(table), "rule")
        line = next((i for i, text in enumerate(lines, 1) if name in text), 1)
        raise ConfigError(
            f"{where}, line {line}: found {name!r}, expected [[rule]] tables, and perhaps"
            " relations and upos, lists of names, before them"
        )
    if not given:
        raise ConfigError(f"{where}: found no rule, expected at least one [[rule]]")

    def place(number: int, key: str) -> str:
        start = starts[number]
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        own = (i for i in range(start, end) if re.match(rf"\s*{re.escape(key)}\s*=", lines[i]))
        return f"{where}, line {next(own, start) + 1}"

    rules = []
    for number, fields in enumerate(given):
        for key, value in fields.items():
            if key not in (*_TEXTS, *_CONDITIONS, "warning"):
                known = ", ".join((*_TEXTS, *_CONDITIONS, "warning"))
                raise ConfigError(f"{place(number, key)}: unknown key {key!r}, expected {known}")
            good = (
                isinstance(value, bool) if key == "warning"
                else isinstance(value, str) if key in (*_TEXTS, "unless")
                else isinstance(value, str) or (
                    isinstance(value, list) and value and all(isinstance(v, str) for v in value)
                )
            )  # fmt: skip
            if not good:
                wanted = "true or false" if key == "warning" else "a text"
                raise ConfigError(f"{place(number, key)}: {key} is {value!r}, expected {wanted}")
        for key in ("name", "arc"):
            if not fields.get(key):
                raise ConfigError(f"{place(number, key)}: the rule has no {key}, expected one")
        kinds = [kind for kind in KINDS[1:] if kind in fields]
        if len(kinds) > 1:
            raise ConfigError(
                f"{place(number, kinds[1])}: found {' and '.join(kinds)}, expected at most one"
            )
        if fields.get("at", "head") not in ("head", "mod"):
            raise ConfigError(
                f"{place(number, 'at')}: at is {fields['at']!r}, expected head or mod"
            )
        parsed: dict[str, tuple[ArcCondition, ...]] = {}
        for key in ("arc", *kinds, "unless"):
            texts = fields.get(key, [])
            try:
                parsed[key] = tuple(
                    ArcCondition.parse(text, relations, upos)
                    for text in ([texts] if isinstance(texts, str) else texts)
                )
            except ConditionError as error:
                raise ConfigError(f"{place(number, key)}: {key}: {error}") from None
        texts = {key: fields[key] for key in ("says", "example", "source", "at") if key in fields}
        kind = kinds[0] if kinds else ""
        rules.append(
            Rule(
                fields["name"], parsed["arc"], kind, parsed.get(kind, ()),
                parsed["unless"][0] if parsed["unless"] else None,
                warning=fields.get("warning", False), **texts,
            )  # fmt: skip
        )
        if rules[-1].example:
            try:
                example_of(rules[-1])
            except ValueError as error:
                raise ConfigError(f"{place(number, 'example')}: {error}") from None
    return rules


def example_of(rule: Rule) -> Sentence:
    """The sentence that breaks a rule, with its tree.

    Raises
    ------
    ValueError
        If the text of the example is not form/UPOS/head/label words.
    """
    rows = [text.split("/") for text in rule.example.split()]
    n = len(rows)
    for row in rows:
        if not 4 <= len(row) <= 5 or not row[2].isdigit() or not 0 <= int(row[2]) <= n:
            raise ValueError(f"found {'/'.join(row)!r}, expected form/UPOS/head/label")
    extra = [row[4] if len(row) > 4 else "_" for row in rows]
    sentence = Sentence.from_words(
        [row[0] for row in rows], upos=[row[1] for row in rows], feats=extra,
        heads=[int(row[2]) for row in rows], deprels=[row[3] for row in rows],
    )  # fmt: skip
    for i, line in enumerate(sentence.lines):
        sentence.lines[i] = f"{line.rpartition(chr(9))[0]}\t{extra[i]}"
    return sentence


def speaks_of_ud(labels: Iterable[str]) -> bool:
    """Whether labels are relations of UD: those of a model that UD's rules make sense for."""
    universal = {label.partition(":")[0] for label in labels}
    return universal <= set(RELATIONS) and {"root", "nsubj", "punct"} <= universal
