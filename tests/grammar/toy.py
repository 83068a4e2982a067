"""Sixty trees of a small grammar, written for these tests, and what is learned from them."""

from __future__ import annotations

from functools import cache

import numpy as np

from bbparse.grammar.parser import PhraseParser
from bbparse.grammar.phrases import PhraseTree, clean, read_trees_text
from bbparse.grammar.training import train_phrases
from tests.toy import NETWORK

_WORDS = {
    "DT": ["the", "a", "every"],
    "NN": ["dog", "saw", "park", "telescope", "fly", "walk"],
    "NNP": ["Ada", "Kim"],
    "PRP": ["it"],
    "VBZ": ["sees", "walks", "saw"],
    "IN": ["in", "with"],
}


def _word(tag: str, rng: np.random.Generator) -> str:
    return f"({tag} {rng.choice(_WORDS[tag])})"


def _np(rng: np.random.Generator, depth: int) -> str:
    kind = rng.random()
    if kind < 0.25 and depth < 2:
        return f"(NP {_np(rng, depth + 1)} {_pp(rng, depth + 1)})"
    if kind < 0.5:
        return f"(NP {_word(str(rng.choice(['NNP', 'PRP'])), rng)})"
    return f"(NP {_word('DT', rng)} {_word('NN', rng)})"


def _pp(rng: np.random.Generator, depth: int) -> str:
    return f"(PP {_word('IN', rng)} {_np(rng, depth)})"


def _vp(rng: np.random.Generator) -> str:
    parts = [_word("VBZ", rng)]
    if rng.random() < 0.7:
        parts.append(_np(rng, 0).replace("(NP", "(NP-OBJ", 1))
    if rng.random() < 0.4:
        parts.append(_pp(rng, 0))
    return f"(VP {' '.join(parts)})"


@cache
def text(n: int = 60, seed: int = 1) -> str:
    """Trees in brackets, one on a line."""
    rng = np.random.default_rng(seed)
    return "".join(f"(ROOT (S {_np(rng, 0)} {_vp(rng)} (. .)))\n" for _ in range(n))


def trees(n: int = 60, seed: int = 1) -> list[PhraseTree]:
    """The same, clean."""
    found = [clean(tree) for _, tree in read_trees_text(text(n, seed))]
    return [tree for tree in found if tree is not None]


@cache
def parser() -> PhraseParser:
    """Learned from them, without a dependency parser."""
    found = train_phrases(trees(), config=None, tagger_settings=NETWORK)
    found.tagger.margin = 30.0  # leaves words several tags
    return found
