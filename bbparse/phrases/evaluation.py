"""Labelled brackets compared as EVALB does (Sekine & Collins 1997, with the file COLLINS.prm).

Words tagged as punctuation are deleted from both trees before brackets are numbered, ROOT is no
bracket, ADVP and PRT are the same, and tags are compared over the words that are left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bbparse.errors import TreebankError
from bbparse.phrases.trees import PhraseTree, clean

DELETED = frozenset([",", ":", "``", "''", ".", "-NONE-"])
_EQUAL = {"PRT": "ADVP"}
_NO_BRACKETS = frozenset(["TOP", "ROOT", "S1", "", "-NONE-"])


@dataclass(frozen=True)
class BracketScores:
    """Counts over sentences; shares are between 0 and 1."""

    sentences: int
    exact: int  #: Sentences with all brackets right and no others.
    gold: int  #: Labelled brackets.
    found: int
    right: int
    words: int  #: Those that count.
    tags: int  #: Words with the right tag.
    by_sentence: list[tuple[int, int, int]]  #: right, gold, found.

    @property
    def precision(self) -> float:
        """Share of the brackets found that are right."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold brackets that were found."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.gold + self.found
        return 2 * self.right / both if both else 0.0


def brackets(tree: PhraseTree) -> Counter[tuple[str, int, int]]:
    """The labelled brackets of a tree as EVALB counts them: category, first word, end."""
    found: Counter[tuple[str, int, int]] = Counter()

    def walk(node: PhraseTree, at: int) -> int:
        if not node.children:
            return at + (node.label not in DELETED)
        end = at
        for child in node.children:
            end = walk(child, end)
        if node.label not in _NO_BRACKETS and end > at:
            found[_EQUAL.get(node.label, node.label), at, end] += 1
        return end

    walk(tree, 0)
    return found


def compare_trees(
    pairs: Iterable[tuple[PhraseTree, PhraseTree]], names: Iterable[str] | None = None
) -> BracketScores:
    """Compare gold trees with those found; names say where the gold ones stand, for messages.

    Raises `TreebankError` if two trees have different words.
    """
    sentences = exact = words = tags = 0
    by_sentence = []
    places = iter(names) if names is not None else iter(lambda: "", None)
    for gold, found in pairs:
        place = next(places) or f"sentence {sentences + 1}"
        one, other = clean(gold), clean(found)
        if one is None or other is None:
            raise TreebankError(f"{place}: a tree without words, expected words in both")
        ours, theirs = one.leaves(), other.leaves()
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if a.word != b.word:
                raise TreebankError(
                    f"{place}: word {i + 1} is {b.word!r}, expected {a.word!r} as in gold"
                )
        if len(ours) != len(theirs):
            raise TreebankError(f"{place}: {len(theirs)} words, expected {len(ours)} as in gold")
        sentences += 1
        wanted, got = brackets(one), brackets(other)
        # as EVALB: what is deleted in gold and in the other tree is deleted by their own tags
        common = sum((wanted & got).values())
        by_sentence.append((common, sum(wanted.values()), sum(got.values())))
        exact += wanted == got
        counted = [(a, b) for a, b in zip(ours, theirs) if a.label not in DELETED]
        words += len(counted)
        tags += sum(a.label == b.label for a, b in counted)
    right, in_gold, in_found = (sum(some) for some in zip((0, 0, 0), *by_sentence))
    return BracketScores(sentences, exact, in_gold, in_found, right, words, tags, by_sentence)


def paired_p(one: BracketScores, other: BracketScores, draws: int = 10_000, seed: int = 1) -> float:
    """How often equally good parsers would differ so much in F1 by chance: paired bootstrap."""
    counts = np.array([one.by_sentence, other.by_sentence], np.float64)  # [2, N, 3]
    difference = one.f1 - other.f1
    rng = np.random.default_rng(seed)
    n, beyond = counts.shape[1], 0
    for _ in range(draws):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n)
        right, gold, found = (counts * drawn[:, None]).sum(1).T
        f1 = 2 * right / np.maximum(gold + found, 1)
        beyond += abs(f1[0] - f1[1] - difference) >= abs(difference)
    return float((beyond + 1) / (draws + 1))
