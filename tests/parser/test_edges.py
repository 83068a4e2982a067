"""Trees whose graphs must have edges: the best ones, by enumeration of all trees."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from bbparse.models.graph.training import train_enhancer
from bbparse.parser.edges import naming_edges
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ModelError, TreebankError
from bbparse.treebank import Sentence
from bbparse.treebank.graph import WordEdge
from bbparse.treebank.sentence import NO_HEAD, ScoredTree
from bbparse.treebank.writing import with_misc
from tests import graphs, toy

#: Fewer trees than any sentence here has.
ALL = 20_000


@cache
def parser() -> Parser:
    """A parser of another language than its graphs', so that constraints change its trees."""
    model = replace(toy.crossing_parser().model)
    model.enhancer = train_enhancer(graphs.sentences(1, 400))
    return Parser(model)


def naming(sentence: Sentence, edges: list[tuple[int, str, int]]) -> Sentence:
    """The sentence without its tree, with edges in MISC."""
    n = sentence.n_words
    bare = replace(sentence, heads=[NO_HEAD] * n, deprels=["_"] * n)
    return naming_edges(bare, "Edge", [WordEdge(*edge) for edge in edges])


def test_the_best_tree_with_edges_is_found() -> None:
    """The first one in the list of all trees whose graph has them; the list has nothing better."""
    rng, n_tried, n_changed, n_none = random.Random(1), 0, 0, 0
    options = {"valid": "none", "prune": 0}
    for gold in graphs.sentences(5, 60):
        if gold.n_words > 5:
            continue
        everything = parser().parse(naming(gold, []), k_best=ALL, **options)
        seen = sorted(
            {(h, x, m) for t in everything for m, e in enumerate(t.enhanced, 1) for h, x in e}
        )
        for count in (1, 1, 2):
            edges = rng.sample(seen, min(len(seen), count))
            if rng.random() < 0.3:
                edges = [
                    (head, label.partition(":")[0] * rng.randint(0, 1), m)
                    for head, label, m in edges
                ]

            def has_all(tree: ScoredTree, edges: list[tuple[int, str, int]] = edges) -> bool:
                return all(
                    any(
                        h == head and f"{x}:".startswith(f"{label}:" if label else "")
                        for h, x in tree.enhanced[m - 1]
                    )
                    for head, label, m in edges
                )

            expected = [tree for tree in everything if has_all(tree)]
            sentence = naming(gold, edges)
            n_tried += 1
            if not expected:
                n_none += 1
                with pytest.raises(TreebankError, match=r"that is allowed|best trees"):
                    parser().parse(sentence, edges="Edge", **options)
                continue
            (best,) = parser().parse(sentence, edges="Edge", **options)
            assert best.proved and has_all(best)
            assert best.score == pytest.approx(expected[0].score, abs=1e-9)
            n_changed += best.heads != everything[0].heads
    assert n_tried > 40 and n_changed > n_tried / 2 and n_none > 0


def test_edges_under_rules_and_limits() -> None:
    """Under UD's rules and with few candidate heads, too; a proved tree is as good as any other."""
    found = 0
    for gold in graphs.sentences(6, 12):
        first, *others = parser().parse(naming(gold, []), k_best=6, valid="ud")
        for other in others:
            edges = [(h, x, m) for m, own in enumerate(other.enhanced, 1) for h, x in own]
            edges = [(h, x, m) for h, x, m in edges if (h, x) not in first.enhanced[m - 1]][-1:]
            if not edges:
                continue
            try:
                (best,) = parser().parse(naming(gold, edges), edges="Edge", valid="ud")
            except TreebankError:  # the edge needs labels that only a rule brought about
                continue
            ((head, label, m),) = edges
            own = best.enhanced[m - 1]
            has_edge = any(h == head and f"{x}:".startswith(f"{label}:") for h, x in own)
            assert has_edge or not best.proved
            assert best.score >= other.score - 1e-9 or other.broken or not best.proved
            found += best.proved
    assert found > 10


@pytest.mark.parametrize("value", ["x:obj", "9:obj", "1:obj", "-1:obj"])
def test_what_is_no_edge_names_its_word(value: str) -> None:
    sentence = Sentence.from_words(["a", "b"], name="one")
    sentence.lines[1] = with_misc(sentence.lines[1], "Edge", value)
    with pytest.raises(TreebankError, match=rf"one: Edge={value}: expected HEAD:LABEL"):
        parser().parse(sentence, edges="Edge")


def test_a_model_without_graphs_takes_no_edges() -> None:
    with pytest.raises(ModelError, match="makes no enhanced graphs"):
        toy.parser().parse(Sentence.from_words(["a"]), edges="Edge")
