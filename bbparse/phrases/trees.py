"""Phrase-structure trees, and the bracketed files that hold them.

A file has any number of trees such as ``(ROOT (NP (NN Introduction)))``. The outermost bracket may
be without a label, as in the Penn Treebank, or be labelled ROOT, TOP or S1; it is one and the same
to us. What a word is must be neither space nor bracket; brackets of a text stand in files as -LRB-
and -RRB-, and in trees as they are in the text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bbparse.errors import TreebankError
from bbparse.treebank import Sentence

ROOT = "ROOT"
_TOPS = frozenset({"", "ROOT", "TOP", "S1", "VROOT"})
_TOKEN = re.compile(r"[()]|[^\s()]+|\n")
_ESCAPES = {"(": "-LRB-", ")": "-RRB-"}
_DEEPEST = 500


@dataclass(frozen=True, slots=True)
class PhraseTree:
    """A phrase, or a word with its tag."""

    label: str  #: Category of a phrase, tag of a word.
    children: tuple[PhraseTree, ...] = ()
    word: str = ""  #: Empty for a phrase.

    def leaves(self) -> list[PhraseTree]:
        """The words with their tags, from left to right."""
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
        """The tree in brackets, on one line."""
        if not self.children:
            return f"({self.label} {''.join(_ESCAPES.get(c, c) for c in self.word)})"
        return f"({self.label} {' '.join(map(str, self.children))})"


def clean(tree: PhraseTree) -> PhraseTree | None:
    """A tree as the grammar learns it: without traces, functional tags and empty phrases.

    Words tagged -NONE- go, and phrases that are left empty; of ``NP-SBJ=1`` remains ``NP``. Tags
    keep their dashes (``-LRB-``). Brackets around the tree become one that is labelled ROOT.
    """
    while len(tree.children) == 1 and tree.label in _TOPS and tree.children[0].label in _TOPS:
        tree = tree.children[0]
    if tree.label not in _TOPS or not tree.children:
        tree = PhraseTree(ROOT, (tree,))
    children = [_cleaned(child) for child in tree.children]
    kept = tuple(child for child in children if child is not None)
    return replace(tree, label=ROOT, children=kept) if kept else None


def _cleaned(tree: PhraseTree) -> PhraseTree | None:
    if not tree.children:
        return None if tree.label == "-NONE-" else tree
    kept = tuple(child for child in map(_cleaned, tree.children) if child is not None)
    label = re.split(r"[-=|]", tree.label, maxsplit=1)[0] or tree.label
    return PhraseTree(label, kept) if kept else None


def read_trees(path: str | os.PathLike[str]) -> Iterator[tuple[int, PhraseTree]]:
    """Trees of a file in brackets, each with the line that it begins in, from 1.

    `TreebankError` if the file cannot be read or its brackets make no trees; names file and line.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise TreebankError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise TreebankError(f"{path}: not UTF-8 at byte {error.start}") from None
    return read_trees_text(text, os.fspath(path))


def read_trees_text(text: str, name: str = "trees") -> Iterator[tuple[int, PhraseTree]]:
    """The trees of a text; see `read_trees`."""
    stack: list[tuple[int, str, list[PhraseTree], str]] = []  # line, label, children, word
    line, opened = 1, False

    def wrong(found: str, expected: str) -> TreebankError:
        return TreebankError(f"{name}:{line}: {found}, expected {expected}")

    for token in _TOKEN.findall(text):
        if token == "\n":
            line += 1
        elif token == "(":
            if stack and stack[-1][3]:
                raise wrong(f"( after the word {stack[-1][3]!r}", ")")
            if len(stack) == _DEEPEST:
                raise wrong(f"more than {_DEEPEST} brackets in one another", "a tree")
            stack.append((line, "", [], ""))
            opened = True
        elif token == ")":
            if not stack:
                raise wrong(") that closes nothing", "( or the end")
            start, label, children, word = stack.pop()
            if not children and not word:
                raise wrong(f"an empty bracket ({label})", "words or phrases in it")
            if not label and stack:
                raise wrong("a bracket without a label", "a category after (")
            tree = PhraseTree(label, tuple(children), word)
            if stack:
                stack[-1][2].append(tree)
            elif word:
                raise wrong(f"the word {word!r} alone in a bracket", "a tree")
            else:
                yield start, tree
            opened = False
        elif not stack:
            raise wrong(f"{token!r} outside of brackets", "(")
        else:
            start, label, children, word = stack[-1]
            if opened:
                stack[-1] = (start, token, children, word)
            elif children or word:
                raise wrong(f"{token!r} after {word or 'a phrase'!r}", ") or (")
            else:
                for bracket, written in _ESCAPES.items():
                    token = token.replace(written, bracket)
                stack[-1] = (start, label, children, token)
            opened = False
    if stack:
        raise TreebankError(
            f"{name}:{stack[0][0]}: a tree that begins here is not closed at the end of the file,"
            f" expected {len(stack)} more )"
        )


def sentence_of(
    words: Sequence[str], tags: Sequence[str], heads: Sequence[int] | None = None
) -> Sentence:
    """Words and tags as a sentence of a treebank; the tags are UPOS and XPOS."""
    labels = None
    if heads is not None:
        labels = ["root" if head == 0 else "dep" for head in heads]
    return Sentence.from_words(words, upos=tags, xpos=tags, heads=heads, deprels=labels)
