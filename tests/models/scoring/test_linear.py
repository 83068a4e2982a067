"""Scores and features of parts, against an oracle without kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbparse.core import Problem
from bbparse.models.scoring.candidates import LONG, REACH, long_best_tree, prune_arcs
from bbparse.models.scoring.linear import QUANTUM, LinearScorer
from bbparse.models.templates import KINDS, TemplateSet
from bbparse.treebank import Sentence, is_projective
from bbparse.treebank.encode import PAD, encode
from tests.models.scoring.reference import (
    candidate_parts,
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
            SCORER.weights[part_indices(TEMPLATES, kind, values, part)].sum() * QUANTUM
            for part in expected[kind]
        ]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_features_of_trees(seed: int, n: int, projective: bool) -> None:
    rng = np.random.default_rng(seed)
    values = encode(random_sentence(rng, n))
    heads = np.array(random_tree(rng, n, projective), np.int32)
    found = tree_features(SCORER, values, heads)
    assert found.dtype == np.int64
    assert sorted(found.tolist()) == tree_indices(TEMPLATES, values, heads)


def test_all_arcs() -> None:
    rng = np.random.default_rng(5)
    values = encode(random_sentence(rng, 6))
    square = SCORER.score_all_arcs(values)
    arcs = {(h, m) for h in range(7) for m in range(1, 7) if h != m}
    arc_head, arc_mod = as_arrays(arcs)
    expected = np.full((7, 7), -np.inf)
    expected[arc_head, arc_mod] = SCORER.score(values, arc_head, arc_mod)["arc_score"]
    assert np.array_equal(square, expected)


@pytest.mark.parametrize(("n", "single_root"), [(LONG, False), (LONG + 1, True)])
def test_long_sentences_keep_likely_arcs_nearby_and_a_tree(n: int, single_root: bool) -> None:
    values = encode(random_sentence(np.random.default_rng(n), n))
    scorer = scorer_of(TemplateSet.from_table({"bits": 12, "arc": TABLE["arc"][:2]}))
    square = scorer.score_all_arcs(values)
    likely = scorer.score_all_arcs(values, n if n <= LONG else REACH)
    tree = long_best_tree(likely, single_root)
    head, mod = prune_arcs(likely, 4, np.inf, tree)
    kept = np.zeros_like(square, bool)
    kept[head, mod] = True
    heads, words = np.arange(n + 1)[:, np.newaxis], np.arange(1, n + 1)
    assert is_projective(tree[1:].tolist()) and kept[tree[1:], words].all()
    if n > LONG:
        square[(np.abs(heads - np.arange(n + 1)) > REACH) & (heads > 0)] = -np.inf
    best = np.argsort(-square[:, 1:], axis=0, kind="stable")[:4]
    assert kept[best, words].all()
    assert (kept.sum(axis=0)[1:] <= 5).all()  # the tree's may be a fifth
