"""A network that scores parts: scores against their definition, problems, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError
from bbparse.problem.parts import PART_NAMES
from bbparse.scoring.network import PartNetwork
from tests import toy
from tests.scoring.test_network import LABELS, random_case

SIZES = (8, 16, 2, 12, 4, 12)
CASES = st.tuples(st.integers(0, 10**6), st.integers(1, 9))


def random_network(seed: int, n: int) -> tuple[PartNetwork, np.ndarray, np.ndarray, np.ndarray]:
    """A network with random weights, an encoded sentence, and some arcs, sorted by (head, mod)."""
    plain, values, head, mod = random_case(seed, n)
    rng = np.random.default_rng(seed)
    parameters = {
        name: rng.normal(0.0, 0.4, shape).astype(np.float32)
        for name, shape in PartNetwork.shapes(SIZES, len(LABELS)).items()
    }
    network = PartNetwork(LABELS, SIZES, plain.keys, plain.vectors, parameters)
    order = np.lexsort((mod, head))
    return network, values, head[order], mod[order]


def distance_step(distance: int) -> int:
    return distance - 1 if distance <= 5 else 5 if distance <= 10 else 6


def score_by_definition(
    network: PartNetwork, kind: str, ends: np.ndarray, h: int, x: int, m: int
) -> float:
    """The score of head, third word and modifier, in double precision."""
    size = SIZES[5]
    first = 2 * (SIZES[3] + SIZES[4]) + (6 * size if kind == "gc" else 0)

    def vector(word: int, number: int) -> np.ndarray:
        return ends[word, first + number * size :][:size].astype(float)

    none = network.parameters["none"].astype(float)
    r, e = (vector(x, 2), vector(x, 5)) if x >= 0 else (none[:size], none[size:])
    where = 0 if x < min(h, m) else 1 if x < max(h, m) else 2
    step = distance_step(abs(x - m)) if x >= 0 else 7
    t = network.parameters[f"{kind}_table"][(3 * (m > h) + where) * 8 + step]
    rest = np.maximum(vector(h, 3) + vector(m, 4) + e + t, 0.0)
    product = vector(h, 0) * vector(m, 1) * r
    return float(product.sum() + network.parameters[f"{kind}_out"].astype(float) @ rest)


@given(CASES, st.booleans())
def test_scores_of_parts_follow_their_definition(case: tuple[int, int], projective: bool) -> None:
    network, values, head, mod = random_network(*case)
    fields = network.part_fields(values, head, mod, projective, True)
    scores, _, ends = network.scores(values, head, mod)
    assert np.array_equal(fields["arc_score"], scores)
    for kind in ("sib", "gc"):
        rows = np.array([fields[name] for name in PART_NAMES[kind]]).T
        for *words, score in rows:
            a, b, m = (int(word) for word in words)
            h, x = (a, b) if kind == "sib" else (b, a)
            expected = score_by_definition(network, kind, ends, h, x, m)
            assert score == pytest.approx(expected, abs=2e-3)
    arcs = set(zip(head.tolist(), mod.tolist()))
    first = fields["sib_inner"] < 0
    assert arcs == set(zip(fields["sib_head"][first].tolist(), fields["sib_outer"][first].tolist()))


@given(CASES)
def test_parts_do_not_depend_on_other_arcs_to_the_last_bit(case: tuple[int, int]) -> None:
    network, values, head, mod = random_network(*case)
    some = np.random.default_rng(case[0]).random(len(head)) < 0.7
    found = []
    for own in (slice(None), some):
        h, m = head[own], mod[own]
        fields = network.part_fields(values, h, m, True, True)
        found.append({
            (kind, *map(int, words)): score
            for kind in ("sib", "gc")
            for *words, score in zip(*(fields[name] for name in PART_NAMES[kind]))
        })  # fmt: skip
    assert all(found[0][part] == score for part, score in found[1].items())


def test_files_hold_the_same_network() -> None:
    network, values, head, mod = random_network(11, 8)
    again = PartNetwork.from_arrays(network.to_arrays())
    one, other = (each.part_fields(values, head, mod, True, True) for each in (network, again))
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("table", "key", "value", "message"),
    [
        ("model", "backbone", "sibling", "the backbone grandsib"),
        ("model", "solver", "price-and-cut", "the solver bb"),
        ("templates", "sibling", ["h.upos s.upos m.upos"], "arcs and grand-siblings only"),
        ("trees", "parts", 6, "a multiple of 4"),
    ],
)
def test_what_it_does_not_go_with_is_refused(
    table: str, key: str, value: object, message: str
) -> None:
    settings = toy.part_configuration().to_table()
    settings[table][key] = value
    with pytest.raises(ConfigError, match=message):
        Configuration.from_table(settings)
