"""Validity rules, read from files that people can read, or made in Python.

A rule forbids an arc, or two arcs together. ``ud.toml`` has the rules of Universal Dependencies,
and its head describes how rules are written; a user's file has the same form.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from bbparse.errors import ConfigError, ProblemError
from bbparse.options import check_type
from bbparse.problem import Problem
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import NO_HEAD, find_cycle
from bbparse.validity.check import NO_ENTRY, Fault, RuledSentence, tree_faults
from bbparse.validity.constraints import Candidates
from bbparse.validity.table import (
    KINDS,
    RELATIONS,
    UPOS,
    ArcCondition,
    ConditionError,
    Rule,
    RuleTable,
)

_TEXTS = ("name", "says", "example", "source", "at")
_CONDITIONS = ("arc", *KINDS[1:], "unless")


class Rules(RuleTable):
    """Several validity rules (an iterable of `Rule`), read from a file or made in Python."""

    @classmethod
    def load(cls, name: str) -> Rules:
        """Load rules by name: ``ud``, a TOML file, or an entry point of ``bbparse.rules``.

        Raises
        ------
        ConfigError
            If there is no such file and no such name, or a file is malformed; names the place and
            what was expected.
        """
        check_type("name", name, str, "the name or the file of rules")
        if name == "ud":
            return _of_ud()
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
            names = ", ".join(["ud", *sorted(plugins)])
            raise ConfigError(f"no rules {name!r}: there is no such file, and names are {names}")
        try:
            loaded = plugins[name].load()
            return loaded if isinstance(loaded, Rules) else cls(loaded)
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
        relations = table.get("relations", RELATIONS)
        return cls(_rules_of(table, text.splitlines(), where), relations)

    def faults(self, sentence: Sentence) -> list[Fault]:
        """Return the faults of a sentence's tree, by word; each is reported once for its word.

        First come faults of the tree itself and unknown relations. If the heads form a cycle, no
        rule is checked.
        """
        heads, labels, relations = sentence.heads, sentence.deprels, self.relations
        faults = tree_faults(heads, single_root="root" in relations)
        for m, (head, label) in enumerate(zip(heads, labels), start=1):
            if relations and head != NO_HEAD and label.partition(":")[0] not in relations:
                faults.append(Fault("unknown-deprel", m, (m,), NO_ENTRY))
        if not find_cycle(heads):
            faults += RuledSentence(self, sentence).faults(heads, labels)
        distinct: dict[tuple[str, int], Fault] = {}
        for fault in faults:
            distinct.setdefault((fault.name, fault.word), fault)
        return sorted(distinct.values(), key=lambda fault: fault.word)

    def is_warning(self, fault: Fault) -> bool:
        """Return True if a fault breaks a rule that is only a warning."""
        return fault.entry != NO_ENTRY and self.entries[fault.entry].rule.warning

    def onto(self, problem: Problem, sentence: Sentence, labels: Sequence[str] = ()) -> Problem:
        """Add to the problem of a sentence all that the rules forbid; see `Problem.with_rules`."""
        largest = -1 if problem.arc_label is None else int(problem.arc_label.max(initial=-1))
        if largest >= len(labels):
            raise ProblemError(f"labels has {len(labels)} names, expected {largest + 1} or more")
        if sentence.n_words != problem.n_words:
            raise ProblemError(
                f"words has {sentence.n_words} words, expected {problem.n_words} as in the problem"
            )
        names = labels if problem.arc_label is not None else ("",)
        numbers = problem.arc_label
        if numbers is None:
            numbers = np.zeros(len(problem.arc_head), np.int32)
        candidates = Candidates(problem, names, RuledSentence(self.binding, sentence))
        return candidates.constrained(problem, numbers, candidates.every())


@cache
def _of_ud() -> Rules:
    text = (files("bbparse.validity") / "ud.toml").read_text("utf-8")
    return Rules._parsed(text, "ud.toml")


def _rules_of(table: dict[str, Any], lines: list[str], where: str) -> list[Rule]:  # noqa: C901 – one check after the other
    """Parse the rules in the table of a file."""
    tables = table.pop("rule", [])
    relations = table.pop("relations", RELATIONS)
    upos = table.pop("upos", UPOS)
    starts = [i for i, line in enumerate(lines) if re.match(r"\s*\[\[\s*rule\s*\]\]", line)]
    if table or not isinstance(tables, list) or len(starts) != len(tables):
        name = next(iter(table), "rule")
        line = next((i for i, text in enumerate(lines, 1) if name in text), 1)
        raise ConfigError(
            f"{where}, line {line}: found {name!r}, expected [[rule]] tables, and perhaps"
            " relations and upos, lists of names, before them"
        )
    if not tables:
        raise ConfigError(f"{where}: found no rule, expected at least one [[rule]]")

    def place(number: int, key: str) -> str:
        start = starts[number]
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        matches = (i for i in range(start, end) if re.match(rf"\s*{re.escape(key)}\s*=", lines[i]))
        return f"{where}, line {next(matches, start) + 1}"

    rules = []
    for number, fields in enumerate(tables):
        for key, value in fields.items():
            if key not in (*_TEXTS, *_CONDITIONS, "warning"):
                keys = ", ".join((*_TEXTS, *_CONDITIONS, "warning"))
                raise ConfigError(f"{place(number, key)}: unknown key {key!r}, expected {keys}")
            is_valid = (
                isinstance(value, bool) if key == "warning"
                else isinstance(value, str) if key in (*_TEXTS, "unless")
                else isinstance(value, str) or (
                    isinstance(value, list) and value and all(isinstance(v, str) for v in value)
                )
            )  # fmt: skip
            if not is_valid:
                expected = "true or false" if key == "warning" else "a text"
                raise ConfigError(f"{place(number, key)}: {key} is {value!r}, expected {expected}")
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
                warning=fields.get("warning", False),
                **texts,
            )
        )
        if rules[-1].example:
            try:
                example_of(rules[-1])
            except ValueError as error:
                raise ConfigError(f"{place(number, 'example')}: {error}") from None
    return rules


def example_of(rule: Rule) -> Sentence:
    """Return the example sentence of a rule, with its tree; `ValueError` if it is malformed."""
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
    """Return True if labels are relations of UD, so that the rules of UD apply to them."""
    universal = {label.partition(":")[0] for label in labels}
    return universal <= set(RELATIONS) and {"root", "nsubj", "punct"} <= universal
