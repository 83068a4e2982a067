"""Explanations of models with scores of whole trees, against the list of all trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from bbparse.apps.explain import explain, page
from bbparse.apps.explain.explanation import Explanation
from bbparse.factors import FactorView, TreeFamily
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import FactorError
from bbparse.treebank import Sentence
from tests import toy
from tests.apps.explain.test_page import read


class Near(TreeFamily):
    """Long arcs cost, each by itself; words are told."""

    name = "near"
    summary = "long arcs"
    cost: ClassVar[Any] = -99.0

    def tree_terms(self, view: FactorView, heads: Any, labels: Sequence[str]) -> Any:
        for m in range(1, len(heads)):
            if heads[m] and abs(int(heads[m]) - m) > 1:
                yield f"{view.forms[int(heads[m])]} <- {view.forms[m]}", self.cost
            yield "nothing", 0.0

    def tree_score(self, view: FactorView, heads: Any, labels: Sequence[str]) -> float:
        return math.fsum(-99.0 for text, _ in self.tree_terms(view, heads, labels) if "<-" in text)


class Plain(TreeFamily):
    """The same, with the default terms."""

    name = "plain"
    summary = "arcs that are too long"

    def tree_score(self, view: FactorView, heads: Any, labels: Sequence[str]) -> float:
        return Near().tree_score(view, heads, labels)


def sentence_of(parser: Parser) -> Sentence:
    """A short sentence whose best tree is another with the family."""
    for sentence in [s for s in toy.dev_sentences() if s.n_words < 8]:
        trees = [
            parser.parse(sentence, valid="none", prune=0, tree_score=one)[0] for one in (None, Near)
        ]
        if trees[0].heads != trees[1].heads:
            return sentence
    raise AssertionError("no sentence changes")


@pytest.fixture(scope="module", params=["templates", "network"])
def parser(request: pytest.FixtureRequest) -> Parser:
    return toy.parser() if request.param == "templates" else toy.network_parser()


def told(parser: Parser, family: type[TreeFamily] = Near, **options: Any) -> Explanation:
    return explain(
        parser,
        sentence_of(parser),
        valid="none",
        prune=0,
        tree_score=family,
        time_limit=60.0,
        **options,
    )


def test_terms_add_up(parser: Parser) -> None:
    e = told(parser)
    for tree, terms in zip(e.trees, e.terms):
        assert abs(math.fsum(term.value for term in terms) - tree.score) < 1e-9
        for term in terms:
            if term.kind == "near":
                assert e.in_words(term) == "the whole tree" and term.words == term.arcs == ()
                assert math.fsum(f.weight for f in term.features) == term.value
                assert all("<-" in f.text and f.weight == -99.0 for f in term.features)
    for k in range(1, len(e.trees)):
        lead = e.best.score - e.trees[k].score
        assert abs(math.fsum(net for _, net in e.feature_balance(k)) - lead) < 1e-9


def test_the_page(parser: Parser) -> None:
    for family, words in ((Near, ("near", "<-")), (Plain, ("plain", Plain.summary))):
        e = told(parser, family, k_best=12)
        text = read(page(e)).words
        assert "Proved after scoring" in text and "How it was proved" not in text
        assert all(word in text for word in words)
    assert page(told(parser)) == page(told(parser))


def test_terms_that_do_not_add_up(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = sentence_of(parser)
    for cost, words in ((-98.0, "tree_terms add up to -.*, expected tree_score, -"), ("x", "'x'")):
        monkeypatch.setattr(Near, "cost", cost)
        with pytest.raises(FactorError, match=f"'near', {sentence.name}: .*{words}") as caught:
            explain(parser, sentence, tree_score=Near)
        assert "\n" not in str(caught.value)
