"""`Rules`: a set of validity rules, from TOML files, plug-ins or Python.

A rule forbids an arc, or two arcs together. ``ud.toml`` has the rules of Universal Dependencies,
and its head describes how rules are written; a user's file has the same form.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from bbparse.core import Problem
from bbparse.models.scoring.labeller import Labelling
from bbparse.parser.validity.check import NO_ENTRY, Fault, RuledSentence, tree_faults
from bbparse.parser.validity.compiled import CompiledRules
from bbparse.parser.validity.conditions import (
    KINDS,
    RELATIONS,
    UPOS,
    ArcCondition,
    ConditionError,
    Rule,
)
from bbparse.parser.validity.constraints import Candidates
from bbparse.runtime.errors import ConfigError, ModelError, ProblemError
from bbparse.runtime.options import check_type
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import NO_HEAD
from bbparse.treebank.trees import find_cycle

#: Rules that come with the package.
_SHIPPED = ("ud", "parallel")
_TEXTS = ("name", "says", "example", "source", "at")
_CONDITIONS = ("arc", *KINDS[1:], "unless")
_KEYS = (*_TEXTS, *_CONDITIONS, "warning")


class Rules(CompiledRules):
    """Validity rules, from a file (`load`) or made in Python, and the known relations if any."""

    def __init__(self, rules: Iterable[Rule], relations: Collection[str] = ()) -> None:
        self.rules = tuple(rules)
        self.relations = tuple(relations)
        super().__init__(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rules, self.relations)

    def __add__(self, other: Rules) -> Rules:
        return type(self)(self.rules + other.rules, dict.fromkeys(self.relations + other.relations))

    @cached_property
    def binding(self) -> Rules:
        """The rules without mere warnings."""
        rules = [rule for rule in self.rules if not rule.warning]
        return self if len(rules) == len(self) else type(self)(rules, self.relations)

    @classmethod
    def load(cls, name: str) -> Rules:
        """Load rules by name: ``ud``, ``parallel``, a file, or an entry point of ``bbparse.rules``.

        Raises `ConfigError` if there is no such file and no such name, or a file is malformed;
        names the place and what was expected.
        """
        check_type("name", name, str, "the name or the file of rules")
        if name in _SHIPPED:
            return _shipped(name)
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
            names = ", ".join([*_SHIPPED, *sorted(plugins)])
            raise ConfigError(f"no rules {name!r}: not a file, and not one of {names}")
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
        tables = table.pop("rule", [])
        relations, upos = table.pop("relations", RELATIONS), table.pop("upos", UPOS)
        lines = text.splitlines()
        starts = [i for i, line in enumerate(lines) if re.match(r"\s*\[\[\s*rule\s*\]\]", line)]
        if table or not isinstance(tables, list) or len(starts) != len(tables):
            name = next(iter(table), "rule")
            line = next((i for i, text in enumerate(lines, 1) if name in text), 1)
            raise ConfigError(
                f"{where}, line {line}: found {name!r}, expected [[rule]] tables, after"
                " optional lists relations and upos"
            )
        if not tables:
            raise ConfigError(f"{where}: found no rule, expected at least one [[rule]]")

        def wrong(number: int, key: str, text: str) -> ConfigError:
            places = range(starts[number], [*starts, len(lines)][number + 1])
            named = (i for i in places if re.match(rf"\s*{re.escape(key)}\s*=", lines[i]))
            return ConfigError(f"{where}, line {next(named, places[0]) + 1}: {text}")

        rules = [
            _rule_of(fields, relations, upos, partial(wrong, number))
            for number, fields in enumerate(tables)
        ]
        return cls(rules, relations)

    def faults(self, sentence: Sentence) -> list[Fault]:
        """Return the faults of a sentence's tree, each once for its word; cycles hide others."""
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
        """Return the problem of a sentence with everything that the rules forbid.

        Parameters
        ----------
        problem : Problem
        sentence : Sentence
            Words that the rules read: tags, forms and so on.
        labels : sequence of str
            Name of each label; without labels, rules about labels apply to no arc.

        Raises
        ------
        ProblemError
            If sentence or labels do not fit the problem, or rules about crossing arcs depend on
            more of a tree than a few arcs (in problems that are not projective).
        """
        check_type("problem", problem, Problem, "a Problem", ProblemError)
        check_type("sentence", sentence, Sentence, "a Sentence", ProblemError)
        largest = -1 if problem.arc_label is None else int(problem.arc_label.max(initial=-1))
        if largest >= len(labels):
            raise ProblemError(f"labels has {len(labels)} names, expected {largest + 1} or more")
        if sentence.n_words != problem.n_words:
            raise ProblemError(
                f"sentence has {sentence.n_words} words, expected {problem.n_words} as in problem"
            )
        names = labels if problem.arc_label is not None else ("",)
        numbers = problem.arc_label
        if numbers is None:
            numbers = np.zeros(len(problem.arc_head), np.int32)
        candidates = Candidates(problem, names, RuledSentence(self.binding, sentence))
        return candidates.constrained(problem, numbers, candidates.every())


@cache
def _shipped(name: str) -> Rules:
    text = (files("bbparse.parser.validity") / f"{name}.toml").read_text("utf-8")
    return Rules._parsed(text, f"{name}.toml")


def _rule_of(
    fields: dict[str, Any],
    relations: Sequence[str],
    upos: Sequence[str],
    wrong: Callable[[str, str], ConfigError],
) -> Rule:
    """Parse the rule in a table; `wrong` makes an error of a key and a text."""
    for key, value in fields.items():
        if key not in _KEYS:
            raise wrong(key, f"unknown key {key!r}, expected {', '.join(_KEYS)}")
        texts = value if isinstance(value, list) and key in _CONDITIONS[:-1] else [value]
        required, expected = (bool, "true or false") if key == "warning" else (str, "a text")
        if not texts or not all(isinstance(text, required) for text in texts):
            raise wrong(key, f"{key} is {value!r}, expected {expected}")
    for key in ("name", "arc"):
        if not fields.get(key):
            raise wrong(key, f"the rule has no {key}, expected one")
    kind, *more_kinds = [kind for kind in KINDS[1:] if kind in fields] or [""]
    if more_kinds:
        raise wrong(more_kinds[0], f"found {kind} and {more_kinds[0]}, expected at most one")
    if fields.get("at", "head") not in ("head", "mod"):
        raise wrong("at", f"at is {fields['at']!r}, expected head or mod")

    def conditions(key: str) -> tuple[ArcCondition, ...]:
        texts = fields.get(key, [])
        texts = [texts] if isinstance(texts, str) else texts
        try:
            return tuple([ArcCondition.parse(text, relations, upos) for text in texts])
        except ConditionError as error:
            raise wrong(key, f"{key}: {error}") from None

    others = {key: fields[key] for key in (*_TEXTS[1:], "warning") if key in fields}
    rule = Rule(fields["name"], conditions("arc"), kind, conditions(kind), **others)
    rule = replace(rule, unless=next(iter(conditions("unless")), None))
    try:
        sentence = example_of(rule) if rule.example else None
    except ValueError as error:
        raise wrong("example", str(error)) from None
    if sentence is not None:
        ruled = RuledSentence(Rules([rule]), sentence)
        if not ruled.faults(sentence.heads, sentence.deprels):
            raise wrong("example", "the example does not break the rule")
    return rule


def example_of(rule: Rule) -> Sentence:
    """Return the example sentence of a rule, with its tree; `ValueError` if it is malformed."""
    rows = [text.split("/") for text in rule.example.split()]
    n = len(rows)
    for row in rows:
        if not 4 <= len(row) <= 5 or not row[2].isdigit() or not 0 <= int(row[2]) <= n:
            raise ValueError(f"found {'/'.join(row)!r}, expected form/UPOS/head/label")
    extra = [row[4] if len(row) > 4 else "_" for row in rows]
    sentence = Sentence.from_words(
        [row[0] for row in rows],
        upos=[row[1] for row in rows],
        feats=extra,
        heads=[int(row[2]) for row in rows],
        deprels=[row[3] for row in rows],
    )
    for i, line in enumerate(sentence.lines):
        sentence.lines[i] = f"{line.rpartition(chr(9))[0]}\t{extra[i]}"
    return sentence


def rules_for(valid: str | Rules | None, labeller: Labelling | None) -> Rules | None:
    """Return the validity rules for the trees of a model; `valid` is that of `ParseOptions`."""
    if valid == "none" or (valid is None and labeller is None):
        return None
    if labeller is None:
        raise ModelError("the model has no labels, which validity rules need")
    if isinstance(valid, Rules):
        return valid.binding
    labels = {label.partition(":")[0] for label in labeller.labels}
    is_ud = {"root", "nsubj", "punct"} <= labels <= {*RELATIONS}
    rules = Rules.load("ud") if is_ud or valid == "ud" else Rules(())
    if valid not in (None, "ud"):
        rules += Rules.load(str(valid))
    return rules.binding if len(rules) else None
