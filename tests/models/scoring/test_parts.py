"""Scores of parts, at once or delayed."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.core import Problem
from bbparse.inference.programs.price_and_cut import price_and_cut
from bbparse.models.scoring import delayed
from bbparse.models.scoring.candidates import all_arcs, prune_arcs
from bbparse.models.scoring.compile import WALKS
from bbparse.models.scoring.delayed import DelayedScorer
from bbparse.models.scoring.in_trees import in_projective_trees
from bbparse.models.scoring.parts import parts_not_in
from bbparse.models.scoring.scorer import PartScorer, difference
from bbparse.models.templates import TemplateSet
from bbparse.runtime.errors import ConfigError
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.encode import encode
from tests.models.scoring.reference import tree_parts
from tests.oracles.enumerate import enumerate_trees
from tests.oracles.spans import arcs_in_projective_trees
from tests.strategies import random_tree

ROLES = ("g", "h", "s", "m")


def rows(roles: str, columns: tuple[np.ndarray, ...]) -> list[dict[str, int]]:
    """Parts as the oracle writes them, without the roles the walk has not."""
    own = {role: column for role, column in zip(ROLES, columns) if role in roles}
    assert all(not len(column) for role, column in zip(ROLES, columns) if role not in own)
    return [dict(zip(own, row)) for row in zip(*(column.tolist() for column in own.values()))]


@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.booleans())
def test_parts_of_trees(seed: int, n: int, projective: bool) -> None:
    rng = np.random.default_rng(seed)
    heads = random_tree(rng, n, projective)
    others = random_tree(rng, n, projective)
    expected, not_in = tree_parts(heads), tree_parts(others)
    one, two = np.array(heads, np.int32), np.array(others, np.int32)
    for number, (kind, roles) in enumerate(WALKS):
        alone = [part for part in expected[kind] if part not in not_in[kind]]
        for compare, wanted in ((False, expected[kind]), (True, alone)):
            kept = [{role: part[role] for role in roles} for part in wanted]
            assert rows(roles, parts_not_in(one, two, number, compare)) == kept


@given(st.lists(st.integers(0, 20)), st.lists(st.integers(0, 20)))
def test_difference_is_that_of_multisets(added: list[int], removed: list[int]) -> None:
    indices, counts = difference(np.array(added, np.int64), np.array(removed, np.int64))
    expected = Counter(added)
    expected.subtract(removed)
    assert indices.tolist() == sorted(index for index, count in expected.items() if count)
    assert counts.tolist() == [expected[index] for index in indices.tolist()]


@pytest.mark.parametrize("reach", [1, 3, 8, 20])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_arcs_of_a_reach(n: int, reach: int) -> None:
    head, mod = all_arcs(n, reach)
    assert list(zip(head.tolist(), mod.tolist())) == [
        (h, m)
        for h, m in product(range(n + 1), range(1, n + 1))
        if h != m and (h == 0 or abs(h - m) <= reach)
    ]


def random_scores(rng: np.random.Generator, n: int) -> np.ndarray:
    """Few distinct values, for ties, and some arcs that are not there."""
    scores = rng.integers(-4, 5, (n + 1, n + 1)).astype(np.float64)
    scores[rng.random((n + 1, n + 1)) < 0.15] = -np.inf
    np.fill_diagonal(scores, -np.inf)
    scores[:, 0] = -np.inf
    return scores


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(0, 11),
    st.sampled_from([0.0, 1.0, 3.5, np.inf]), st.booleans(),
)  # fmt: skip
def test_pruning(seed: int, n: int, k: int, margin: float, with_tree: bool) -> None:
    rng = np.random.default_rng(seed)
    scores = random_scores(rng, n)
    best = np.array(random_tree(rng, n) if with_tree else [-1] * (n + 1), np.int32)
    head, mod = prune_arcs(scores, k, margin, best)
    expected = set()
    for m in range(1, n + 1):
        ranked = sorted(
            (h for h in range(n + 1) if scores[h, m] > -np.inf), key=lambda h: (-scores[h, m], h)
        )
        kept = ranked[: k or None]
        expected |= {(h, m) for h in kept if scores[h, m] >= scores[ranked[0], m] - margin}
        if with_tree:
            expected.add((int(best[m]), m))
    assert list(zip(head.tolist(), mod.tolist())) == sorted(expected)
    assert head.dtype == mod.dtype == np.int32


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans())
def test_arcs_that_no_tree_has_are_found(seed: int, n: int, single_root: bool) -> None:
    rng = np.random.default_rng(seed)
    arc_head, arc_mod = np.nonzero(rng.random((n + 1, n + 1)) < 0.5)
    chosen = (arc_mod > 0) & (arc_head != arc_mod)
    arc_head, arc_mod = arc_head[chosen].astype(np.int32), arc_mod[chosen].astype(np.int32)
    used: set[int] = set()
    if len(arc_head):
        problem = Problem(n, arc_head, arc_mod, np.zeros(len(arc_head)), single_root=single_root)
        used = {int(a) for _, arcs in enumerate_trees(problem) for a in arcs}
    expected = sorted(used)
    head, mod = in_projective_trees(n, arc_head, arc_mod, single_root)
    assert (head.tolist(), mod.tolist()) == (
        arc_head[expected].tolist(), arc_mod[expected].tolist()
    )  # fmt: skip


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 9, 30, 61, 62, 63, 80, 127, 128, 140])
def test_arcs_that_no_tree_has_in_sentences_of_all_lengths(n: int, single_root: bool) -> None:
    rng = np.random.default_rng(n)
    for share in (0.05, 0.15, 0.4):
        arcs = rng.random((n + 1, n + 1)) < share
        arcs[np.array(random_tree(rng, n))[1:], np.arange(1, n + 1)] = True
        arcs[:, 0] = False
        np.fill_diagonal(arcs, False)
        arc_head, arc_mod = (a.astype(np.int32) for a in np.nonzero(arcs))
        head, mod = in_projective_trees(n, arc_head, arc_mod, single_root)
        expected = np.nonzero(arcs_in_projective_trees(arcs, single_root))
        assert len(head) < len(arc_head) or n < 9 or share > 0.1
        assert head.tolist() == expected[0].tolist()
        assert mod.tolist() == expected[1].tolist()


DATA = Path(__file__).parents[2] / "data"
GRANDCHILD = [
    "g.upos h.upos m.upos +@gdir", "g.upos m.upos @gdist", "h.tag m.tag @dirdist",
    "g.lemma m.lemma", "g.upos m-1.lemma +@dist", "g.lower h.upos +@gdist",
    "h+1.upos m.upos @gdir @gdist +@dirdist",
]  # fmt: skip


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    found = [s for path in sorted(DATA.glob("*.conllu")) for s in read_conllu(path)]
    return [s for s in found if 3 <= s.n_words <= 14][:12]


@pytest.fixture
def scorer() -> PartScorer:
    templates = TemplateSet.from_table(
        {"bits": 12, "arc": ["h.upos m.upos @dir", "h.lemma m.lemma"], "grandchild": GRANDCHILD}
    )
    rng = np.random.default_rng(201)
    weights = (rng.integers(-20, 21, 1 << 12) * (rng.random(1 << 12) < 0.2)).astype(np.int8)
    return PartScorer(templates, weights, 0.25)


def whole_problem(scorer: PartScorer, sentence: Sentence) -> Problem:
    """All arcs and triples, scored."""
    n = sentence.n_words
    head, mod = np.nonzero(~np.eye(n + 1, dtype=bool) & (np.arange(n + 1) > 0))
    head, mod = head.astype(np.int32), mod.astype(np.int32)
    parts = scorer.score(encode(sentence), head, mod, projective=False)
    return Problem(n, head, mod, **parts, projective=False)


@pytest.mark.parametrize("kept", [1 << 18, 100])
def test_the_best_trees_are_those_of_the_whole_problem(
    sentences: list[Sentence], scorer: PartScorer, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delayed, "_KEPT", kept)
    model = DelayedScorer(scorer)
    scored = total = 0
    for sentence in sentences:
        p = whole_problem(scorer, sentence)
        values = encode(sentence)
        columns = model.columns(values)
        triples = (p.gc_grand, p.gc_head, p.gc_mod)
        assert columns.score(*(a.astype(np.int64) for a in triples)).tolist() == p.gc_score.tolist()
        assert (p.gc_score <= columns.bound[p.gc_head, p.gc_mod]).all()
        assert (p.gc_score <= columns.grand_bound[p.gc_grand, p.gc_head]).all()
        assert (p.gc_score <= columns.outer_bound[p.gc_grand, p.gc_mod]).all()
        arcs = Problem.from_arc_scores(model.arcs.score_all_arcs(values).T, projective=False)
        s, expected = price_and_cut(arcs, columns=columns), price_and_cut(p)
        assert s.status == "optimal"
        assert s.scores == pytest.approx(expected.scores)
        assert s.stats["triples"] == len(p.gc_score)
        scored, total = scored + s.stats["scored"], total + s.stats["triples"]
    assert 0 < scored <= total


def test_models_of_other_parts() -> None:
    table = {"bits": 8, "arc": ["h.upos m.upos"], "sibling": ["h.upos s.upos m.upos"]}
    with pytest.raises(ConfigError, match="only models of arcs and grandchildren"):
        DelayedScorer(PartScorer(TemplateSet.from_table(table)))
