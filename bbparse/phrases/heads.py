"""Heads of phrases by rules that are data, and the tree as a head-driven grammar sees it.

A phrase over a single phrase is joined with it: ``(S (VP …))`` becomes one phrase of the category
``S+VP``. So a phrase has two children or more, or is a word with its categories; a tree keeps no
unary chains, and nothing is lost, as what is written is taken apart again.

Grammars may see more categories, or fewer. ``NP~B^S`` is an NP within an S that has words only for
children: Johnson (1998) annotates parents; Collins (1999) sets apart noun phrases without phrases
in them. The other way, categories of a kind become one, as on the coarse levels of Charniak et al.
(2006).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from bbparse.phrases.trees import ROOT, PhraseTree

JOIN = "+"
#: Between a category and what it is split by.
SPLIT = "~"


@dataclass(frozen=True)
class HeadRules:
    """Which child is the head, and kinds of categories; see ``heads.toml``."""

    rules: dict[str, list[dict[str, Any]]]
    coordination: frozenset[str]
    punctuation: frozenset[str]
    kinds: dict[str, str]
    other_kind: str

    def head(self, label: str, children: list[str]) -> int:
        """The head's place among the labels of the children of a phrase."""
        places = [i for i, c in enumerate(children) if c not in self.punctuation]
        places = places or list(range(len(children)))
        found = self._search(label, children, places)
        at = places.index(found)
        if at >= 2 and children[places[at - 1]] in self.coordination:
            return places[at - 2]
        return found

    def _search(self, label: str, children: list[str], places: list[int]) -> int:
        for rule in self.rules.get(label, []):
            order = places if rule["from"] == "left" else places[::-1]
            for wanted in [[one] for one in rule["each"]] if "each" in rule else [rule["any"]]:
                for i in order:
                    if not wanted or children[i] in wanted:
                        return i
        rules = self.rules.get(label)
        return places[0] if rules and rules[-1]["from"] == "left" else places[-1]


@cache
def default_rules() -> HeadRules:
    """Collins' rules for the categories and tags of the Penn Treebank."""
    table = tomllib.loads(files("bbparse.phrases").joinpath("heads.toml").read_text("utf-8"))
    kinds = {label: kind for kind, labels in table["kinds"].items() for label in labels}
    return HeadRules(
        table["rules"], frozenset(table["coordination"]), frozenset(table["punctuation"]),
        kinds, list(table["kinds"])[-1],
    )  # fmt: skip


@dataclass(slots=True)
class Phrase:
    """A constituent of the head-driven grammar; a word is one with no head child."""

    label: str  #: Category, joined where a phrase is over a single phrase; tag of a word.
    word: int  #: Place of its head word in the sentence, from 0.
    tag: str  #: Of the head word.
    head: Phrase | None = None  #: The head child.
    left: list[Phrase] = field(default_factory=list)  #: Modifiers from the head outwards.
    right: list[Phrase] = field(default_factory=list)

    def heads(self) -> list[int]:
        """The head word of each word, 0 for none and words from 1: a dependency tree."""
        found: dict[int, int] = {self.word: 0}
        waiting = [self]
        while waiting:
            phrase = waiting.pop()
            for modifier in phrase.left + phrase.right:
                found[modifier.word] = phrase.word + 1
                waiting.append(modifier)
            if phrase.head is not None:
                waiting.append(phrase.head)
        return [found[i] for i in range(len(found))]


def to_phrase(tree: PhraseTree, rules: HeadRules) -> Phrase:
    """A clean tree (`bbparse.phrases.trees.clean`) with its heads; its ROOT is left out.

    Where the ROOT has more children than one, they become those of a phrase X.
    """
    top = tree.children[0] if len(tree.children) == 1 else PhraseTree("X", tree.children)
    return _to_phrase(top, rules, 0)[0]


def _to_phrase(tree: PhraseTree, rules: HeadRules, at: int) -> tuple[Phrase, int]:
    labels: list[str] = []
    while tree.children:
        if not labels or labels[-1] != tree.label:
            labels.append(tree.label)
        if len(tree.children) > 1:
            break
        tree = tree.children[0]
    if not tree.children:
        word = Phrase(tree.label, at, tree.label)
        return (Phrase(JOIN.join(labels), at, tree.label, word) if labels else word), at + 1
    parts = []
    for child in tree.children:
        part, at = _to_phrase(child, rules, at)
        parts.append(part)
    # the categories of children as rules know them: the outermost of what is joined
    h = rules.head(tree.label, [part.label.split(JOIN)[0] for part in parts])
    head = parts[h]
    return (
        Phrase(JOIN.join(labels), head.word, head.tag, head, parts[:h][::-1], parts[h + 1 :]), at
    )  # fmt: skip


def from_phrase(phrase: Phrase, words: list[str]) -> PhraseTree:
    """The tree in brackets: the inverse of `to_phrase`."""

    def tree(phrase: Phrase) -> PhraseTree:
        if phrase.head is None:
            return PhraseTree(phrase.label, word=words[phrase.word])
        parts = phrase.left[::-1] + [phrase.head] + phrase.right
        children = tuple(tree(part) for part in parts)
        for label in reversed(phrase.label.partition(SPLIT)[0].split(JOIN)):
            children = (PhraseTree(label, children),)
        return children[0]

    return PhraseTree(ROOT, (tree(phrase),))


def split(phrase: Phrase, parent: str = "") -> None:
    """Write what splits a phrase and all in it into their labels."""
    if phrase.head is None:
        return
    children = phrase.left + [phrase.head] + phrase.right
    base = phrase.label.rpartition(JOIN)[2]
    for child in children:
        split(child, base)
    mark = "B" if base == "NP" and all(child.head is None for child in children) else ""
    phrase.label += f"{SPLIT}{mark}^{parent}"


def merged(label: str, rules: HeadRules) -> str:
    """The kind of a category: that of its outermost one where categories are joined."""
    return rules.kinds.get(label.split(JOIN)[0], rules.other_kind)


def merge(phrase: Phrase, rules: HeadRules) -> None:
    """Write the kinds of a phrase and of all in it into their labels."""
    if phrase.head is not None:
        phrase.label = merged(phrase.label, rules)
        for child in [*phrase.left, phrase.head, *phrase.right]:
            merge(child, rules)
