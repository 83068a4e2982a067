"""Conditions on a labelled arc, as texts: ``label=det side=left mod.upos!=DET|PRON``.

All of what stands there, with spaces between, has to hold. Many conditions are looked up at once:
each is a bit of an integer, and what a label, a head, a modifier and a side allow is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
        """The condition that a text states.

        Raises
        ------
        ConditionError
            If a test is malformed, or names a relation or a tag that is not one of those given.
        """
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

    def allows_label(self, label: str) -> bool:
        """Whether an arc with a label may be meant."""
        return all(
            any(v == label or v == label.partition(":")[0] for v in test.values) != test.negated
            for test in self.tests
            if test.what == "label"
        )

    def allows_side(self, side: str) -> bool:
        """Whether a modifier on a side, left or right, may be meant."""
        return all(
            (side in test.values) != test.negated for test in self.tests if test.what == "side"
        )

    def allows_word(self, role: str, word: Word) -> bool:
        """Whether a word, by its columns, may be the head or the mod."""
        for what, values, negated in self.tests:
            if not what.startswith(f"{role}."):
                continue
            column = what.partition(".")[2]
            value = word[COLUMNS.index(column)]
            items = value.split("|") if column in ("feats", "misc") else (value,)
            if any(v in items for v in values) == negated:
                return False
        return True


def words_of(sentence: Sentence, misc: Collection[str]) -> list[Word]:
    """What conditions may ask of each word, in the order of `COLUMNS`; first of all the root.

    Of MISC those items are kept that are asked for: some treebanks have others at every word.
    """
    words = [ROOT]
    for i in range(sentence.n_words):
        feats, upos = sentence.feats[i], sentence.upos[i]
        other = ""
        if misc:
            column = sentence.lines[sentence.word_lines[i]].rpartition("\t")[2].rstrip("\r")
            if column != "_":
                other = "|".join([item for item in column.split("|") if item in misc])
        at = feats.find("ExtPos=")
        pos = upos if at < 0 else feats[at + 7 :].partition("|")[0]
        words.append(
            (upos, pos, sentence.xpos[i], sentence.forms[i], sentence.lemmas[i], feats, other)
        )
    return words


class ArcBits:
    """Which of several conditions hold for an arc, as the bits of an integer.

    Parameters
    ----------
    conditions : sequence of ArcCondition, function or None
        None holds for no arc. Of functions see `ArcFunction`.
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
        self._columns = [i for i, name in enumerate(COLUMNS) if name in asked]
        self._misc = {v for test in tests if test.what.endswith(".misc") for v in test.values}
        self._labels: dict[str, int] = {}
        self._heads: dict[Word, int] = {}
        self._mods: dict[Word, int] = {}
        #: Those that hold for modifiers to the left and to the right.
        self.left = self._those(lambda c: c.allows_side("left"))
        self.right = self._those(lambda c: c.allows_side("right"))

    def _those(self, holds: Callable[[ArcCondition], bool]) -> int:
        return sum(bit for bit, condition in self._conditions if holds(condition))

    def of_label(self, label: str) -> int:
        """Those that an arc with a label may fulfil."""
        found = self._labels.get(label)
        if found is None:
            found = self._labels[label] = self._those(lambda c: c.allows_label(label))
        return found

    def of_words(self, sentence: Sentence) -> tuple[list[int], list[int]]:
        """Those that each word, the root first, may fulfil as a head, and as a modifier."""
        heads, mods = [], []
        for word in words_of(sentence, self._misc):
            key = tuple([word[i] for i in self._columns])
            if key not in self._heads:
                if len(self._heads) > 50_000:  # forms and MISC have no end
                    self._heads, self._mods = {}, {}
                self._mods[key] = self._those(lambda c, w=word: c.allows_word("mod", w))  # type: ignore[misc]
                self._heads[key] = self._those(lambda c, w=word: c.allows_word("head", w))  # type: ignore[misc]
            heads.append(self._heads[key])
            mods.append(self._mods[key])
        return heads, mods
