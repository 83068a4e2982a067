"""Agreement: scores of every size, what cannot agree, wrong input; see tests/fuzz for the rest."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import bbparse
from bbparse.inference.agreement import agree
from bbparse.runtime.errors import BBParseError
from tests.inference import listed

NEG = -np.inf


def _random(seed: int) -> tuple[list[Any], list[list[str | None]]]:
    rng = np.random.default_rng(seed)
    oracles, shared = [], []
    for _ in range(int(rng.integers(2, 4))):
        n = int(rng.integers(1, 7))
        names = [str(s) if rng.random() < 0.8 else None for s in rng.permutation(7)[:n]]
        oracles.append(listed.random_oracle(rng, n, seed % 2 == 0))
        shared.append(names)
    return oracles, shared


def _joint(oracles: list[Any], shared: list[list[str | None]]) -> tuple[float, float]:
    """Score of the best joint structure, and the magnitudes that it adds up; -inf: there is none.
    """
    found = [(NEG, 0.0)]
    for chosen in product(*(range(len(oracle.scores)) for oracle in oracles)):
        value: dict[str, bool] = {}
        if all(
            value.setdefault(name, bool(on)) == on
            for oracle, names, i in zip(oracles, shared, chosen)
            for name, on in zip(names, oracle.structures[i])
            if name is not None
        ):
            terms = [float(oracle.scores[i]) for oracle, i in zip(oracles, chosen)]
            found.append((math.fsum(terms), math.fsum(map(abs, terms))))
    return max(found)


@pytest.mark.parametrize("kind", ["tiny", "large", "masks", "rewards"])
def test_scores_of_every_size(kind: str) -> None:
    """A billionth of the oracles' own scores is all that an answer may be wrong by."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        oracles, shared = _random(seed)
        for oracle in oracles:
            some = rng.random(len(oracle.scores)) < 0.3
            sizes = 10.0 ** rng.integers(6, 39, len(some))
            oracle.scores = {
                "tiny": 1e-9 * oracle.scores, "large": 1e60 * oracle.scores,
                "masks": np.where(some, -sizes, oracle.scores),
                "rewards": np.where(some, sizes, oracle.scores),
            }[kind]  # fmt: skip
        best, size = _joint(oracles, shared)
        found = agree(oracles, shared, root_calls=8, node_calls=4)
        assert found.status == ("optimal" if best > NEG else "infeasible")
        assert found.value == best if best == NEG else abs(found.value - best) <= 1e-9 * size
        own = [o.scores[(o.structures == on).all(1)].max() for o, on in zip(oracles, found.on)]
        assert found.value == (math.fsum(own) if found.on else NEG)


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


ONE = listed.Listed(np.array([[True, False]]), np.array([1.0]))


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
    ],
)
def test_wrong_input_is_told_in_one_line(
    oracles: Any, names: Any, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(BBParseError, match=text) as error:
        agree(oracles or [ONE, ONE], names, **options)
    assert "\n" not in str(error.value)
