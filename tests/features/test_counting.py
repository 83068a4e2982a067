"""Families of combs, valency and rare words, by hand and against plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bbparse.factors import FactorView, check_family, feature_key
from bbparse.models.factors.family import describe
from bbparse.treebank import Sentence
from bbparse.treebank.encode import attribute_values
from bbparse_families.handcrafted import RatherThan
from bbparse_families.valency import CLASSES, MOST, ModifiersOfKind, Valency
from tests.models.factors.helpers import (
    all_arcs,
    random_arcs,
    random_sentence,
    random_tree,
    view_of,
)


def sentence(words: str, tags: str, heads: list[int] | None = None) -> Sentence:
    return Sentence.from_words(words.split(), upos=tags.split(), heads=heads)


def keys(*features: object) -> tuple[int, ...]:
    return tuple(sorted(feature_key("rather-than", feature) for feature in features))


def test_the_case_of_the_paper() -> None:
    """Two times one preposition, in both analyses."""
    s = sentence("goes by sea Rather than by land", "VERB ADP NOUN ADV ADP ADP NOUN")
    view = view_of(s, all_arcs(s.n_words))
    found = describe(RatherThan().propose(view), view)
    a, rather, than, b = 2, 4, 5, 6
    penn = tuple(sorted([(a, than), (than, rather), (than, b)]))
    ud = tuple(sorted([(a, b), (b, rather), (rather, than)]))
    assert found[penn, keys("penn", ("penn", "ADP"), ("penn", "same word", "ADP"))] == 1
    assert found[ud, keys("ud", ("ud", "ADP"), ("ud", "same word", "ADP"))] == 1
    # The nouns are alike in tag only.
    penn = tuple(sorted([(3, than), (than, rather), (than, 7)]))
    assert found[penn, keys("penn", ("penn", "NOUN"), ("penn", "same tag", "NOUN"))] == 1
    assert found.total() == 4


@pytest.mark.parametrize(
    ("heads", "fires"),
    [
        ([2, 0, 2, 6, 4, 3], 1),  # Universal Dependencies
        ([2, 0, 2, 6, 4, 2], 0),
        ([2, 0, 2, 5, 3, 5], 1),  # Penn Treebank
    ],
)
def test_either_analysis_fires(heads: list[int], fires: int) -> None:
    s = sentence("he eats fish rather than meat", "PRON VERB NOUN ADV ADP NOUN")
    assert check_family(RatherThan(), s, [-1, *heads]) == fires


HEAD = ("upos", "xpos", "lexpos", "lemma", "verbform")


def fired(family: Valency | ModifiersOfKind, view: FactorView, heads: list[int]) -> Counter[int]:
    numbers: Counter[tuple[int, str, str]] = Counter()
    for m in range(1, view.n_words + 1):
        kinds = ["/".join(tags) for tags in CLASSES if view.upos[m] in tags]
        if isinstance(family, Valency):
            kinds = ["modifiers"]
        for kind in kinds:
            if heads[m]:
                numbers[heads[m], "right" if m > heads[m] else "left", kind] += 1
    keys: Counter[int] = Counter()
    s = view.sentence
    for (h, side, kind), k in numbers.items():
        of = attribute_values(
            s.forms[h - 1], s.lemmas[h - 1], s.upos[h - 1], s.xpos[h - 1], s.feats[h - 1]
        )
        number = str(k) if k < MOST else f"{MOST} or more"
        for name in HEAD:
            keys[feature_key(family.name, (number, kind, side, f"head.{name}", of[name]))] += 1
    return keys


@pytest.mark.parametrize("cls", [Valency, ModifiersOfKind])
@pytest.mark.parametrize("seed", range(8))
def test_cells_say_how_many(cls: type[Valency | ModifiersOfKind], seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    sentence = random_sentence(rng, n)
    heads = random_tree(rng, n)
    family = cls()
    arcs = sorted({(heads[m], m) for m in range(1, n + 1)} | set(random_arcs(rng, n, 0.4)))
    view = view_of(sentence, arcs)
    batch = family.propose_counts(view)
    assert len(family.propose(view)) == 0
    flags = np.array(heads)[view.arc_mod] == view.arc_head
    cells = batch.cells(batch.fired(flags))
    assert Counter(cells.feat_keys.tolist()) == fired(family, view, heads)
    check_family(family, sentence, heads, arcs)
