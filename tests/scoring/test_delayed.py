"""Triples on demand: against scoring them all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bbparse.configuration.templates import TemplateSet
from bbparse.errors import ConfigError
from bbparse.pricing import price_and_cut
from bbparse.problem import Problem
from bbparse.scoring import delayed
from bbparse.scoring.delayed import DelayedScorer
from bbparse.scoring.scorer import PartScorer
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.encode import encode

DATA = Path(__file__).parents[1] / "data"
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
        arcs = Problem.from_arc_scores(model.arcs.score_all_arcs(values), projective=False)
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
