"""Tree families in a parser, against the list of all its trees."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from bbparse.apps.explain import explain
from bbparse.factors import FactorView, TreeFamily
from bbparse.models.factors.view import ROOT
from bbparse.models.learning.train import train
from bbparse.models.model_file import model_bytes, model_of_bytes
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import BBParseError, FactorError
from tests import toy


class Depth(TreeFamily):
    """Deep trees cost."""

    name = "depth"
    summary = "how deep the tree is"
    at_most = 0.5

    def tree_score(self, view: FactorView, heads: Any, labels: Sequence[str]) -> float:
        assert len(heads) == len(labels) == view.n_words + 1
        assert labels[0] == ROOT and heads[0] == -1 and view.n_arcs > 0
        depths = [0] * len(heads)
        for m in range(1, len(heads)):
            word = m
            while word > 0:
                word, depths[m] = int(heads[word]), depths[m] + 1
        few = 0.5 if labels.count("punct") < 2 else 0.0
        return few - 30.0 * max(0, max(depths) - 1)


class Never(Depth):
    name = "never"
    value: ClassVar[Any] = -math.inf

    def tree_score(self, view: FactorView, heads: Any, labels: Sequence[str]) -> float:
        found: float = self.value
        return found


def test_the_best_trees_by_their_totals() -> None:
    parser, changed = toy.parser(), 0
    for sentence in [s for s in toy.dev_sentences() if 3 < s.n_words < 8]:
        many = parser.parse(sentence, valid="none", prune=0, k_best=5000)
        view = parser.model.maker.view_of(parser.model.maker([sentence])[0])
        by_hand = sorted(
            (
                (tree.score + Depth().tree_score(view, [-1, *tree.heads], [ROOT, *tree.labels]))
                for tree in many
            ),
            reverse=True,
        )
        options: Any = {"valid": "none", "prune": 0, "k_best": 3, "time_limit": 60.0}
        trees = parser.parse(sentence, tree_score=Depth, **options)
        assert all(tree.proved for tree in trees)
        np.testing.assert_allclose([tree.score for tree in trees], by_hand[:3], rtol=1e-12)
        changed += trees[0].heads != many[0].heads
        (together,) = parser.parse_all([sentence], tree_score=Depth(), **options)
        assert together.trees == trees
        assert together.stats["trees_scored"] >= len(trees)
    assert changed > 2


def test_a_model_has_tree_families() -> None:
    for config in (toy.configuration(), toy.network_configuration()):
        model = train(toy.sentences()[:20], (), config, factors=["siblings", Depth])
        read = Parser(model_of_bytes(model_bytes(model), [Depth()]))
        assert [family.name for family in read.model.maker.families] == ["siblings", "depth"]
        assert pickle.loads(pickle.dumps(read)).model.maker.families[1].name == "depth"
        sentence = next(s for s in toy.dev_sentences() if s.n_words < 9)
        assert next(read.parse_all([sentence])).stats["trees_scored"] > 0
        told = explain(read, sentence)
        assert told.families == ["siblings", "depth"]
        with pytest.raises(FactorError, match="'depth' is given twice"):
            read.parse(sentence, tree_score=Depth)
        with pytest.raises(BBParseError, match="test_whole_trees:Depth"):
            Parser(model_of_bytes(model_bytes(model), []))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "tree family 'never', small-dev-001: tree_score is nan"),
        (1.0, "tree_score is 1.0, expected a number from -1e.100 to 0.5"),
        ("x", "tree_score is 'x', expected a number"),
        (-math.inf, "the tree families 'never' allow none of the"),
    ],
)
def test_what_a_family_must_not_do(value: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Never, "value", value)
    with pytest.raises(FactorError, match=words) as caught:
        toy.parser().parse(toy.dev_sentences()[0], tree_score=Never)
    assert "\n" not in str(caught.value)
