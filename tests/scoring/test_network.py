"""The network guide: scores against its definition in plain numpy, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError, ModelError
from bbparse.network.encoder import QUANTUM
from bbparse.scoring.marks import log_shares
from bbparse.scoring.network import NETWORK_ARRAYS, WORD_COLUMNS, Network
from bbparse.scoring.network_kernels import ARC_VALUES, arc_rows
from bbparse.scoring.parts import UPOS
from bbparse.storage.archive import read_archive, write_archive
from bbparse.treebank import Sentence
from bbparse.treebank.encode import PAD, encode

LABELS = ("case", "nsubj", "obj")
SIZES = (8, 16, 2, 12, 4)
TAGS = ("NOUN", "VERB", "ADP", "PUNCT", "CCONJ")


def sentence_of(rng: np.random.Generator, n: int) -> Sentence:
    return Sentence.from_words(
        [f"w{k}" for k in rng.integers(0, 9, n)], upos=[TAGS[k] for k in rng.integers(0, 5, n)]
    )


def random_case(seed: int, n: int) -> tuple[Network, np.ndarray, np.ndarray, np.ndarray]:
    """A network with random weights, an encoded sentence, and some arcs into every word."""
    rng = np.random.default_rng(seed)
    values = encode(sentence_of(rng, n))
    seen = np.unique(values[PAD:-PAD, WORD_COLUMNS])
    keys = np.sort(rng.choice(seen, len(seen) // 2, replace=False))
    vectors = rng.integers(-4000, 4000, (len(keys), SIZES[0])).astype(np.int16)
    parameters = {
        name: rng.normal(0.0, 0.4, shape).astype(np.float32)
        for name, shape in Network.shapes(SIZES, len(LABELS)).items()
    }
    arcs = np.array(
        [(h, m) for h in range(n + 1) for m in range(1, n + 1)
         if h != m and (h == m - 1 or rng.random() < 0.6)], np.int32,
    )  # fmt: skip
    return Network(LABELS, SIZES, keys, vectors, parameters), values, *arcs.T.copy()


def scores_by_definition(
    network: Network,
    values: np.ndarray,
    head: np.ndarray,
    mod: np.ndarray,
    outside: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of arcs and of their labels, in double precision."""
    p = {name: array.astype(float) for name, array in network.parameters.items()}
    own = values[PAD:-PAD, WORD_COLUMNS]
    vector = dict(zip(network.keys.tolist(), network.vectors * QUANTUM))
    zero = np.zeros(SIZES[0])
    words = [sum((vector.get(int(v), zero) for v in row), zero) for row in own]
    if outside is not None:  # the root has none
        words[1:] = [word + one @ p["outside_w"] for word, one in zip(words[1:], outside)]

    def window(rows: list[np.ndarray], i: int, reach: int) -> np.ndarray:
        blank = np.zeros_like(rows[0])
        around = range(i - reach, i + reach + 1)
        return np.concatenate([rows[j] if 0 <= j < len(rows) else blank for j in around])

    def normed(x: np.ndarray, layer: int) -> np.ndarray:
        y = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
        return y * p["gains"][layer] + p["shifts"][layer]

    places = range(len(words))
    state = [
        normed(np.maximum(window(words, i, 2) @ p["first_w"] + p["first_b"], 0.0), 0)
        for i in places
    ]
    for layer in range(SIZES[2]):
        weights, bias = p["deep_w"][layer], p["deep_b"][layer]
        state = [
            normed(state[i] + np.maximum(window(state, i, 1) @ weights + bias, 0.0), layer + 1)
            for i in places
        ]
    both = np.array(state) @ p["end_w"] + p["end_b"]
    shared, pairs = SIZES[3:]
    kinds = [{"VERB"}, {"PUNCT"}, {"CCONJ"}, {"NOUN"}]
    tag_of = {int(encode(Sentence.from_words(["x"], upos=[t]))[PAD + 1, UPOS]): t for t in TAGS}
    tags = [tag_of.get(int(v)) for v in values[PAD:-PAD, UPOS]]
    steps = [0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 7, *[8] * 15]
    scores, labels = [], []
    for h, m in zip(head.tolist(), mod.tolist()):
        low, high, left = min(h, m), max(h, m), int(h > m)
        distance = high - low
        rows = [2 * (steps[distance - 1] if distance <= 30 else 9) + left]
        for k, kind in enumerate(kinds):
            count = sum(tags[i] in kind for i in range(low + 1, high))
            rows.append(20 + 8 * k + 2 * min(count, 3) + left)
        r = both[h, :shared] + both[m, shared : 2 * shared] + p["arc_table"][rows].sum(axis=0)
        r = np.maximum(r, 0.0)
        a, b = both[h, 2 * shared :][:pairs], both[m, 2 * shared + pairs :]
        scores.append(r @ p["out_w"] + a @ b)
        labels.append((r @ p["label_w"] + p["label_b"])[: len(LABELS)])
    return np.array(scores), np.array(labels)


def log_probabilities(
    network: Network,
    values: np.ndarray,
    head: np.ndarray,
    mod: np.ndarray,
    outside: np.ndarray | None = None,
) -> np.ndarray:
    """Logarithm of p(h | m) p(l | h, m) for arcs and labels, from the kernel's scores."""
    scores, shared, _ = network.scores(values, head, mod, outside)
    own = network.label_scores(shared)[: len(head), : len(network.labels)].astype(np.float64)
    own -= own.max(axis=1, keepdims=True)
    own -= np.log(np.exp(own).sum(axis=1, keepdims=True))
    return own + log_shares(mod, scores, len(values) - 2 * PAD - 1)[:, np.newaxis]


CASES = st.tuples(st.integers(0, 10**6), st.integers(1, 12))


@given(CASES)
def test_vectors_from_outside_are_added_to_those_of_words(case: tuple[int, int]) -> None:
    network, values, head, mod = random_case(*case)
    rng = np.random.default_rng(case[0] + 1)
    weights = rng.normal(0.0, 0.5, (12, SIZES[0])).astype(np.float32)
    parameters = {**network.parameters, "outside_w": weights}
    wider = Network(LABELS, (*SIZES, 12), network.keys, network.vectors, parameters)
    outside = rng.normal(0.0, 1.0, (case[1], 12)).astype(np.float32)
    scores, labels = scores_by_definition(wider, values, head, mod, outside)
    found, shared, _ = wider.scores(values, head, mod, outside)
    found_labels = wider.label_scores(shared)
    assert np.allclose(found, scores, rtol=1e-3, atol=1e-3)
    assert np.allclose(found_labels[: len(head), : len(LABELS)], labels, rtol=1e-3, atol=1e-3)
    nothing = np.zeros_like(outside)
    for one, other in zip(
        wider.scores(values, head, mod, nothing), network.scores(values, head, mod)
    ):
        assert np.array_equal(one, other)
    again = Network.from_arrays(wider.to_arrays())
    assert again.outside_width == 12 and network.outside_width == 0
    assert np.array_equal(again.scores(values, head, mod, outside)[0], found)
    for wrong, width in ((None, 0), (outside[:, :8], 8)):
        with pytest.raises(ModelError, match=f"from outside have {width} numbers, expected 12"):
            wider.marks(values, head, mod, wrong)


@given(CASES)
def test_probabilities_and_marks_follow_their_definition(case: tuple[int, int]) -> None:
    network, values, head, mod = random_case(*case)
    scores, labels = scores_by_definition(network, values, head, mod)
    expected = labels - labels.max(axis=1, keepdims=True)
    expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
    for m in np.unique(mod):
        own = scores[mod == m]
        total = own.max() + np.log(np.exp(own - own.max()).sum())
        expected[mod == m] += (own - total)[:, np.newaxis]
    found = log_probabilities(network, values, head, mod)
    assert found == pytest.approx(expected, abs=2e-3)
    marks = network.marks(values, head, mod)
    assert marks.dtype == np.uint16 and marks.shape == (case[1] + 1, case[1] + 1)
    best = (marks[head, mod] & 1023).astype(int) - 1
    every = np.arange(len(head))
    assert labels[every, best] == pytest.approx(labels.max(axis=1), abs=2e-3)
    marks[head, mod] = 0
    assert not marks.any()  # nothing is said of other arcs


@given(CASES)
def test_arcs_do_not_depend_on_each_other_to_the_last_bit(case: tuple[int, int]) -> None:
    network, values, head, mod = random_case(*case)
    rng = np.random.default_rng(case[0])
    of_some = np.flatnonzero(np.isin(mod, rng.choice(mod, 2)))
    whole = log_probabilities(network, values, head, mod)
    some = log_probabilities(network, values, head[of_some], mod[of_some])
    assert np.array_equal(some, whole[of_some])


def test_what_is_known_of_arcs_has_a_row_of_its_own() -> None:
    n = 50
    values = encode(sentence_of(np.random.default_rng(1), n))
    head, mod = (np.array(x, np.int32) for x in zip(*[
        (h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m
    ]))  # fmt: skip
    rows = arc_rows(head, mod, values)
    assert rows.shape == (len(head), 5)
    assert rows.min() == 0 and rows.max() < ARC_VALUES
    assert len(np.unique(rows[:, 0])) == 20
    for column in rows.T:
        assert not set(np.unique(column[head < mod])) & set(np.unique(column[head > mod]))


def test_files_hold_the_same_network(tmp_path: Path) -> None:
    network, values, head, mod = random_case(11, 8)
    path = tmp_path / "network.npz"
    write_archive(path, "network", 1, network.to_arrays())
    arrays = read_archive(path, "network", 1, NETWORK_ARRAYS)
    again = Network.from_arrays(arrays, str(path))
    assert again.labels == network.labels and again.sizes == network.sizes
    one, other = (each.marks(values, head, mod) for each in (again, network))
    assert np.array_equal(one, other)
    assert np.array_equal(
        log_probabilities(again, values, head, mod), log_probabilities(network, values, head, mod)
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network_keys": None}, r"array network_keys is missing"),
        ({"network_weights": np.zeros(7, np.float32)}, "network_weights has 7 elements"),
        ({"network_sizes": np.array([8, 16, 2, 12])}, "sizes of the network"),
        ({"network_sizes": np.array([8, 15, 2, 12, 4])}, "sizes of the network"),
        ({"network_sizes": np.array([8, 16, 99, 12, 4])}, "sizes of the network"),
        ({"network_names": np.array(["obj", "case"])}, "expected sorted labels"),
        ({"network_keys": np.zeros(3, np.uint32)}, "dtype uint32"),
    ],
)
def test_damaged_arrays_are_refused(changes: dict[str, Any], message: str) -> None:
    arrays = random_case(5, 6)[0].to_arrays() | changes
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises(ModelError, match=f"x.model: .*{message}"):
        Network.from_arrays(arrays, "x.model")


def test_what_does_not_fit_is_refused() -> None:
    network = random_case(5, 6)[0]
    p, keys, vectors = network.parameters, network.keys, network.vectors
    with pytest.raises(ModelError, match="vectors have shape"):
        Network(LABELS, SIZES, keys, vectors[:, :4], p)
    with pytest.raises(ModelError, match="keys are not sorted"):
        Network(LABELS, SIZES, keys[::-1], vectors, p)
    with pytest.raises(ModelError, match="first_w has shape"):
        Network(LABELS, SIZES, keys, vectors, {**p, "first_w": p["first_w"][:4]})
    broken = p["out_w"].copy()
    broken[3] = np.nan
    with pytest.raises(ModelError, match="out_w has elements that are no finite numbers"):
        Network(LABELS, SIZES, keys, vectors, {**p, "out_w": broken})


PLAIN: dict[str, Any] = {
    "templates": {"bits": 8, "arc": ["h.upos m.upos"]},
    "pruner": {"templates": {"bits": 8, "arc": ["h.upos m.upos"]}},
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": {"width": 40}}, "network.width is 40, expected a multiple of 16"),
        ({"network": {"word": 6}}, "network.word is 6, expected a multiple of 4"),
        ({"network": {"layers": 17}}, "network.layers is 17"),
        ({"network": {"dropout": 1.0}}, "network.dropout is 1.0"),
        ({"network": {"batch": 0}}, "network.batch is 0"),
        ({"network": {"depth": 2}}, "unknown key 'depth' in .network."),
    ],
)
def test_configurations_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Configuration.from_table({**PLAIN, **changes})


def test_configurations_with_a_network_survive_being_written() -> None:
    table = {
        **PLAIN, "guide": {"epochs": 2},
        "network": {"word": 12, "width": 32, "dropout": 0.5},
    }  # fmt: skip
    config = Configuration.from_table(table)
    assert Configuration.from_table(config.to_table()) == config
