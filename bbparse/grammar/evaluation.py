"""Labelled bracket scores as computed by EVALB (Sekine & Collins 1997) with COLLINS.prm.

Punctuation is deleted from both trees first. ROOT is not counted, ADVP and PRT are the same, and
tags are compared over the remaining words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bbparse.grammar.phrases import PhraseTree, clean
from bbparse.runtime.errors import TreebankError
from bbparse.treebank.evaluation import contrast
from bbparse.treebank.significance import RESAMPLES, compare_fractions

DELETED = frozenset([",", ":", "``", "''", ".", "-NONE-"])
_EQUAL = {"PRT": "ADVP"}
_NO_BRACKETS = frozenset(["TOP", "ROOT", "S1", "", "-NONE-"])


@dataclass(frozen=True)
class BracketScores:
    """Counts over sentences; scores are from 0 to 1."""

    sentences: int
    exact: int  #: Sentences whose brackets are the gold ones.
    gold: int  #: Number of gold brackets.
    predicted: int  #: Number of predicted brackets.
    right: int  #: Number of predicted brackets that are right.
    words: int  #: Words that are not deleted.
    tags: int  #: Words with the right tag.
    by_sentence: list[tuple[int, int, int]]  #: right, gold, predicted.

    @property
    def precision(self) -> float:
        """Fraction of the predicted brackets that are right."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Fraction of the gold brackets that are predicted."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.gold + self.predicted
        return 2 * self.right / total if total else 0.0


def brackets(tree: PhraseTree) -> Counter[tuple[str, int, int]]:
    """Return the labelled brackets of a tree as EVALB counts them: category, first word, end."""
    counts: Counter[tuple[str, int, int]] = Counter()

    def walk(node: PhraseTree, at: int) -> int:
        if not node.children:
            return at + (node.label not in DELETED)
        end = at
        for child in node.children:
            end = walk(child, end)
        if node.label not in _NO_BRACKETS and end > at:
            counts[_EQUAL.get(node.label, node.label), at, end] += 1
        return end

    walk(tree, 0)
    return counts


def compare_trees(
    pairs: Iterable[tuple[PhraseTree, PhraseTree]], names: Iterable[str] | None = None
) -> BracketScores:
    """Compare pairs of gold trees and predicted ones; ``names`` are places of the gold trees."""
    sentences = exact = words = tags = 0
    by_sentence = []
    titles = iter(names) if names is not None else iter(lambda: "", None)
    for raw_gold, raw_predicted in pairs:
        name = next(titles) or f"sentence {sentences + 1}"
        gold, predicted = clean(raw_gold), clean(raw_predicted)
        if gold is None or predicted is None:
            raise TreebankError(f"{name}: a tree without words")
        gold_leaves, leaves = gold.leaves(), predicted.leaves()
        for i, (a, b) in enumerate(zip(gold_leaves, leaves)):
            if a.word != b.word:
                raise TreebankError(
                    f"{name}: word {i + 1} is {contrast(b.word, a.word)} as in gold"
                )
        if len(gold_leaves) != len(leaves):
            raise TreebankError(
                f"{name}: {len(leaves)} words, expected {len(gold_leaves)} as in gold"
            )
        sentences += 1
        # as in EVALB, each tree's own tags decide which of its words are deleted
        gold_brackets, predicted_brackets = brackets(gold), brackets(predicted)
        n_common = (gold_brackets & predicted_brackets).total()
        by_sentence.append((n_common, gold_brackets.total(), predicted_brackets.total()))
        exact += gold_brackets == predicted_brackets
        counted = [(a, b) for a, b in zip(gold_leaves, leaves) if a.label not in DELETED]
        words += len(counted)
        tags += sum(a.label == b.label for a, b in counted)
    right, n_gold, n_predicted = (sum(column) for column in zip((0, 0, 0), *by_sentence))
    return BracketScores(sentences, exact, n_gold, n_predicted, right, words, tags, by_sentence)


def paired_p(first: BracketScores, second: BracketScores, draws: int = RESAMPLES) -> float:
    """Return the p-value of a difference in F1, by paired approximate randomization."""
    right, gold, predicted = np.array([first.by_sentence, second.by_sentence], np.int64).T
    fractions = np.stack([2 * right.T, (gold + predicted).T], axis=-1)[:, :, None]
    return compare_fractions(fractions, draws)[0].p_value
