"""Trees around heads that are given: they stay, and nothing better has them."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from bbparse.core import Problem
from bbparse.inference.solve import solve
from bbparse.parser.parse import Parse
from bbparse.parser.parser import Parser
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence
from bbparse.treebank.writing import with_columns
from tests import toy


def with_heads(sentence: Sentence, heads: dict[int, int], labels: dict[int, str]) -> Sentence:
    """The sentence with these heads and labels only."""
    words = range(1, sentence.n_words + 1)
    changed = with_columns(sentence)
    changed.heads = [heads.get(m, -1) for m in words]
    changed.deprels = [labels.get(m, "_") for m in words]
    return changed


def fill_in(parser: Parser, sentence: Sentence, **limits: Any) -> Parse:
    """What is found around the heads of a sentence, whatever rules say."""
    (found,) = parser.parse_all([sentence], keep_heads=True, valid="none", **limits)
    return found


def test_given_heads_stay_and_the_rest_is_the_best() -> None:
    parser = toy.parser()
    rng = random.Random(5)
    moved = 0
    for sentence in toy.dev_sentences():
        words = range(1, sentence.n_words + 1)
        m = rng.choice(words)
        head = rng.choice([h for h in (0, *words) if h != m])
        found = fill_in(parser, with_heads(sentence, {m: head}, {}), k_best=2, prune=0)
        best = solve(
            parser.problem(sentence, 0).with_heads({m: head}),
            k_best=2,
            backbone=parser.model.config.model.backbone,
            settings=parser.model.config.search,
        )
        assert found.status == "optimal"
        assert all(tree.heads[m - 1] == head for tree in found.trees)
        assert [tree.score for tree in found.trees] == best.scores.tolist()
        (pruned,) = fill_in(parser, with_heads(sentence, {m: head}, {})).trees
        assert pruned.heads[m - 1] == head and pruned.proved
        assert len(found.trees) == 1 or pruned.score <= found.trees[0].score
        moved += parser.parse(sentence)[0].heads[m - 1] != head
    assert moved > 10


def test_labels_of_given_heads_only() -> None:
    parser, sentence = toy.parser(), toy.dev_sentences()[0]
    free = parser.parse(sentence)
    given = with_heads(sentence, {1: free[0].heads[0]}, {1: "mine", 2: "of no head"})
    (found,) = parser.parse_all([given], keep_heads=True, valid="none")
    (tree,) = found.trees
    assert tree.labels == ("mine", *free[0].labels[1:])


@pytest.mark.parametrize(
    ("heads", "fault"),
    [
        ({3: 3}, "word 3 is its own head, expected another word"),
        ({2: 7}, "head of word 2 is 7, expected 0 to 6 or _"),
        ({4: -2}, "head of word 4 is -2, expected 0 to 6 or _"),
    ],
)
def test_heads_that_no_word_can_have(heads: dict[int, int], fault: str) -> None:
    """Kernels that score arcs would read and write beside their arrays."""
    words = ["The", "dog", "saw", "a", "cat", "."]
    sentence = with_heads(Sentence.from_words(words, name="wrong"), heads, {})
    for parser in (toy.parser(), toy.crossing_parser()):
        with pytest.raises(TreebankError, match=f"^wrong: {re.escape(fault)}$"):
            fill_in(parser, sentence)
    sentence.heads = [2, 3, 0]
    with pytest.raises(TreebankError, match=r"wrong: there are 3 heads, expected 6$"):
        fill_in(toy.parser(), sentence)


def test_given_heads_that_cross_are_kept_by_a_model_that_may() -> None:
    words = ["The", "dog", "saw", "a", "cat", "."]
    sentence = with_heads(Sentence.from_words(words, name="crossed"), {1: 3, 2: 5}, {})
    message = (
        "input, crossed: no projective tree has all fixed heads: the arcs 3 → 1, 5 → 2 cross; use"
        " a model trained with --projective no, without --projective yes"
    )
    with pytest.raises(TreebankError, match=f"^{re.escape(message)}$"):
        fill_in(toy.parser(), sentence)
    assert fill_in(toy.crossing_parser(), sentence).trees[0].heads[:2] == (3, 5)


def test_no_tree_among_likely_arcs_is_no_proof() -> None:
    """Where time is over before all arcs were tried, it is not said that there is none."""
    sentence, parser = with_heads(toy.dev_sentences()[0], {}, {}), toy.parser()

    def without_heads_of_one(problem: Problem) -> Problem:
        into = problem.arc_mod == 1
        return problem.without_arcs([(int(h), 1) for h in problem.arc_head[into]])

    for over, text in ((True, "no tree was found in time"), (False, "no projective tree")):
        until = Deadline.after(0.0 if over else 600.0)
        with pytest.raises(TreebankError, match=text):
            list(
                parser.parse_all(
                    [sentence], keep_heads=True, restrict=without_heads_of_one, until=until
                )
            )
