"""`Rules`: a set of validity rules, from TOML files, plug-ins or Python.

A rule forbids an arc, or two arcs together. ``ud.toml`` has the rules of Universal Dependencies,
and its head describes how rules are written; a user's file has the same form. The conditions of
all rules are evaluated at once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from importlib.metadata import entry_points
from importlib.resources import files
from itertools import chain, islice, product, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.parser.validity.check import NO_ENTRY, Fault, RuledSentence, tree_faults
from bbparse.parser.validity.conditions import (
    KINDS,
    RELATIONS,
    UPOS,
    ArcCondition,
    ConditionError,
    Rule,
)
from bbparse.parser.validity.constraints import Candidates
from bbparse.runtime.errors import ConfigError, ProblemError
from bbparse.runtime.options import check_type
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import NO_HEAD, miscs
from bbparse.treebank.trees import find_cycle

#: Rules that come with the package.
_SHIPPED = ("ud", "parallel")
_TEXTS = ("name", "says", "example", "source", "at")
_CONDITIONS = ("arc", *KINDS[1:], "unless")
_KEYS = (*_TEXTS, *_CONDITIONS, "warning")
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


class Rules:
    """Several validity rules, the known relations if any, and the conditions of the rules on arcs.

    They are read from a file (`load`) or made in Python. The conditions that an arc fulfils are the
    bits of an integer. With size entries, bits e, size + e and 2 size + e are the first arc, the
    second arc and the exception of entry e. What a label, a head, a modifier and a side allow is
    cached.
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
        self._conditions = [(1 << i, c) for i, c in enumerate(chain(*parts)) if c is not None]
        tests = [test for _, c in self._conditions for test in c.tests]
        columns = {test.attribute.partition(".")[2] for test in tests}
        with_pos = columns | {"upos", "feats"} if "pos" in columns else columns
        self._reads = [name in with_pos for name in ("upos", "xpos", "form", "lemma", "feats")]
        self._misc = {v for test in tests if test.attribute.endswith(".misc") for v in test.values}
        cached = lru_cache(50_000)  # the number of forms and MISC is unlimited
        self._items, self._of_word = cached(self._items_of), cached(self._bits_of_word)
        self._of_label = cached(
            lambda label: self._bits_of({"label": (label, label.partition(":")[0])})
        )
        #: Conditions that can hold for modifiers to the left and to the right.
        self.left = self._bits_of({"side": ("left",)})
        self.right = self._bits_of({"side": ("right",)})

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

    def bit(self, entry: int, part: int) -> int:
        """Return the bit of a condition: the first arc (0), the second (1) or the exception (2)."""
        return 1 << part * self.size + entry

    def _bits_of(self, known: Mapping[str, Collection[str]]) -> int:
        return sum(bit for bit, condition in self._conditions if condition.allows(known))

    def of_labels(self, labels: Sequence[str]) -> list[int]:
        """Return the conditions that arcs with each label may fulfil."""
        return [*map(self._of_label, labels)]

    def of_words(self, sentence: Sentence) -> list[WordBits]:
        """Return the conditions that each word may fulfil, the root first."""
        columns = [sentence.upos, sentence.xpos, sentence.forms, sentence.lemmas, sentence.feats]
        read = [column if is_read else repeat("") for column, is_read in zip(columns, self._reads)]
        items: Iterable[str] = repeat("")
        if self._misc:
            items = map(self._items, miscs(sentence))
        keys = chain([_ROOT], islice(zip(*read, items), sentence.n_words))
        return [*map(self._of_word, keys)]

    def _items_of(self, misc: str) -> str:
        """Return the items of MISC that conditions name; others would make words hard to cache."""
        return "|".join([item for item in misc.rstrip("\r").split("|") if item in self._misc])

    def _bits_of_word(self, word: tuple[str, ...]) -> WordBits:
        """Return the conditions that a word with these columns may fulfil."""
        upos, xpos, form, lemma, feats, misc = word
        external = [value for value in feats.split("|") if value.startswith("ExtPos=")]
        columns: dict[str, Sequence[str]] = {
            "upos": [upos], "pos": [external[0].partition("=")[2] if external else upos],
            "xpos": [xpos], "form": [form], "lemma": [lemma], "feats": feats.split("|"),
            "misc": misc.split("|"),
        }
        return WordBits(*(
            self._bits_of({f"{role}.{name}": values for name, values in columns.items()})
            for role in ("head", "mod")
        ))

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
    fields: dict[str, Any], relations: Sequence[str], upos: Sequence[str],
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
        [row[0] for row in rows], upos=[row[1] for row in rows], feats=extra,
        heads=[int(row[2]) for row in rows], deprels=[row[3] for row in rows],
    )
    for i, line in enumerate(sentence.lines):
        sentence.lines[i] = f"{line.rpartition(chr(9))[0]}\t{extra[i]}"
    return sentence


def has_ud_relations(labels: Iterable[str]) -> bool:
    """Return True if labels are relations of UD, so that the rules of UD apply to them."""
    universal = {label.partition(":")[0] for label in labels}
    return universal <= set(RELATIONS) and {"root", "nsubj", "punct"} <= universal
