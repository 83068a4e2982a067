"""Trees of the labelled mode against the enumeration of all trees and labels."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from bbparse.configuration import Configuration
from bbparse.factors import Feature, LabelledArc, LabelledFamily, LabelledView
from bbparse.labelled_trees import best_labels, joins_labels, label_problem, solve_by_heads
from bbparse.learning.train import train
from bbparse.parser import Parser
from bbparse.scoring.encode import encode
from tests import toy
from tests.factors.test_labelled import Once, configuration
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem


def test_the_k_best_trees_differ_in_heads() -> None:
    fewer = 0
    for seed in range(150):
        rng = np.random.default_rng([seed, 5])
        p = random_problem(rng, max_words=4, labelled=True, max_counts=1)
        best: dict[tuple[int, ...], float] = {}
        for score, arcs in enumerate_trees(p):
            best.setdefault(tuple(p.arc_head[list(arcs)].tolist()), score)
        for k in (1, 2, 5):
            found = solve_by_heads(p, k)
            expected = sorted(best.values(), reverse=True)[:k]
            assert found.scores.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-9)
            assert found.proved.all() and (found.upper_bounds == found.scores).all()
            assert len({tuple(heads) for heads in found.heads.tolist()}) == len(found)
            for arcs, heads, score in zip(found.arcs, found.heads, found.scores):
                assert p.arc_head[arcs].tolist() == heads[1:].tolist()
                assert p.score(arcs) == score
            if len(found):
                assert found.labels is not None and p.arc_label is not None
                assert (found.labels == p.arc_label[found.arcs]).all()
            fewer += len(best) < k
    assert fewer > 30


def test_what_is_not_proved_has_a_bound() -> None:
    open_ones = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 6])
        p = random_problem(
            rng, min_words=3, max_words=4, labelled=True, max_factors=12, scale="normal"
        )
        best: dict[tuple[int, ...], float] = {}
        for score, arcs in enumerate_trees(p):
            best.setdefault(tuple(p.arc_head[list(arcs)].tolist()), score)
        exact = sorted(best.values(), reverse=True)
        found = solve_by_heads(p, 4, node_limit=1)
        for k in range(len(found)):
            assert found.upper_bounds[k] >= exact[k] - 1e-9
            assert not found.proved[k] or found.scores[k] == pytest.approx(exact[k])
        open_ones += not found.proved.all()
    assert open_ones > 5


class Alternate(LabelledFamily):
    """Neighbouring modifiers of a word: whether their labels are equal, and what they are."""

    name = "alternate"

    def labelled_factors(self, view: LabelledView) -> Any:
        """See `LabelledFamily.labelled_factors`."""
        arcs: list[LabelledArc] = list(view.labelled_arcs)
        for a, b in itertools.combinations(arcs, 2):
            if a[0] == b[0] and a[1] != b[1]:
                features: list[Feature] = [("equal", a[2] == b[2]), (a[2], b[2])]
                yield [a, b], features


@pytest.fixture(scope="module")
def parser() -> Parser:
    config: Configuration = configuration(("siblings",), mode="arcs", per_arc=3, weight=1.0)
    return train(
        toy.sentences()[:60], [], config, factors=["siblings", Once(), Alternate()]
    )


def test_labels_are_the_best_of_labeller_and_families_together(parser: Parser) -> None:
    labeller, guide = parser.labeller, parser.guide
    assert labeller is not None and guide is not None and joins_labels(parser)
    rng = np.random.default_rng(3)
    parser.table.weights[:] = rng.integers(-6, 7, len(parser.table)) / 2.0
    others = 0
    for sentence in toy.dev_sentences()[:12]:
        heads = np.array([-1, *sentence.heads], np.int32)
        values, n = encode(sentence), sentence.n_words
        marks = guide.marks(values, heads[1:].copy(), np.arange(1, n + 1, dtype=np.int32))
        scores = labeller.scores(values, heads, marks)
        found = best_labels(parser, labeller, sentence, values, heads, marks)
        assert found == parser.labels(sentence, heads)
        # by hand: all choices of three labels for each word
        choices = [
            [label for label in np.argsort(-row, kind="stable")[:3] if row[label] > -math.inf]
            for row in scores
        ]
        named = [[labeller.labels[i] for i in own] for own in choices]
        weight = np.zeros(0)
        arcs = [(int(heads[m]), m) for m in range(1, n + 1)]
        pairs = [
            (i, j) for i, j in itertools.combinations(range(n), 2) if arcs[i][0] == arcs[j][0]
        ]
        table = dict(zip(parser.table.keys.tolist(), parser.table.weights.tolist()))

        def told(first: str, second: str, table: dict[int, float] = table) -> float:
            from bbparse.factors.family import feature_key

            keys = [
                feature_key("alternate", ("equal", first == second)),
                feature_key("alternate", (first, second)),
            ]
            if first == second:
                keys.append(feature_key("once", ("twice", first)))
            return sum(table.get(key, 0.0) for key in keys)

        best, tree = -math.inf, ()
        for chosen in itertools.product(*(range(len(own)) for own in choices)):
            weight = [
                round((scores[m][choices[m][c]] - scores[m].max()) * 2**16) / 2**16
                for m, c in enumerate(chosen)
            ]
            total = sum(weight) + sum(
                told(named[i][chosen[i]], named[j][chosen[j]]) for i, j in pairs
            )
            if total > best:
                best, tree = total, chosen
        problem = label_problem(parser, labeller, sentence, values, heads, marks)
        own = {
            (int(m), labeller.labels[label]): a
            for a, (m, label) in enumerate(zip(problem.arc_mod, problem.arc_label))
        }
        score = problem.score([own[m + 1, label] for m, label in enumerate(found)])
        assert score == pytest.approx(best, abs=1e-3)
        assert found == [named[m][c] for m, c in enumerate(tree)] or score >= best - 1e-3
        others += found != labeller.label(values, heads, marks)
    assert others > 2


def test_parsers_give_the_same_labels_however_they_are_asked(parser: Parser) -> None:
    sentences = toy.dev_sentences()[:10]
    together = list(parser.parse_all(sentences))
    for sentence, solution in together:
        own = parser.labels_of(sentence, solution)
        assert own == parser.labels(sentence, solution.heads[0])
        trees = parser.parse(sentence, k_best=4)
        assert list(trees[0].labels) == own
        assert len({tree.heads for tree in trees}) == len(trees)
        assert len(trees) == 4 or sentence.n_words < 4
