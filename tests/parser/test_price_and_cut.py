"""A model that price and cut parses: all arcs and triples are candidates."""

from __future__ import annotations

from time import sleep
from typing import Any

import pytest

from bbparse.inference.solve import solve
from bbparse.models.configuration import Configuration
from bbparse.parser.parser import Parser
from bbparse.parser.validity.check import RuledSentence
from tests import toy

pytest.importorskip("highspy")


@pytest.fixture(scope="module")
def parser() -> Parser:
    table = toy.configuration().to_table()
    table["model"].update(projective=False, solver="price-and-cut")
    table["factors"]["families"] = []
    for kind in ("sibling", "grandsibling"):
        del table["templates"][kind]
    table["templates"]["grandchild"] = ["g.upos h.upos m.upos +@gdir", "g.lemma m.lemma"]
    return Parser.train(toy.sentences()[:40], config=Configuration.from_table(table))


def test_trees_are_the_best_ones_of_all_arcs(parser: Parser) -> None:
    added = total = 0
    rules = parser.rules
    for sentence in [s for s in toy.dev_sentences() if s.n_words <= 12][:12]:
        problem = parser.problem(sentence, prune=0)
        n = sentence.n_words
        assert len(problem.arc_head) == n * n and len(problem.gc_score) == n * (n - 1) ** 2
        (parse,) = parser.parse_all([sentence], valid="none")
        (tree,) = parse.trees
        assert parse.status == "optimal"
        assert tree.score == pytest.approx(solve(problem).scores[0])
        assert tree.proved and len(tree.labels) == n
        assert parser.parse(sentence, prune=1)[0].score <= tree.score
        (valid,) = parser.parse(sentence)
        if rules is not None and RuledSentence(rules, sentence).faults(tree.heads, tree.labels):
            assert valid.score <= tree.score and valid.proved
        else:
            assert (valid.heads, valid.score) == (tree.heads, tree.score)
        added += parse.stats["added"]
        total += parse.stats["triples"]
    assert 0 < added < 0.3 * total


def test_trees_that_were_not_checked_in_time_are_left_out(
    parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree of which nobody knows whether it keeps the rules is no valid tree."""
    sentence = next(s for s in toy.dev_sentences() if s.n_words == 5)
    assert len(parser.parse(sentence, k_best=3, valid="ud")) == 3

    def slow(*_: Any) -> list[Any]:
        sleep(1.0)
        return []

    monkeypatch.setattr(RuledSentence, "faults", slow)
    assert len(parser.parse(sentence, k_best=3, valid="ud", time_limit=0.9)) == 1
