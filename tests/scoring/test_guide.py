"""The guide: scores and marks against sums written down from the definition, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError, ModelError
from bbparse.scoring.encode import encode
from bbparse.scoring.guide import (
    GUIDE_ARRAYS,
    GUIDE_TEMPLATES,
    Guide,
    check_guide_templates,
    default_guide_templates,
)
from bbparse.scoring.guide_kernels import odds_step, sure_marks
from bbparse.scoring.label_rows import LABEL_QUANTUM
from bbparse.scoring.templates import TemplateSet
from bbparse.storage.archive import read_archive, write_archive
from bbparse.treebank import Sentence
from tests.scoring.reference import part_indices

LABELS = ("case", "nsubj", "obj")
SMALL = TemplateSet.from_table(
    {"bits": 10, "arc": ["h.upos m.upos @dirdist", "m.form", "h.form m.upos @betweenset"]}
)
THRESHOLDS = [0.001, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999]


def random_case(seed: int, n: int) -> tuple[Guide, np.ndarray, np.ndarray, np.ndarray]:
    """A guide with random weights, an encoded sentence, and some arcs into every word."""
    rng = np.random.default_rng(seed)
    most = int(rng.choice([1, 3000, 32000]))
    weights = rng.integers(-most, most + 1, (1 << SMALL.bits, len(LABELS))).astype(np.int16)
    values = encode(
        Sentence.from_words(
            [f"w{k}" for k in rng.integers(0, 9, n)],
            upos=[("NOUN", "VERB", "ADP")[k] for k in rng.integers(0, 3, n)],
        )
    )
    arcs = np.array(
        [(h, m) for h in range(n + 1) for m in range(1, n + 1)
         if h != m and (h == m - 1 or rng.random() < 0.6)], np.int32,
    )  # fmt: skip
    return Guide(SMALL, LABELS, weights), values, arcs[:, 0].copy(), arcs[:, 1].copy()


CASES = st.tuples(st.integers(0, 10**6), st.integers(1, 9))


@given(CASES)
def test_probabilities_and_marks_follow_their_definition(case: tuple[int, int]) -> None:
    guide, values, head, mod = random_case(*case)
    scores = np.zeros((len(head), len(LABELS)))
    for arc, (h, m) in enumerate(zip(head.tolist(), mod.tolist())):
        rows = part_indices(SMALL, "arc", values, {"h": h, "m": m})
        scores[arc] = guide.weights[rows, : len(LABELS)].sum(axis=0, dtype=np.int64)
    scores *= LABEL_QUANTUM
    expected = np.empty_like(scores)
    for m in np.unique(mod):
        own = scores[mod == m]
        total = own.max() + np.log(np.exp(own - own.max()).sum())
        expected[mod == m] = own - total
    assert guide.log_probabilities(values, head, mod) == pytest.approx(expected, abs=1e-4)
    marks = guide.marks(values, head, mod)
    assert marks.dtype == np.uint16
    n = case[1]
    assert marks.shape == (n + 1, n + 1)
    assert np.array_equal(marks[head, mod] & 1023, 1 + scores.argmax(axis=1))
    arc_probability = np.exp(expected).sum(axis=1)
    steps = (marks[head, mod] >> 10).astype(int) - 1
    for step, probability in zip(steps, arc_probability):
        # at an edge between steps either is right
        near = {int(np.searchsorted(THRESHOLDS, probability * (1 + e), "right"))
                for e in (-1e-4, 0.0, 1e-4)}  # fmt: skip
        assert step in near
    marks[head, mod] = 0
    assert not marks.any()  # nothing is said of other arcs


def test_steps_of_odds() -> None:
    found = [odds_step(p) for p in [0.0, *THRESHOLDS, 1.0]]
    assert found == [*range(12), 11]


def test_a_word_with_one_candidate_is_certain_of_it() -> None:
    guide, values, _, _ = random_case(3, 4)
    mod = np.arange(1, 5, dtype=np.int32)
    marks = guide.marks(values, mod - 1, mod)
    assert (marks[mod - 1, mod] >> 10 == 12).all()


@given(CASES)
def test_marks_of_a_tree_follow_from_those_among_other_candidates(case: tuple[int, int]) -> None:
    guide, values, head, mod = random_case(*case)
    rng = np.random.default_rng(case[0])
    tree = np.array(
        [rng.choice(np.flatnonzero(mod == m)) for m in range(1, case[1] + 1)], np.int64
    )
    alone = guide.marks(values, head[tree], mod[tree])
    sure = sure_marks(guide.marks(values, head, mod))
    np.testing.assert_array_equal(sure[head[tree], mod[tree]], alone[head[tree], mod[tree]])


def test_files_hold_the_same_guide(tmp_path: Path) -> None:
    guide, values, head, mod = random_case(11, 8)
    guide.weights[::3] = 0
    path = tmp_path / "guide.npz"
    write_archive(path, "guide", 1, guide.to_arrays())
    arrays = read_archive(path, "guide", 1, GUIDE_ARRAYS)
    again = Guide.from_arrays(SMALL, arrays, str(path))
    assert again.labels == guide.labels
    assert np.array_equal(again.weights, guide.weights)
    assert np.array_equal(again.marks(values, head, mod), guide.marks(values, head, mod))
    del arrays["guide_counts"]
    with pytest.raises(ModelError, match=r"guide\.npz: array guide_counts is missing"):
        Guide.from_arrays(SMALL, arrays, str(path))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ModelError, match="weights have shape"):
        Guide(SMALL, LABELS, np.zeros((4, 4), np.int16))
    with pytest.raises(ModelError, match="found 0, expected 1 to 512"):
        Guide(SMALL, ())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"sibling": ["h.upos s.upos"]}, "no arc template"),
        ({"arc": ["h.upos"], "sibling": ["h.upos s.upos"]}, "has sibling templates"),
        ({"arc": ["h.upos b.upos"]}, "words between"),
        ({"arc": ["h.upos @odds"]}, "has @odds, which only a guide can answer"),
    ],
)
def test_templates_that_a_guide_cannot_use(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_guide_templates(TemplateSet.from_table(table))


def test_default_templates_can_be_used() -> None:
    assert check_guide_templates(default_guide_templates()).to_table() == GUIDE_TEMPLATES


PLAIN: dict[str, Any] = {
    "templates": {"bits": 8, "arc": ["h.upos m.upos"]},
    "pruner": {"templates": {"bits": 8, "arc": ["h.upos m.upos"]}},
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"templates": {"arc": ["h.upos @label"]}}, "templates has @label, which needs a guide"),
        (
            {"labels": {"templates": {"sibling": ["h.upos @slabel"]}}},
            "labels.templates has @slabel, which needs a guide",
        ),
        (
            {"guide": {"epochs": 1}, "pruner": {"templates": {"arc": ["h.upos @odds"]}}},
            "pruner.templates has @odds, but pruning comes before",
        ),
        (
            {"guide": {"epochs": 1}, "labels": {"templates": {"arc": ["h.upos @odds"]}}},
            "has @odds, which say nothing",
        ),
        ({"guide": {"start": 0.0}}, "guide.start is 0.0"),
        ({"guide": {"folds": 0}}, "guide.folds is 0"),
        ({"guide": {"least": 12}}, "guide.least is 12, expected 0 to 11"),
        ({"guide": {"templates": {"arc": []}}}, "no arc template"),
        ({"guide": {"passes": 3}}, "unknown key 'passes' in .guide."),
    ],
)
def test_configurations_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Configuration.from_table({**PLAIN, **changes})


def test_configurations_with_a_guide_survive_being_written() -> None:
    table = {
        **PLAIN, "templates": {"arc": ["h.upos @label @odds"]},
        "guide": {"epochs": 2, "start": 3.0, "templates": {"bits": 9, "arc": ["h.form m.form"]}},
    }  # fmt: skip
    config = Configuration.from_table(table)
    assert Configuration.from_table(config.to_table()) == config
