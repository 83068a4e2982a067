"""One analysis of the same words, against all choices of analyses."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from bbparse.parser.validity import consistency
from bbparse.parser.validity.consistency import Consistency, Nucleus
from bbparse.parser.validity.repair import repair
from bbparse.parser.validity.rules import Rules
from bbparse.treebank import Sentence
from bbparse.treebank.variation import Analysis, variations
from tests.oracles.enumerate import all_trees
from tests.parser.validity.test_random import NAMES, TAGS, random_rules


def corpus(rng: np.random.Generator, size: int = 3) -> list[Sentence]:
    """Sentences of the same words with different trees."""
    n = int(rng.integers(3, 5))
    trees = list(all_trees(n, True, False))
    tags = [str(rng.choice(TAGS)) for _ in range(n)]
    return [
        Sentence.from_words(
            ["a", "b", "c", "d"][:n],
            upos=tags,
            heads=list(trees[rng.integers(len(trees))]),
            deprels=[str(rng.choice(NAMES[:2])) for _ in range(n)],
        )
        for _ in range(size)
    ]


def test_no_choice_costs_less() -> None:
    changed = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        sentences, rules = corpus(rng), Rules(random_rules(rng).rules, ("dep", *NAMES))
        weights = [rng.choice([0.25, 1.0, 3.0], s.n_words).tolist() for s in sentences]
        got = Consistency(sentences, rules, weights)
        assert got.proved
        total = [sum(column) for column in zip(*(each.cost for each in got.repairs))]
        costs = []
        for choice in product(*(nucleus.analyses for nucleus in got.nuclei)):
            wanted = [dict[tuple[int, int], Analysis]() for _ in sentences]
            for nucleus, analysis in zip(got.nuclei, choice):
                for at, first, last in nucleus.places:
                    wanted[at][first, last] = analysis
            rows = zip(sentences, weights, wanted)
            repairs = [repair(s, rules, w, wanted=own) for s, w, own in rows]
            costs.append([sum(column) for column in zip(*(each.cost for each in repairs))])
        assert total == min(costs)
        after = [replace(r.sentence, heads=r.heads, deprels=r.labels) for r in got.repairs]
        assert not variations(after) or total[0] == np.inf
        found = variations(sentences)
        changed += bool(found)
    assert changed > 5


def test_a_limit() -> None:
    rng = np.random.default_rng(1)
    sentences, limit = corpus(rng, 6), consistency.MAX_REPAIRS
    consistency.MAX_REPAIRS = 10
    try:
        got = Consistency(sentences, Rules((), ("dep", *NAMES)))
    finally:
        consistency.MAX_REPAIRS = limit
    assert not got.proved and len(got.repairs) == 6


def test_nuclei_that_share_sentences_are_chosen_together() -> None:
    got = Consistency([], Rules((), ("dep",)))
    got.nuclei = [
        Nucleus([(i, 1, 1) for i in sentences], [])
        for sentences in ([0, 1], [2, 3], [1, 2], [3, 4], [5])
    ]
    groups = [{place[0] for x in group for place in x.places} for group in got._groups()]
    assert sorted(map(sorted, groups)) == [[0, 1, 2, 3, 4], [5]]
