"""How sure a parser is; and what a model says of labelled arcs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bbparse.apps.explain.explanation import arc_gaps
from bbparse.core.order import sort_arcs
from bbparse.inference.solve import solve
from bbparse.parser.arc_scores import ModelScores
from bbparse.parser.confidence import KNOTS, NOTE, Calibration, evidence_of, gap_bounds
from bbparse.parser.parser import Parser
from bbparse.parser.validity.repair import RepairOptions, repair
from bbparse.parser.validity.rules import Rules
from bbparse.treebank import NO_HEAD
from tests import toy
from tests.permuted import permuted
from tests.strategies import random_problem


def sure_parser():  # type: ignore[no-untyped-def]
    rows = list(toy.parser().calibration_data(toy.dev_sentences()))
    return toy.changed(toy.parser(), notes={NOTE: Calibration.fitted(rows).note()}), rows


def test_no_gap_is_less_than_its_bound() -> None:
    rng, shuffle = np.random.default_rng(2), np.random.default_rng(3)
    tight = checked = 0
    for _ in range(60):
        problem = sort_arcs(
            random_problem(rng, max_words=5, projective=True, labelled=False, scale="normal")
        )[0]
        found = solve(problem, explain=False)
        if not len(found):
            continue
        least, rivals = gap_bounds(problem, found.arcs[0])
        other, order = permuted(shuffle, problem)
        again = gap_bounds(other, np.argsort(order)[found.arcs[0]])
        np.testing.assert_allclose(again[0], least, atol=1e-6)
        for m, gap in enumerate(arc_gaps(problem, found.arcs[0], found.scores[0])):
            assert gap.gap >= least[m] - 1e-6
            assert (rivals[m] < 0) == (least[m] == np.inf) and rivals[m] != found.heads[0, m + 1]
            checked += 1
            tight += bool(math.isclose(gap.gap, least[m], abs_tol=1e-6))
    assert checked > 100 and tight > checked / 3


def test_confidence_of_arcs_and_trees() -> None:
    parser, rows = sure_parser()
    right = np.concatenate([one.right for one in rows])
    either = np.concatenate([one.top2 for one in rows])
    nlp = parser
    doc = nlp(toy.dev_sentences(), confidence=True)
    sure = np.array([word.confidence for sentence in doc for word in sentence])
    assert len(sure) == len(right) and ((sure > 0) & (sure < 1)).all()
    assert abs(sure.mean() - right.mean()) < 0.01
    assert sure[right].mean() > sure[~right].mean() + 0.05
    both = np.array([word.top2_probability for sentence in doc for word in sentence])
    assert (both >= sure).all() and abs(both.mean() - either.mean()) < 0.02
    assert either.mean() > right.mean()
    assert all(
        word.runner_up_head not in (word.head, word.id) for sentence in doc for word in sentence
    )
    assert all(0 < sentence.best.confidence < 1 for sentence in doc)
    assert f"Confidence={sure[0]:.2f}" in doc[0].to_conllu()
    assert "# confidence = 0." in doc[0].to_conllu()
    assert doc[0].to_dict()["trees"][0]["confidences"][0] == sure[0]


def test_a_word_has_the_gap_of_its_head_among_its_features() -> None:
    model = toy.parser().model
    (scored,) = model.maker(toy.dev_sentences()[:1])
    arcs = solve(scored.problem).arcs[0]
    most = KNOTS[-1]
    gaps = np.clip(gap_bounds(scored.problem, arcs)[0], -most, most)
    columns = evidence_of(model, scored, arcs, ["_"] * len(arcs)).columns
    heads = scored.problem.arc_head[arcs].tolist()
    assert columns[:, 1 + len(KNOTS)].tolist() == [gaps[h - 1] if h else most for h in heads]


def test_a_tree_is_no_surer_than_an_arc() -> None:
    sure = Calibration(np.zeros(1), np.zeros(1), np.array([9.0, 0.0, 0.0, 0.0]))
    assert sure.of_tree(np.array([0.9, 0.3])) == 0.3


def test_training_with_dev_trees_calibrates(tmp_path: Path) -> None:
    path, dev = tmp_path / "sure.model", toy.dev_sentences()
    config = toy.configuration().with_("learning", epochs=1)
    trained = Parser.train(toy.sentences()[:30], dev, config, model=path)
    for parser in (trained, Parser.load(path)):
        (tree, *_) = parser.parse(dev[0], confidence=True)
        assert 0 < tree.confidence < 1 and len(tree.confidences) == dev[0].n_words
    right = trained.calibrate(dev)
    assert right.dtype == bool and len(right) == sum(one.n_words for one in dev)


@pytest.mark.parametrize("parser", [toy.parser, toy.network_parser])
def test_missing_arcs_are_the_probable_ones(parser: Callable[[], Parser]) -> None:
    scores, ud = ModelScores(parser()), Rules.load("ud")
    right = {True: 0, False: 0}
    total = 0
    for sentence in toy.dev_sentences()[:60]:
        table = scores(sentence)
        n = sentence.n_words
        assert table.shape == (n + 1, n + 1, len(scores.labels))
        table[np.arange(n + 1), np.arange(n + 1)] = -np.inf
        np.testing.assert_allclose(np.exp(table[1:]).sum(axis=(1, 2)), 1.0)
        gap = n // 2
        heads, labels = sentence.heads.copy(), sentence.deprels.copy()
        heads[gap], labels[gap] = NO_HEAD, "_"
        total += 1
        for with_model in right:
            options = RepairOptions(scores=scores if with_model else None)
            got = repair(replace(sentence, heads=heads, deprels=labels), ud, options=options)
            assert got.proved and not got.after
            new = got.heads[gap], got.labels[gap]
            right[with_model] += new == (sentence.heads[gap], sentence.deprels[gap])
    assert right[True] > 0.5 * total > 0.25 * total > right[False]
