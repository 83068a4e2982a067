"""Random sentences, trees and candidate arcs for the tests of factor families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bbparse.core.parts import Factors
from bbparse.factors import FactorFamily, FactorView
from bbparse.models.factors.family import alive_factors as alive_in_batch
from bbparse.models.factors.family import tree_batches
from bbparse.models.factors.table import FactorTable
from bbparse.treebank import Sentence
from tests.strategies import random_tree

WORDS = (
    ("the", "the", "DET", "DT", "Definite=Def"),
    ("dog", "dog", "NOUN", "NN", "Number=Sing"),
    ("Dogs", "dog", "NOUN", "NNS", "Number=Plur"),
    ("barks", "bark", "VERB", "VBZ", "VerbForm=Fin"),
    ("barking", "bark", "VERB", "VBG", "VerbForm=Part"),
    ("he", "he", "PRON", "PRP", "Case=Nom"),
    ("him", "he", "PRON", "PRP", "Case=Acc"),
    ("in", "in", "ADP", "IN", "_"),
    ("(", "(", "PUNCT", "-LRB-", "_"),
    (")", ")", "PUNCT", "-RRB-", "_"),
)

Arc = tuple[int, int]


def random_sentence(rng: np.random.Generator, n_words: int) -> Sentence:
    """A sentence with a projective single-root tree; few word types, so that features recur."""
    rows = [WORDS[i] for i in rng.integers(0, len(WORDS), n_words)]
    forms, lemmas, upos, xpos, feats = (list(column) for column in zip(*rows))
    return Sentence.from_words(
        forms, lemmas=lemmas, upos=upos, xpos=xpos, feats=feats, heads=random_tree(rng, n_words)[1:]
    )


def all_arcs(n_words: int) -> list[Arc]:
    """Every arc over n words, sorted."""
    return [(h, m) for h in range(n_words + 1) for m in range(1, n_words + 1) if h != m]


def random_arcs(rng: np.random.Generator, n_words: int, share: float = 0.5) -> list[Arc]:
    """Some of all arcs, sorted."""
    return [arc for arc in all_arcs(n_words) if rng.random() < share]


def view_of(sentence: Sentence, arcs: Iterable[Arc]) -> FactorView:
    """The view over these arcs."""
    ordered = sorted(arcs)
    return FactorView(sentence, [h for h, _ in ordered], [m for _, m in ordered])


def difference(owner: NDArray[np.int64], features: NDArray[np.int64]) -> dict[int, int]:
    """How often each feature fires for owner 0 more than for owner 1."""
    counts: Counter[int] = Counter()
    for tree, feature in zip(owner.tolist(), features.tolist()):
        counts[feature] += 1 - 2 * tree
    return {feature: count for feature, count in counts.items() if count}


def alive_factors(
    families: Iterable[FactorFamily], view: FactorView, table: FactorTable
) -> Factors:
    """The factors of one sentence that have a score."""
    return alive_in_batch(families, [view], table)[0][0]


def tree_keys(families: Iterable[FactorFamily], view: FactorView) -> NDArray[np.uint64]:
    """Keys of the features of all that fires in a tree, as often as it fires."""
    keys = [batch.feat_keys for batch in tree_batches(families, view)]
    return np.concatenate([np.zeros(0, np.uint64), *keys])
