"""Phrase-structure trees, bracketed files, and head rules.

A file has any number of trees such as ``(ROOT (NP (NN Introduction)))``. The outermost bracket may
have no label, as in the Penn Treebank, or be labelled ROOT, TOP or S1; all of these mean the same.
In files, brackets within words are escaped as -LRB- and -RRB-, spaces as their code points
(``New-U+0020-York``). Words in trees are unescaped.

In the head-driven grammar, a unary chain of phrases is one phrase: ``(S (VP …))`` has both
categories. So a phrase has two children or more, or is a word with its categories. Joined
categories are separated again on output.

Grammars refine categories. ``NP(B^S`` is a base NP within an S: Johnson (1998) annotates parents,
Collins (1999) distinguishes base noun phrases.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence

ROOT = "ROOT"
_TOPS = frozenset({"", "ROOT", "TOP", "S1", "VROOT"})
_TOKEN = re.compile(r"[()]|[^ \t\r\f\v\n()]+|\n")  # other white space may be part of words
_NAMES = {"(": "-LRB-", ")": "-RRB-"}
_CHARACTERS = {name: character for character, name in _NAMES.items()}
_ESCAPE = r"(?:LRB|RRB|U\+[0-9A-F]{4,6})"
_ESCAPED = re.compile(rf"-{_ESCAPE}-")
#: Characters to escape: brackets, spaces, and a dash that would begin an escape.
_TO_ESCAPE = re.compile(rf"[()\s]|-(?={_ESCAPE}[-()\s])")
_MAX_DEPTH = 500


@dataclass(frozen=True, slots=True)
class PhraseTree:
    """A phrase, or a word with its tag."""

    label: str  #: Category of a phrase, tag of a word.
    children: tuple[PhraseTree, ...] = ()
    word: str = ""  #: Empty for a phrase.

    def leaves(self) -> list[PhraseTree]:
        """Return the words with their tags, from left to right."""
        if not self.children:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]

    @property
    def words(self) -> list[str]:
        """Forms, from left to right."""
        return [leaf.word for leaf in self.leaves()]

    @property
    def tags(self) -> list[str]:
        """Tags, from left to right."""
        return [leaf.label for leaf in self.leaves()]

    def __str__(self) -> str:
        """Return the tree in brackets, on one line."""
        if not self.children:
            return f"({self.label} {escaped(self.word)})"
        return f"({self.label} {' '.join(map(str, self.children))})"

    def to_text(self) -> str:
        """Draw the tree, a phrase or a word on each line, children indented below their phrase."""
        lines = [self.label]

        def draw(node: PhraseTree, indent: str) -> None:
            for i, child in enumerate(node.children):
                last = i == len(node.children) - 1
                lines.append(f"{indent}{'└─' if last else '├─'}{child.label} {child.word}".rstrip())
                draw(child, indent + ("  " if last else "│ "))

        draw(self, "")
        return "\n".join(lines) + "\n"


def escaped(word: str) -> str:
    """Escape a word for a file of bracketed trees."""

    def escape(match: re.Match[str]) -> str:
        return _NAMES.get(match[0]) or f"-U+{ord(match[0]):04X}-"

    return _TO_ESCAPE.sub(escape, word)


def unescaped(text: str) -> str:
    """Undo `escaped`."""

    def character(match: re.Match[str]) -> str:
        if match[0] in _CHARACTERS:
            return _CHARACTERS[match[0]]
        code = int(match[0][3:-1], 16)
        is_escape = code == ord("-") or (code <= 0x10FFFF and chr(code).isspace())
        return chr(code) if is_escape else match[0]

    return _ESCAPED.sub(character, text)


def clean(tree: PhraseTree) -> PhraseTree | None:
    """Remove traces, function tags and empty phrases from a tree.

    Words tagged -NONE- are removed, with phrases that become empty; ``NP-SBJ=1`` becomes ``NP``.
    Tags keep their dashes (``-LRB-``). Outer brackets become one with the label ROOT.
    """
    while len(tree.children) == 1 and tree.label in _TOPS and tree.children[0].label in _TOPS:
        tree = tree.children[0]
    if tree.label not in _TOPS or not tree.children:
        tree = PhraseTree(ROOT, (tree,))
    children = [_cleaned(child) for child in tree.children]
    nonempty = tuple(child for child in children if child is not None)
    return replace(tree, label=ROOT, children=nonempty) if nonempty else None


def _cleaned(tree: PhraseTree) -> PhraseTree | None:
    if not tree.children:
        return None if tree.label == "-NONE-" else tree
    nonempty = tuple(child for child in map(_cleaned, tree.children) if child is not None)
    label = re.split(r"[-=|]", tree.label, maxsplit=1)[0] or tree.label
    return PhraseTree(label, nonempty) if nonempty else None


def read_trees(path: str | os.PathLike[str]) -> Iterator[tuple[int, PhraseTree]]:
    """Read a bracketed file; yield each tree with its first line, from 1."""
    try:
        with open(path, encoding="utf-8-sig") as file:  # with a byte order mark or without
            text = file.read()
    except OSError as error:
        raise TreebankError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise TreebankError(f"{path}: not UTF-8 at byte {error.start}") from None
    return read_trees_text(text, os.fspath(path))


def read_trees_text(text: str, name: str = "trees") -> Iterator[tuple[int, PhraseTree]]:  # noqa: C901 – one case for each kind of token
    """Read the trees of a text; see `read_trees`."""
    stack: list[tuple[int, str, list[PhraseTree], str]] = []  # line, label, children, word
    line, after_open = 1, False

    def error(found: str, expected: str) -> TreebankError:
        return TreebankError(f"{name}:{line}: {found}, expected {expected}")

    for token in _TOKEN.findall(text):
        if token == "\n":
            line += 1
        elif token == "(":
            if stack and stack[-1][3]:
                raise error(f"( after the word {stack[-1][3]!r}", ")")
            if len(stack) == _MAX_DEPTH:
                raise error(f"more than {_MAX_DEPTH} brackets in one another", "a tree")
            stack.append((line, "", [], ""))
            after_open = True
        elif token == ")":
            if not stack:
                raise error(") that closes nothing", "( or the end")
            start, label, children, word = stack.pop()
            if not children and not word:
                raise error(f"an empty bracket ({label})", "words or phrases in it")
            if not label and stack:
                raise error("a bracket without a label", "a category after (")
            tree = PhraseTree(label, tuple(children), word)
            if stack:
                stack[-1][2].append(tree)
            elif word:
                raise error(f"the word {word!r:.60} alone in a bracket", "a tree")
            else:
                yield start, tree
            after_open = False
        elif not stack:
            raise error(f"{token!r:.60} outside of brackets", "(")
        else:
            start, label, children, word = stack[-1]
            if after_open:
                stack[-1] = (start, token, children, word)
            elif children or word:
                raise error(f"{token!r:.60} after {word or 'a phrase'!r:.60}", ") or (")
            else:
                stack[-1] = (start, label, children, unescaped(token))
            after_open = False
    if stack:
        raise TreebankError(
            f"{name}:{stack[0][0]}: a tree that begins here is not closed at the end of the file,"
            f" expected {len(stack)} more )"
        )


def sentence_of(
    words: Sequence[str], tags: Sequence[str], heads: Sequence[int] | None = None
) -> Sentence:
    """Make a `Sentence` from words, tags (for UPOS and XPOS) and heads."""
    labels = None
    if heads is not None:
        labels = ["root" if head == 0 else "dep" for head in heads]
    return Sentence.from_words(words, upos=tags, xpos=tags, heads=heads, deprels=labels)


#: Separators of joined categories, and of a category and its refinement; no file contains them.
JOIN, SPLIT = " ", "("


@cache
def _head_rules() -> dict[str, Any]:
    """Load Collins' rules for the categories and tags of the Penn Treebank."""
    return tomllib.loads(files("bbparse.grammar").joinpath("heads.toml").read_text("utf-8"))


def _head(label: str, children: list[str]) -> int:
    """Return the index of the head child, given the labels of all children."""
    table = _head_rules()
    candidates = [i for i, c in enumerate(children) if c not in table["punctuation"]]
    candidates = candidates or list(range(len(children)))
    head = _search(table["rules"].get(label, []), children, candidates)
    at = candidates.index(head)
    if at >= 2 and children[candidates[at - 1]] in table["coordination"]:
        return candidates[at - 2]
    return head


def _search(rules: list[dict[str, Any]], children: list[str], candidates: list[int]) -> int:
    for rule in rules:
        order = candidates if rule["from"] == "left" else candidates[::-1]
        for labels in [[label] for label in rule["each"]] if "each" in rule else [rule["any"]]:
            for i in order:
                if not labels or children[i] in labels:
                    return i
    return candidates[0] if rules and rules[-1]["from"] == "left" else candidates[-1]


@dataclass(slots=True)
class Phrase:
    """A constituent of the head-driven grammar; a word has no head child."""

    label: str  #: Category, or joined categories of a unary chain; tag of a word.
    word: int  #: Index of its head word in the sentence, from 0.
    tag: str  #: Tag of the head word.
    head: Phrase | None = None  #: The head child.
    left: list[Phrase] = field(default_factory=list)  #: Modifiers, from the head outwards.
    right: list[Phrase] = field(default_factory=list)  #: Modifiers, from the head outwards.

    def heads(self) -> list[int]:
        """Return the head of each word, numbered from 1, 0 for the root: a dependency tree."""
        head_of: dict[int, int] = {self.word: 0}
        waiting = [self]
        while waiting:
            phrase = waiting.pop()
            for modifier in phrase.left + phrase.right:
                head_of[modifier.word] = phrase.word + 1
                waiting.append(modifier)
            if phrase.head is not None:
                waiting.append(phrase.head)
        return [head_of[i] for i in range(len(head_of))]


def to_phrase(tree: PhraseTree) -> Phrase:
    """Convert a clean tree (see `clean`) to a headed phrase without its ROOT.

    Several children of ROOT become those of a phrase X.
    """
    top = tree.children[0] if len(tree.children) == 1 else PhraseTree("X", tree.children)
    return _to_phrase(top, 0)[0]


def _to_phrase(tree: PhraseTree, at: int) -> tuple[Phrase, int]:
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
        part, at = _to_phrase(child, at)
        parts.append(part)
    # head rules apply to the outermost of joined categories
    h = _head(tree.label, [part.label.split(JOIN)[0] for part in parts])
    head, label = parts[h], JOIN.join(labels)
    return Phrase(label, head.word, head.tag, head, parts[:h][::-1], parts[h + 1 :]), at


def from_phrase(phrase: Phrase, words: list[str]) -> PhraseTree:
    """Convert a phrase to a bracketed tree: the inverse of `to_phrase`."""

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
    """Refine the labels of a phrase and all phrases in it."""
    if phrase.head is None:
        return
    children = phrase.left + [phrase.head] + phrase.right
    base = phrase.label.rpartition(JOIN)[2]
    for child in children:
        split(child, base)
    mark = "B" if base == "NP" and all(child.head is None for child in children) else ""
    phrase.label += f"{SPLIT}{mark}^{parent}"


def join_label(side: int, phrase: str, modifier: str) -> str:
    """Return the label of a join: category of phrase and modifier, and the side (0: left)."""
    return f"{'<>'[side]}{phrase}{SPLIT}{modifier}"


def joins(phrase: Phrase) -> list[str]:
    """Return the label of the join of each word with the next one; ``_`` for the last word.

    The join is the step that adds the modifier which ends or begins there, in the smallest phrase
    with both words.
    """
    labels: dict[int, str] = {}

    def walk(phrase: Phrase) -> int:
        """Label the joins in a phrase, and return its last word."""
        if phrase.head is None:
            return phrase.word
        parts = phrase.left[::-1] + [phrase.head] + phrase.right
        last = walk(parts[0])
        for i, part in enumerate(parts[1:], start=1):
            side, modifier = (0, parts[i - 1]) if i <= len(phrase.left) else (1, part)
            labels[last] = join_label(side, phrase.label, modifier.label)
            last = walk(part)
        return last

    return [labels.get(i, "_") for i in range(walk(phrase) + 1)]
