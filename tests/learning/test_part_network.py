"""Learning a network that scores parts: sums over trees by enumeration, gradients, a parser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.learning.chart_kernels import TreeChart, gold_parts, log_sum, tree_chart
from bbparse.learning.network import Batch, NetworkLearner, Trees
from bbparse.learning.train import train
from bbparse.model.file import load_model, save_model
from bbparse.network.encoder import known_rows
from bbparse.network.learning import vocabulary
from bbparse.parsing.parser import Parser
from bbparse.problem import Problem
from bbparse.problem.quantum import QUANTUM
from bbparse.scoring.network import WORD_COLUMNS
from bbparse.treebank.encode import encode
from tests import toy
from tests.learning.test_network import data_of, labels_of
from tests.oracles.enumerate import enumerate_trees
from tests.slopes import assert_gradients


@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
def test_sums_over_trees_are_those_of_enumeration(seed: int, n: int, single_root: bool) -> None:
    rng = np.random.default_rng(seed)
    arcs = [(h, m) for h in range(n + 1) for m in range(1, n + 1)
            if h != m and (h == m - 1 or rng.random() < 0.7)]  # fmt: skip
    head, mod = np.array(arcs, np.int32).T.copy()
    chart = TreeChart(*tree_chart(n, head, mod, single_root))
    scores = [rng.normal(size=k) for k in (len(head), chart.sib.shape[1], chart.gc.shape[1])]
    slopes = [np.zeros_like(some) for some in scores]
    found = log_sum(tuple(chart), *scores, *slopes)
    names = ("sib_head", "sib_inner", "sib_outer", "gc_grand", "gc_head", "gc_mod")
    words = dict(zip(names, (*chart.sib, *chart.gc)))
    problem = Problem(
        n, head, mod, scores[0], **words, sib_score=scores[1], gc_score=scores[2],
        single_root=single_root,
    )  # fmt: skip
    trees = enumerate_trees(problem)
    total = np.logaddexp.reduce([score for score, _ in trees])
    assert found == pytest.approx(total)
    expected = [np.zeros_like(some) for some in scores]
    for score, arcs_of in trees:
        heads = np.zeros(n + 1, np.int32)
        heads[mod[list(arcs_of)]] = head[list(arcs_of)]
        parts = gold_parts(heads, head, mod, chart.sib, chart.gc)
        for own, fires in zip(expected, parts):
            own[fires] += np.exp(score - total)
            assert fires.sum() <= n
        assert sum(v[f].sum() for v, f in zip(scores, parts)) == pytest.approx(score)
    for slope, own in zip(slopes, expected):
        assert slope == pytest.approx(own, abs=1e-6)


@pytest.mark.parametrize("learned_from", [range(6), range(2, 5)])
def test_gradients_are_those_of_the_loss(learned_from: Sequence[int]) -> None:
    config = toy.part_configuration()
    data = data_of(config, 6)
    labels = labels_of(data)
    keys = vocabulary(data.values, WORD_COLUMNS, 2)
    rows = {i: known_rows(data.values[i], keys, WORD_COLUMNS) for i in range(6)}
    names = {
        i: np.array([labels.index(x) for x in s.deprels], np.int64)
        for i, s in enumerate(data.sentences)
    }
    trees = {i: Trees.of(data, i, True) for i in learned_from}
    batch = Batch(data, list(range(6)), rows, names, trees)
    learner = NetworkLearner(config.trees, len(keys), len(labels), 3)
    assert_gradients(learner, lambda: learner.loss(batch, dropout=False))


def test_a_parser_adds_what_the_network_says(tmp_path: Path) -> None:
    config = toy.part_configuration()
    sentences = toy.sentences()
    model = train(sentences[:40], (), config, factors=["siblings"])
    trees = model.maker.trees
    assert trees is not None
    save_model(model, tmp_path / "some.model")
    again = load_model(tmp_path / "some.model")
    for sentence in sentences[40:48]:
        (one,), (other,) = model.maker([sentence]), again.maker([sentence])
        for name in ("arc_score", "sib_score", "gc_score", "gsib_score"):
            assert np.array_equal(getattr(one.problem, name), getattr(other.problem, name))
        p, values = one.problem, encode(sentence)
        assert len(p.sib_score) and np.array_equal(p.sib_score % QUANTUM, 0.0 * p.sib_score)
        arcs = p.arc_head, p.arc_mod
        alone = replace(model.maker, trees=None).over_arcs(sentence, values, *arcs, one.marks)
        added = trees.scores(values, *arcs)[0] * config.trees.weight
        assert p.arc_score == pytest.approx(alone.arc_score + added, abs=QUANTUM)
        assert not len(alone.sib_score) and np.array_equal(alone.gsib_score, p.gsib_score)
    parses = [
        [tuple(parse.solution.heads[0]) for parse in Parser(again).parse_all(sentences, threads=k)]
        for k in (1, 3)
    ]
    assert parses[0] == parses[1]


def test_arcs_may_cross_beside_it() -> None:
    config = toy.part_configuration().with_("model", projective=False)
    model = train(toy.sentences()[:12], (), config, factors=[])
    assert model.maker.trees is not None
    for one in model.maker(toy.sentences()[12:20]):
        p = one.problem
        assert not p.projective and len(p.sib_score) and len(p.gc_score)
        added = model.maker.trees.scores(one.values, p.arc_head, p.arc_mod)[0]
        alone = replace(model.maker, trees=None).over_arcs(
            one.sentence, one.values, p.arc_head, p.arc_mod, one.marks
        )
        expected = alone.arc_score + added * config.trees.weight
        assert p.arc_score == pytest.approx(expected, abs=QUANTUM)
