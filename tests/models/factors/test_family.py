from __future__ import annotations

import doctest
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bbparse.factors
from bbparse.factors import FactorFamily, FactorView, check_family
from bbparse.models.factors.table import feature_key
from bbparse.runtime.errors import FactorError
from bbparse.treebank import Sentence
from tests.models.factors.helpers import all_arcs, view_of


class SameTag(FactorFamily):
    """Two modifiers of one head with the same tag."""

    name = "same-tag"
    summary = "two modifiers with one tag"

    def factors(self, view: FactorView) -> Iterator[tuple[list[tuple[int, int]], list[Any]]]:
        for h in range(view.n_words + 1):
            for m in view.modifiers_of(h):
                for s in range(m + 1, view.n_words + 1):
                    if s != h and view.upos[m] == view.upos[s]:
                        yield [(h, m), (h, s)], ["same", ("tag", view.upos[m], int(m < h < s))]


class Careless(SameTag):
    """Proposes what its author did not think of."""

    name = "careless"

    def __init__(self, arcs: Any, features: Any) -> None:
        self.proposal = (arcs, features)

    def factors(self, view: FactorView) -> Iterator[Any]:
        yield self.proposal


@pytest.fixture
def sentence() -> Sentence:
    return Sentence.from_words(
        ["dogs", "chase", "cats", "!"], upos=["NOUN", "VERB", "NOUN", "PUNCT"], heads=[2, 0, 2, 2]
    )


def everything(sentence: Sentence) -> FactorView:
    return view_of(sentence, all_arcs(sentence.n_words))


def test_the_documented_example_works() -> None:
    result = doctest.testmod(bbparse.factors)
    assert result.attempted >= 5
    assert result.failed == 0


def test_what_is_passed_over(sentence: Sentence) -> None:
    """Arcs that are no candidates, two heads of one word, an arc that is named again."""
    family = Careless([(2, 1), (2, 3)], ["f"])
    assert len(family.propose(view_of(sentence, [(2, 1), (0, 2)]))) == 0
    assert len(family.propose(view_of(sentence, [(2, 1), (2, 3)]))) == 1
    view = everything(sentence)
    assert len(Careless([(2, 1), (3, 1)], ["f"]).propose(view)) == 0
    batch = Careless([(2, 3), (2, 1), (2, 3)], ["f"]).propose(view)
    assert batch.arcs.tolist() == [view.arc_index(2, 1), view.arc_index(2, 3)]


@pytest.mark.parametrize(
    ("arcs", "features", "message"),
    [
        ([(2, 1), (2, 5)], ["f"], "arc 2 → 5: expected a head in 0..4 and a modifier in 1..4"),
        ([(2, 1), (-1, 3)], ["f"], "arc -1 → 3"),
        ([(2, 1), (2, 0)], ["f"], "arc 2 → 0"),
        ([(2, 1)], ["f"], "two or more arcs, found "),
        ([], ["f"], "two or more arcs"),
        ([(2, 1), (2, 3)], "abc", "expected a sequence of features, found 'abc'"),
        ([(2, 1), (2, 3)], [1.5], "feature 1.5: .* found float"),
        ([(2, 1), (2, 3)], [("a", None)], "feature None: .* found NoneType"),
        ([(2, 1), (2, 3)], 7, "TypeError: "),
        (7, ["f"], "TypeError: "),
        ([(2, 1), (2, 3)], [["f"]], r"feature \['f'\]: expected text"),
    ],
)
def test_a_broken_proposal_names_family_and_sentence(
    sentence: Sentence, arcs: Any, features: Any, message: str
) -> None:
    with pytest.raises(FactorError, match=f"family 'careless', sentence #1: .*{message}"):
        Careless(arcs, features).propose(everything(sentence))


def test_an_exception_of_a_family_is_told_as_its_own(sentence: Sentence) -> None:
    class Broken(FactorFamily):
        name = "broken"

        def factors(self, view: FactorView) -> Iterator[Any]:
            yield view.forms[99], []

    class Empty(FactorFamily):
        name = "empty"

    with pytest.raises(FactorError, match="'broken', sentence #1: IndexError: ") as caught:
        Broken().propose(everything(sentence))
    assert isinstance(caught.value.__cause__, IndexError)
    with pytest.raises(FactorError, match=r"'empty', .*NotImplementedError: Empty\.factors"):
        Empty().propose(everything(sentence))


def test_different_features_have_different_keys() -> None:
    features: list[Any] = [
        "",
        "a",
        "b",
        "ab",
        "1",
        1,
        -1,
        11,
        ("a",),
        ("a", "b"),
        ("ab",),
        ("b", "a"),
        (),
        ((),),
        ("a", ("b",)),
        (("a",), "b"),
        ("s1:a",),
        ("a", 1),
        ("a", "1"),
        "\ud800",
    ]
    keys = {feature_key(family, f) for family in ("one", "two", "") for f in features}
    assert len(keys) == 3 * len(features)
    assert all(0 <= key < 2**64 for key in keys)
    assert feature_key("f", np.int32(3)) == feature_key("f", 3)
    assert feature_key("f", True) == feature_key("f", 1)


def test_keys_stay_what_they_are() -> None:
    """Models hold keys: a change of the hash makes every saved model useless."""
    assert feature_key("same-tag", ("tag", "NOUN", 1)) == 8664192555403165154


def test_the_checker_finds_families_that_look_at_other_candidates(sentence: Sentence) -> None:
    class Counts(SameTag):
        def factors(self, view: FactorView) -> Iterator[Any]:
            for arcs, features in super().factors(view):
                yield arcs, [*features, len(view.heads_of(1))]

    class Sometimes(SameTag):
        def __init__(self, wanted: Callable[[FactorView], bool]) -> None:
            self.wanted = wanted

        def factors(self, view: FactorView) -> Iterator[Any]:
            if self.wanted(view):
                yield from super().factors(view)

    class Forgetful(SameTag):
        calls = 0

        def factors(self, view: FactorView) -> Iterator[Any]:
            self.calls += 1
            for arcs, features in super().factors(view):
                yield arcs, [*features, self.calls]

    assert check_family(SameTag(), sentence) == 1
    assert check_family(SameTag(), sentence, [-1, 2, 0, 4, 2], arcs=[(2, 3)]) == 0
    for family, message in (
        (Counts(), "only when"),
        (Sometimes(lambda view: view.n_arcs == view.n_words), "are given alone"),
        (Sometimes(lambda view: view.n_arcs > view.n_words), "among other candidates"),
        (Forgetful(), "two calls gave different factors"),
    ):
        with pytest.raises(FactorError, match=message):
            check_family(family, sentence)
