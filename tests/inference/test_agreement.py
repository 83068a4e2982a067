"""Agreement: scores of every size, what cannot agree, wrong input; see tests/fuzz for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bbparse
from bbparse.inference.agreement import agree
from bbparse.inference.oracles.protocol import Best
from bbparse.runtime.errors import BBParseError
from tests.inference import listed

NEG = -np.inf


def test_branching_closes_what_agreement_cannot() -> None:
    """The example of RSCJ10, Appendix A: the relaxation is 0, every joint structure is worse."""
    tags = np.array([[1, 1, 1, 0, 0], [1, 0, 0, 1, 1], [1, 1, 0, 0, 1]], bool)
    parses = np.array([[1, 1, 0, 0, 1], [1, 0, 1, 1, 0], [1, 1, 1, 0, 0]], bool)
    names = ["1A", "2A", "3A", "2B", "3B"]
    tagger = listed.Listed(tags, np.array([0.0, 0.0, -3.0]))
    grammar = listed.Listed(parses, np.array([0.0, 0.0, -2.0]))
    found = bbparse.agree([grammar, tagger], [names, names])
    assert found.status == "optimal"
    assert found.value == -2.0
    assert found.nodes > 1
    assert found.names == ("1A", "2A", "3A")
    alone = bbparse.agree([grammar, tagger], [names, names], node_limit=1)
    assert alone.status == "node_limit"
    assert alone.bound >= -2.0 and alone.value == -2.0


def test_oracles_that_cannot_agree() -> None:
    one = listed.Listed(np.array([[True]]), np.array([1.0]))
    other = listed.Listed(np.array([[False]]), np.array([1.0]))
    found = agree([one, other], [["a"], ["a"]])
    assert (found.status, found.value, found.on) == ("infeasible", -np.inf, ())
    assert found.gap == np.inf


def test_names_may_be_integers() -> None:
    one = listed.Listed(np.array([[1, 0], [0, 1]], bool), np.array([1.0, 0.0]))
    other = listed.Listed(np.array([[1, 0], [0, 1]], bool), np.array([0.0, 3.0]))
    found = agree([one, other], [np.array([4, -1]), np.array([-1, 4])])
    assert found.value == 1.0 + 3.0
    assert found.names == (4,)


@pytest.mark.parametrize("large", [1e6, 1e9, 1e13])
def test_large_scores_that_cancel_out_hide_no_small_ones(large: float) -> None:
    structures = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], bool)
    rng = np.random.default_rng(1)
    for _ in range(30):
        # in quarters, so that all sums are exact
        ones, others = np.round(rng.normal(size=(2, 4)) * 8.0) / 4.0
        slopes = np.round(rng.normal(size=3) * large)
        shift = structures @ slopes + large
        oracles = [
            listed.Listed(structures, ones + shift),
            listed.Listed(structures, others - shift),
        ]
        found = agree(oracles, [["a", "b", "c"]] * 2)
        assert (found.status, found.value) == ("optimal", (ones + others).max())


ONE = listed.Listed(np.array([[True, False]]), np.array([1.0]))
NAN = listed.Listed(ONE.structures, np.array([np.nan]))
SHORT = listed.Listed(ONE.structures[:, :1], np.array([1.0]))
SHORT.n_coordinates = 2
SHORT.best = lambda scores: Best(1.0, np.ones(1, np.bool_))  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("oracles", "names", "options", "text"),
    [
        (7, [["a"]] * 2, {}, "oracles is of type int, expected a sequence"),
        ([7, None], [["a"]] * 2, {}, "oracle 1 is of type int, expected one with n_coordinates"),
        (None, {"a": 1}, {}, "shared is of type dict, expected a sequence"),
        (None, [3, ["a", "b"]], {}, r"shared\[0\] is of type int, expected a sequence of names"),
        (None, [["a", []], ["a", "b"]], {}, "oracle 1: invalid name: unhashable"),
        (None, [np.array([0.5, None])] * 2, {"step": 0}, "step is 0, expected more than 0"),
        (None, [["a", "b"]] * 2, {"step": "1"}, "step is '1', expected a number"),
        (None, [["a", "b"]] * 2, {"root_calls": 0}, "root_calls is 0"),
        (None, [["a", "b"], ["a"]], {}, "oracle 2: 1 names, expected 2"),
        (None, [["a", "a"], ["a", "b"]], {}, "oracle 1: two coordinates have the name 'a'"),
        ([ONE], [["a", "b"]], {}, "two or more"),
        ([ONE, NAN], [["a", "b"]] * 2, {}, "oracle 2: its best value is nan, expected a number"),
        ([ONE, SHORT], [["a", "b"]] * 2, {}, r"oracle 2: its best structure has shape \(1,\)"),
    ],
)
def test_wrong_input_is_told_in_one_line(
    oracles: Any, names: Any, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(BBParseError, match=text) as error:
        agree(oracles or [ONE, ONE], names, **options)
    assert "\n" not in str(error.value)
