"""Rather than: where either analysis of it fires."""

from __future__ import annotations

import pytest

from bbparse.factors import check_family
from bbparse.models.factors.family import describe
from bbparse.models.factors.table import feature_key
from bbparse.treebank import Sentence
from bbparse_families.handcrafted import RatherThan
from tests.models.factors.helpers import all_arcs, view_of


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
