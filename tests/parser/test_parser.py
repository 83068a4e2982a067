"""The parser from Python: order, pruning, odd lengths, limits, threads."""

from __future__ import annotations

import time
from itertools import chain

import numpy as np
import pytest

from bbparse.inference.solve import solve
from bbparse.parser.parser import Parser, ScoredTree
from bbparse.parser.search import WORK_LIMIT
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import ModelError, ProblemError, TreebankError
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import check_tree
from tests import toy
from tests.oracles.enumerate import enumerate_trees


def long_sentence(n_words: int, seed: int = 1) -> Sentence:
    """A sentence of toy words in random order."""
    words = list(
        chain.from_iterable(
            zip(s.forms, s.lemmas, s.upos, s.xpos, s.feats) for s in toy.sentences()
        )
    )
    chosen = np.random.default_rng(seed).integers(len(words), size=n_words)
    forms, lemmas, upos, xpos, feats = (list(c) for c in zip(*(words[i] for i in chosen)))
    return Sentence.from_words(forms, lemmas=lemmas, upos=upos, xpos=xpos, feats=feats)


def check_trees(sentence: Sentence, trees: list[ScoredTree]) -> None:
    """Trees over the sentence in order, none twice, each below its bound."""
    for tree in trees:
        words = Sentence.from_words(sentence.forms, heads=tree.heads)
        check_tree(words)
        assert tree.upper_bound >= tree.score
        assert len(tree.labels) == sentence.n_words
    assert len({tree.heads for tree in trees}) == len(trees)
    scores = [tree.score for tree in trees]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("k", [1, 2, 10])
def test_k_best_trees_are_in_order_and_none_is_there_twice(k: int) -> None:
    parser = toy.parser()
    for sentence in toy.dev_sentences():
        trees = parser.parse(sentence, k_best=k)
        check_trees(sentence, trees)
        assert all(tree.proved and tree.score == tree.upper_bound for tree in trees)
        assert len(trees) == k or sentence.n_words <= 4
        (best,), (plain,) = parser.parse(sentence), parser.parse(sentence, valid="none")
        problem = parser.problem(sentence)
        assert problem.score([-1, *plain.heads]) == plain.score
        candidates = {*zip(problem.arc_head.tolist(), problem.arc_mod.tolist())}
        first, own = (
            candidates >= {*zip(tree.heads, range(1, sentence.n_words + 1))}
            for tree in (trees[0], best)
        )
        # the candidates may hold too few trees, or too few valid ones: more may hold a better one
        assert best.score <= trees[0].score if not first else best.score == trees[0].score
        assert plain.score >= best.score or not own


@pytest.mark.parametrize("k", [2, 10])
def test_k_best_trees_are_those_of_the_first_problem_that_has_so_many(k: int) -> None:
    parser = toy.parser()
    for sentence in toy.dev_sentences():
        for pruning in ((None, None), (None, np.inf), (10, np.inf), (0, None)):
            (scored,) = parser.model.maker([sentence], *pruning)
            expected = solve(scored.problem, k_best=k).scores.tolist()
            if len(expected) == k:
                break
        trees = parser.parse(sentence, k_best=k, valid="none")
        assert [tree.score for tree in trees] == expected


def test_scores_are_the_models_own() -> None:
    """Of short sentences all trees can be listed, and scored from the problem's arrays."""
    parser = toy.parser()
    short = [s for s in toy.sentences() if s.n_words <= 6][:40]
    for sentence in short:
        expected = enumerate_trees(parser.problem(sentence, prune=0))
        trees = parser.parse(sentence, k_best=8, prune=0, valid="none")
        assert [t.score for t in trees] == [score for score, _ in expected[:8]]


def test_where_fewer_trees_exist_all_are_given() -> None:
    """Even if the candidates of the model hold fewer."""
    parser = toy.parser()
    counts = {1: 1, 2: 2, 3: 7, 4: 30}  # projective trees with one root
    for n, count in counts.items():
        sentence = long_sentence(n)
        for prune in (None, 1, 0):
            trees = parser.parse(sentence, k_best=1000, prune=prune)
            check_trees(sentence, trees)
            assert len(trees) == count
            assert all(tree.proved for tree in trees)


def test_500_words() -> None:
    sentence = long_sentence(500)
    started = time.monotonic()
    trees = toy.parser().parse(sentence, k_best=3, time_limit=20.0)
    assert time.monotonic() - started < 60
    check_trees(sentence, trees)
    assert len(trees) == 3
    with pytest.raises(
        ProblemError, match=r"sentence #1: 500 words with 500 candidate heads each .* prune more"
    ):
        toy.parser().parse(sentence, prune=0)


@pytest.mark.parametrize("valid", ["none", None])
def test_trees_that_there_is_no_time_for_are_left_out(valid: str | None) -> None:
    """Listing them is part of the time, and so are their labels, and looking for broken rules."""
    sentence, parser = long_sentence(40), toy.parser()
    assert len(parser.parse(sentence, k_best=300, valid="none")) == 300
    (found,) = parser.parse_all([sentence], k_best=300, valid=valid, time_limit=1e-9)
    assert 1 <= len(found.trees) < 300 and found.status == "time_limit"
    check_trees(sentence, found.trees)
    over = Deadline.after(0.0)
    (found,) = parser.parse_all([sentence], k_best=300, valid=valid, until=over)
    assert 1 <= len(found.trees) < 300


def test_a_deadline_of_all_sentences_leaves_the_limit_on_work() -> None:
    sentence, parser = long_sentence(12), toy.parser()
    (expected,) = parser.parse_all([sentence], k_best=5)
    (found,) = parser.parse_all([sentence], k_best=5, until=Deadline.after(600.0))
    assert found.trees == expected.trees


@pytest.mark.parametrize("form", ["dog", "=", "!"])
@pytest.mark.parametrize("n_words", [30, 100, 320])
def test_without_a_limit_the_work_is_limited(form: str, n_words: int) -> None:
    words = [form] * n_words
    sentence = Sentence.from_words(words, upos=["NOUN"] * n_words, lemmas=words)
    parser = toy.parser()
    (found,) = parser.parse_all([sentence], valid="none")
    check_trees(sentence, found.trees)
    assert found.status in ("optimal", "work_limit")
    assert found.stats["dp_work"] * found.stats["edges"] < 2.0 * WORK_LIMIT
    assert found.trees[0].score <= found.trees[0].upper_bound < np.inf


def test_threads_change_nothing() -> None:
    parser = toy.parser()
    sentences = [*toy.dev_sentences(), long_sentence(60), *toy.sentences()[:40]]
    alone = list(parser.parse_all(sentences, k_best=2))
    for threads in (2, 4):
        together = list(parser.parse_all(iter(sentences), threads=threads, k_best=2))
        assert [found.sentence for found in together] == sentences
        for one, other in zip(alone, together):
            assert (one.trees, one.status) == (other.trees, other.status)
            for key in ("nodes", "dp_calls"):
                assert one.stats[key] == other.stats[key]


@pytest.mark.parametrize("column", ["upos", "lemmas", "forms"])
def test_sentences_whose_lists_do_not_fit_are_refused(column: str) -> None:
    sentence = long_sentence(3)
    getattr(sentence, column).append("more")
    with pytest.raises(TreebankError, match=r"^sentence #1: its columns have"):
        toy.parser().parse(sentence)
    for name in ("forms", "lemmas", "upos", "xpos", "feats"):
        getattr(sentence, name).clear()
    with pytest.raises(TreebankError, match=r"^sentence #1: there are no words"):
        toy.parser().parse(sentence)


def test_fewer_networks_of_a_model() -> None:
    config = toy.network_configuration().with_("network", members=3, epochs=2)
    sentences = toy.dev_sentences()[:10]
    parser = Parser.train(toy.sentences()[:30], config=config)
    alone = Parser.train(toy.sentences()[:30], config=config.with_("network", members=1))
    assert parser.with_options(members=3).model is parser.model
    first = parser.with_options(members=1)
    both = parser.with_options(members=2).model.maker.network
    assert both is not None and len(both.members) == 2
    assert [first.parse(s, k_best=2) for s in sentences] == [
        alone.parse(s, k_best=2) for s in sentences
    ]
    assert [parser.parse(s) for s in sentences] != [first.parse(s) for s in sentences]
    with pytest.raises(ModelError, match="the model has 3 networks, not 4"):
        parser.with_options(members=4)
    with pytest.raises(ModelError, match="the model has 0 networks, not 1"):
        toy.parser().parse(sentences[0], members=1)
    with pytest.raises(ProblemError, match="members is 0, expected at least 1"):
        parser.with_options(members=0)


def test_crossing_trees_can_be_left_out_but_not_asked_for() -> None:
    plain, crossing = toy.parser(), toy.crossing_parser()
    again = crossing.with_options(projective=True)
    assert again.model.config.projective and not crossing.model.config.projective
    assert crossing.with_options(projective=False).model is crossing.model
    assert plain.with_options(projective=True).model is plain.model
    for sentence in toy.dev_sentences()[:10]:
        assert again.parse(sentence) == plain.parse(sentence)
        assert crossing.parse(sentence)[0].score >= plain.parse(sentence)[0].score
    with pytest.raises(ModelError, match="and cannot draw crossing arcs"):
        plain.parse(toy.dev_sentences()[0], projective=False)


def test_words_without_tags_are_tagged_if_the_model_can() -> None:
    alone, parser = toy.parser(), toy.changed(toy.parser(), tagger=toy.tagger())
    bare = [toy.bare(sentence) for sentence in toy.sentences()[:5]]
    tagged = [*parser.tag(bare)]
    assert [one.sentence.upos for one in parser.parse_all(bare)] == [one.upos for one in tagged]
    for sentence, own in zip(bare, tagged):
        assert parser.parse(sentence) == alone.parse(own)
        assert parser.parse(sentence, tag=False) == alone.parse(sentence) != alone.parse(own)
