"""From the plain categories of trees to fewer ones and to more.

``NP~B^S`` is an NP within an S that has words only for children. Johnson (1998) annotates parents;
Collins (1999) sets apart noun phrases without phrases in them. The other way, categories of a kind
become one (``heads.toml``), as on the coarse levels of Charniak et al. (2006).
"""

from __future__ import annotations

import numpy as np

from bbparse.phrases.grammar import Grammar
from bbparse.phrases.heads import JOIN, SPLIT, HeadRules, Phrase
from bbparse.phrases.prune import Division


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


def divide(coarse: Grammar, fine: Grammar, rules: HeadRules) -> Division:
    """How what a coarser grammar has is divided in a finer one; they have the same tags.

    `KeyError` if the finer one has something of which the coarser one has nothing.
    """
    symbol = list(range(fine.n_tags))
    for label in fine.symbols[fine.n_tags :]:
        plain = label.split(SPLIT)[0]
        symbol.append(coarse.number[plain if plain in coarse.number else merged(plain, rules)])
    pairs = zip(coarse.pairs.parent.tolist(), coarse.pairs.head.tolist())
    of = {pair: y for y, pair in enumerate(pairs)}
    pair = np.array(
        [
            of[symbol[parent], symbol[head]]
            for parent, head in zip(fine.pairs.parent.tolist(), fine.pairs.head.tolist())
        ]
    )
    order = np.argsort(pair, kind="stable").astype(np.int32)
    ptr = np.searchsorted(pair[order], np.arange(len(of) + 1)).astype(np.int32)
    return Division(np.array(symbol, np.int32), ptr, order)
