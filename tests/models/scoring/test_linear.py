"""Scores and features of parts, against an oracle without kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbparse.core import Problem
from bbparse.core.parts import PART_NAMES
from bbparse.models.scoring.candidates import LONG, REACH, best_tree, prune_arcs
from bbparse.models.scoring.in_trees import in_projective_trees
from bbparse.models.scoring.linear import LinearScorer, difference
from bbparse.models.templates import ARC_ATOMS, KINDS, TemplateSet
from bbparse.runtime.errors import ModelError, ProblemError
from bbparse.treebank import Sentence
from bbparse.treebank.encode import ATTRIBUTES, PAD, encode
from tests.models.scoring.reference import (
    ATOM_NUMBER,
    candidate_parts,
    distance_bucket,
    part_indices,
    tree_features,
    tree_indices,
)
from tests.strategies import random_tree

FIELDS = {
    "arc": ("arc_score", {}),
    "sibling": ("sib_score", {"h": "sib_head", "s": "sib_inner", "m": "sib_outer"}),
    "grandchild": ("gc_score", {"g": "gc_grand", "h": "gc_head", "m": "gc_mod"}),
    "outermost_grandchild": ("ogc_score", {"g": "ogc_grand", "h": "ogc_head", "m": "ogc_mod"}),
    "grandsibling": (
        "gsib_score",
        {"g": "gsib_grand", "h": "gsib_head", "s": "gsib_inner", "m": "gsib_outer"},
    ),
}

TABLE: dict[str, Any] = {
    "bits": 12,
    "arc": [
        "h.{upos,lower} m.{upos,lemma} +@dirdist",
        "h-1.upos h.upos m.upos m+3.upos",
        "m.suffix2 @dist",
        "h.upos @dir @nverb",
        "h.upos m.upos {@npunct,@nconj,@betweenset}",
        "h.upos b.upos m.upos",
        "h.upos b.upos @dir +@dist",
        "m.upos b.upos b+1.upos",
        "h.upos b.lower +@dirdist",
    ],
    "sibling": ["h.upos s.lower m.upos +@sdirdist", "s.upos m.upos @sdist", "h.upos s-1.upos @dir"],
    "grandchild": ["g.upos h.upos m.upos +@gdir", "g.lower m.upos @gdir @gdist", "h.upos @dirdist"],
    "outermost_grandchild": ["h.upos m.upos", "g.upos m+1.upos +@gdist"],
    "grandsibling": [
        "g.upos h.upos s.upos m.upos @gdir",
        "g.upos s.upos +@gdir",
        "h.lower @sdist",
        "h.upos s.lower m.upos +@sdirdist",
        "g.lower m.upos @gdir @gdist",
        "g.upos m+1.upos +@gdist",
        "h.upos m.lower @dir @dist",
    ],
}
TEMPLATES = TemplateSet.from_table(TABLE)


def scorer_of(templates: TemplateSet, seed: int = 0) -> LinearScorer:
    scorer = LinearScorer(templates)
    scorer.weights[:] = np.random.default_rng(seed).integers(-99, 100, len(scorer.weights))
    return scorer


SCORER = scorer_of(TEMPLATES)


def random_sentence(rng: np.random.Generator, n: int) -> Sentence:
    tags = ("NOUN", "VERB", "ADP", "PUNCT", "CCONJ")
    return Sentence.from_words(
        [f"W{k}" for k in rng.integers(0, 12, n)],
        upos=[tags[k] for k in rng.integers(0, len(tags), n)],
    )


def random_arcs(rng: np.random.Generator, n: int) -> set[tuple[int, int]]:
    arcs = {(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m}
    return {arc for arc in sorted(arcs) if rng.random() < 0.7}


def same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> bool:
    return found.keys() == expected.keys() and all(
        np.array_equal(array, expected[name]) for name, array in found.items()
    )


def as_arrays(arcs: set[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    ordered = np.array(sorted(arcs), np.int32).reshape(-1, 2)
    return ordered[:, 0].copy(), ordered[:, 1].copy()


def scored(scorer: LinearScorer, values: np.ndarray, *given: Any) -> Problem:
    """The problem of given arcs (whether trees are projective or not makes no difference here)."""
    fields = scorer.score(values, *given)
    return Problem.trusted(len(values) - 2 * PAD - 1, given[0], given[1], **fields)


def parts_of(scores: Problem, kind: str, arcs: set[tuple[int, int]]) -> list[dict[str, int]]:
    _, columns = FIELDS[kind]
    if kind == "arc":
        return [{"h": h, "m": m} for h, m in sorted(arcs)]
    rows = zip(*(getattr(scores, field).tolist() for field in columns.values()))
    return [dict(zip(columns, row)) for row in rows]


def test_the_oracle_numbers_atoms_as_the_table_does() -> None:
    assert tuple(ARC_ATOMS) == ATOM_NUMBER
    assert [distance_bucket(d) for d in (1, 2, 5, 6, 10, 11, 99)] == [0, 1, 4, 5, 5, 6, 6]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.booleans(), st.booleans())
def test_parts_and_scores(seed: int, n: int, projective: bool, single_root: bool) -> None:
    rng = np.random.default_rng(seed)
    values = encode(random_sentence(rng, n))
    arcs = random_arcs(rng, n)
    scores = scored(SCORER, values, *as_arrays(arcs), projective, single_root)
    expected = candidate_parts(n, arcs, projective, single_root)
    for kind in KINDS:
        assert parts_of(scores, kind, arcs) == expected[kind]
        found = getattr(scores, FIELDS[kind][0])
        assert found.dtype == np.float64
        assert found.tolist() == [
            SCORER.weights[part_indices(TEMPLATES, kind, values, part)].sum()
            for part in expected[kind]
        ]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_features_of_trees(seed: int, n: int, projective: bool) -> None:
    rng = np.random.default_rng(seed)
    values = encode(random_sentence(rng, n))
    heads = np.array(random_tree(rng, n, projective), np.int32)
    others = np.array(random_tree(rng, n, projective), np.int64)
    found = tree_features(SCORER, values, heads)
    assert found.dtype == np.int64
    assert sorted(found.tolist()) == tree_indices(TEMPLATES, values, heads)
    indices, counts = difference(found, tree_features(SCORER, values, others))
    expected = Counter(found.tolist())
    expected.subtract(tree_indices(TEMPLATES, values, others))
    assert dict(zip(indices.tolist(), counts.tolist())) == {i: c for i, c in expected.items() if c}


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.booleans())
def test_the_score_of_a_tree_is_the_sum_of_its_features(
    seed: int, n: int, projective: bool
) -> None:
    rng = np.random.default_rng(seed)
    values = encode(random_sentence(rng, n))
    heads = np.array(random_tree(rng, n, projective), np.int32)
    arcs = random_arcs(rng, n) | {(int(heads[m]), m) for m in range(1, n + 1)}
    arc_head, arc_mod = as_arrays(arcs)
    scores = SCORER.score(values, arc_head, arc_mod, projective)
    problem = Problem(n, arc_head, arc_mod, projective=projective, **scores)
    assert problem.score(heads) == SCORER.weights[tree_features(SCORER, values, heads)].sum()


def test_all_arcs() -> None:
    rng = np.random.default_rng(5)
    values = encode(random_sentence(rng, 6))
    square = SCORER.score_all_arcs(values)
    arcs = {(h, m) for h in range(7) for m in range(1, 7) if h != m}
    arc_head, arc_mod = as_arrays(arcs)
    expected = np.full((7, 7), -np.inf)
    expected[arc_head, arc_mod] = SCORER.score(values, arc_head, arc_mod)["arc_score"]
    assert np.array_equal(square, expected)


def test_every_value_between_counts_once() -> None:
    scorer = LinearScorer(TemplateSet.from_table({"bits": 28, "arc": ["h.upos b.form"]}))
    values = encode(Sentence.from_words([f"w{i % 70}" for i in range(100)]))
    heads = np.array([-1, *[100] * 99, 0])
    expected = [min(70, 99 - m) for m in range(1, 100)]
    assert len(tree_features(scorer, values, heads)) == sum(expected) + 70


@pytest.mark.parametrize("n", [1, 2, 30, 130])
def test_sentences_of_all_lengths(n: int) -> None:
    rng = np.random.default_rng(n)
    values = encode(random_sentence(rng, n))
    heads = np.array(random_tree(rng, n), np.int32)
    arcs = {(int(heads[m]), m) for m in range(1, n + 1)}
    scores = scored(SCORER, values, *as_arrays(arcs))
    total = sum(getattr(scores, field).sum() for field in ("arc_score", "gc_score"))
    arcs_alone = LinearScorer(
        TemplateSet.from_table({k: TABLE[k] for k in ("bits", "arc", "grandchild")}), SCORER.weights
    )
    assert total == arcs_alone.weights[tree_features(arcs_alone, values, heads)].sum()


def test_order_and_company_of_templates_do_not_matter() -> None:
    values = encode(random_sentence(np.random.default_rng(1), 6))
    heads = np.array(random_tree(np.random.default_rng(2), 6), np.int32)
    lines = TABLE["arc"]
    whole = scorer_of(TemplateSet.from_table({"bits": 12, "arc": lines}))
    turned = scorer_of(TemplateSet.from_table({"bits": 12, "arc": lines[::-1]}))
    single = [
        tree_features(scorer_of(TemplateSet.from_table({"bits": 12, "arc": [line]})), values, heads)
        for line in lines
    ]
    expected = np.sort(tree_features(whole, values, heads))
    assert np.array_equal(np.sort(tree_features(turned, values, heads)), expected)
    assert np.array_equal(np.sort(np.concatenate(single)), expected)


def test_no_templates_at_all() -> None:
    scorer = LinearScorer(TemplateSet.from_table({"bits": 4}))
    values = encode(Sentence.from_words(["a", "b"]))
    scores = scored(scorer, values, np.array([0, 1], np.int32), np.array([1, 2], np.int32))
    assert scores.arc_score.tolist() == [0.0, 0.0]
    assert all(len(getattr(scores, f"{kind}_score")) == 0 for kind in PART_NAMES)
    assert len(tree_features(scorer, values, np.array([-1, 0, 1]))) == 0


def test_outermost_grandchildren_without_grandchildren() -> None:
    lines = TABLE["outermost_grandchild"]
    scorer = scorer_of(TemplateSet.from_table({"bits": 9, "outermost_grandchild": lines}))
    values = encode(Sentence.from_words(["a", "b"]))
    scores = scored(scorer, values, np.array([0, 1], np.int32), np.array([1, 2], np.int32))
    assert (scores.ogc_grand.tolist(), scores.ogc_head.tolist()) == ([0], [1])
    assert len(scores.ogc_score) == 1
    assert len(scores.gc_score) == len(scores.gc_mod) == 0


def test_threads_get_the_same_scores() -> None:
    rng = np.random.default_rng(3)
    cases = []
    for n in range(2, 22):
        arcs = random_arcs(rng, n)
        cases.append((encode(random_sentence(rng, n)), *as_arrays(arcs)))
    alone = [SCORER.score(*case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda case: SCORER.score(*case), cases * 3))
    for found, expected in zip(together, alone * 3):
        assert same(found, expected)


def test_weights_are_used_in_place_and_checked() -> None:
    weights = np.zeros(1 << TEMPLATES.bits, np.int32)
    scorer = LinearScorer(TEMPLATES, weights, quantum=0.25)
    weights[:] = 4
    values = encode(Sentence.from_words(["a"]))
    found = scorer.score_all_arcs(values)[0, 1]
    alone = LinearScorer(TemplateSet.from_table({"bits": 12, "arc": TABLE["arc"]}))
    assert found == len(tree_features(alone, values, np.array([-1, 0])))
    with pytest.raises(ModelError, match=r"weights have shape \(3,\) and dtype int32, expected"):
        LinearScorer(TEMPLATES, np.zeros(3, np.int32))
    with pytest.raises(ModelError, match="dtype float64"):
        LinearScorer(TEMPLATES, np.zeros(1 << TEMPLATES.bits))  # type: ignore[arg-type]


def test_trees_are_checked() -> None:
    values = encode(Sentence.from_words(["a", "b"]))
    with pytest.raises(ProblemError, match=r"heads: found shape \(2,\), expected \(3,\)"):
        tree_features(SCORER, values, np.array([-1, 0]))
    for wrong in (-1, 3):
        with pytest.raises(ProblemError, match=r"heads\[2\] is (-1|3), expected 0 to 2"):
            tree_features(SCORER, values, np.array([-1, 0, wrong]))
    frozen = np.array([-1, 0, 1], np.int32)
    frozen.setflags(write=False)
    assert len(tree_features(SCORER, values, frozen))


FEATURES = """
import numpy as np
from bbparse.treebank.encode import encode
from bbparse.models.scoring.linear import LinearScorer
from bbparse.models.templates import TemplateSet
from bbparse.treebank import Sentence
table = {"bits": 20, "arc": ["h.upos m.lower @dist +@dir", "h.upos b.upos"],
         "grandsibling": ["g.upos h.upos s.upos m.upos"]}
values = encode(Sentence.from_words(["a", "b", "c"], upos=["DET", "NOUN", "VERB"]))
scorer = LinearScorer(TemplateSet.from_table(table))
print(*scorer.features.of_tree(values, np.array([-1, 2, 3, 0])))
"""
#: Models saved by earlier versions find their weights at these places.
INDICES = "59442 157709 173314 206951 268819 325239 595174 770689 824518 942400 960893"


def test_indices_are_those_of_every_process_and_version() -> None:
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", FEATURES],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert sorted(map(int, done.stdout.split())) == sorted(map(int, INDICES.split()))


def test_the_table_has_columns_of_all_attributes() -> None:
    lines = [f"h.{name} m.{name}" for name in ATTRIBUTES]
    scorer = LinearScorer(TemplateSet.from_table({"bits": 20, "arc": lines}))
    values = encode(Sentence.from_words(["a", "b"]))
    features = tree_features(scorer, values, np.array([-1, 0, 1]))
    assert len(set(features.tolist())) == 2 * len(ATTRIBUTES)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [LONG, LONG + 1, 2 * LONG + 7])
def test_long_sentences_keep_likely_arcs_nearby_and_a_tree(n: int, single_root: bool) -> None:
    values = encode(random_sentence(np.random.default_rng(n), n))
    square = SCORER.score_all_arcs(values)
    likely = SCORER.score_likely_arcs(values)
    head, mod = prune_arcs(likely, 4, np.inf, best_tree(likely, single_root))
    kept = np.zeros_like(square, bool)
    kept[head, mod] = True
    assert len(in_projective_trees(n, head, mod, single_root)[0])
    heads, words = np.arange(n + 1)[:, np.newaxis], np.arange(1, n + 1)
    if n > LONG:
        square[(np.abs(heads - np.arange(n + 1)) > REACH) & (heads > 0)] = -np.inf
    best = np.argsort(-square[:, 1:], axis=0, kind="stable")[:4]
    assert kept[best, words].all()
    assert (kept.sum(axis=0)[1:] <= 5).all()  # the tree's may be a fifth
