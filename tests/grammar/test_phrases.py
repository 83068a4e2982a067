"""Bracketed trees: reading, cleaning, heads, and back again."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bbparse.grammar.evaluation import BracketScores, brackets, compare_trees, paired_p
from bbparse.grammar.phrases import (
    PhraseTree,
    clean,
    from_phrase,
    join_label,
    joins,
    read_trees,
    read_trees_text,
    split,
    to_phrase,
)
from bbparse.grammar.training import read_treebank
from bbparse.runtime.errors import TreebankError


def _tree(text: str) -> PhraseTree:
    (found,) = read_trees_text(text)
    tree = clean(found[1])
    assert tree is not None
    return tree


def test_a_tree_is_read_with_its_line_and_written_on_one() -> None:
    text = "\n( (S\n (NP-SBJ (PRP He))\n (VP (VBZ runs))))\n(ROOT (NP (NN End)))"
    found = list(read_trees_text(text))
    assert [line for line, _ in found] == [2, 5]
    assert str(found[1][1]) == "(ROOT (NP (NN End)))"
    assert found[0][1].words == ["He", "runs"]


def test_brackets_of_the_text_are_escaped_in_files_only() -> None:
    text = "(ROOT (X (-LRB- -LRB-) (NN :-RRB-) (-RRB- -RRB-)))"
    ((_, tree),) = read_trees_text(text)
    assert tree.words == ["(", ":)", ")"]
    assert tree.tags == ["-LRB-", "NN", "-RRB-"]
    assert str(tree) == text


@given(st.text(st.sampled_from("-()LRBU+0123 a\u00a0\u2028\t\n\x1f"), min_size=1))
@example("New York")
@example("-LRB(")
@example("-U+0020-")
def test_words_are_read_as_they_were_before_they_were_written(word: str) -> None:
    tree = PhraseTree("ROOT", (PhraseTree("NN", word=word), PhraseTree("NN", word="b")))
    assert len(str(tree).split()) == 5  # in brackets nothing else is a blank
    ((_, again),) = read_trees_text(str(tree))
    assert again == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP (NN a))", r"x:1: a tree that begins here is not closed .* expected 1 more \)"),
        ("(S (NN a)))", r"x:1: \) that closes nothing, expected \( or the end"),
        ("(S\n (NP ))", r"x:2: an empty bracket \(NP\), expected words or phrases in it"),
        ("a (S (NN a))", r"x:1: 'a' outside of brackets, expected \("),
        ("(S (NN a b))", r"x:1: 'b' after 'a', expected \) or \("),
        ("(S (NN a (NN b)))", r"x:1: \( after the word 'a', expected \)"),
        ("(NN a)", r"x:1: the word 'a' alone in a bracket, expected a tree"),
        ("(S ((NN a) (NN b)))", r"x:1: a bracket without a label"),
        ("(A " * 501, "more than 500 brackets"),
    ],
)
def test_wrong_brackets_are_named(text: str, message: str) -> None:
    with pytest.raises(TreebankError, match=message):
        list(read_trees_text(text, "x"))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match=r"none\.ptb: cannot be read"):
        list(read_trees(tmp_path / "none.ptb"))
    file = tmp_path / "latin.ptb"
    file.write_bytes(b"(ROOT (NN \xe9))")
    with pytest.raises(TreebankError, match=r"latin\.ptb: not UTF-8 at byte 10"):
        list(read_trees(file))
    file.write_text("\ufeff(ROOT (NN a))", encoding="utf-8")
    assert [str(tree) for _, tree in read_trees(file)] == ["(ROOT (NN a))"]
    file.write_text("(ROOT (S (-NONE- *)))")
    with pytest.raises(TreebankError, match=r"latin\.ptb:1: a tree without words"):
        read_treebank(str(file))


def test_heads_are_those_of_the_rules() -> None:
    tree = _tree(
        "(ROOT (S (NP (NP (DT the) (NN dog)) (PP (IN in) (NP (NNP Rome)))) (VP (MD may)"
        " (VP (VB run) (CC and) (VB jump))) (. .)))"
    )
    phrase = to_phrase(tree)
    #        the dog in Rome may run and jump .
    assert phrase.heads() == [2, 5, 2, 3, 0, 5, 6, 6, 5]


def test_neighbours_are_joined_in_the_smallest_phrase_with_both() -> None:
    tree = _tree("(S (NP (DT the) (NN dog)) (VP (VBZ saw) (NP (NNP Kim))) (. .))")
    expected = ((0, "NP", "DT"), (0, "S", "NP"), (1, "VP", "NP"), (1, "S", "."))
    found = joins(to_phrase(tree))
    assert found == [*(join_label(*join) for join in expected), "_"]


def test_trees_survive_their_phrases() -> None:
    for text in (
        "(ROOT (S (VP (TO to) (VP (VB go)))))",
        "(ROOT (FRAG (NP (NN End))))",
        "(ROOT (NN End))",
        "(ROOT (SBAR (S (VP (VBG going) (PRT (RP on)))) (. .)))",
        "(ROOT (A+B~C (NN a) (D~E^F (NN+VB b))))",
    ):
        tree = _tree(text)
        phrase = to_phrase(tree)
        split(phrase)
        assert str(from_phrase(phrase, tree.words)) == text


def test_brackets_are_counted_as_evalb_does() -> None:
    gold = _tree("(ROOT (S (NP (DT the) (NN dog)) (VP (VBZ runs) (PRT (RP on))) (. .)))")
    found = _tree("(ROOT (S (NP (DT the) (NN dog)) (VP (VBZ runs) (ADVP (RB on)) (. .))))")
    assert sorted(brackets(gold)) == [("ADVP", 3, 4), ("NP", 0, 2), ("S", 0, 4), ("VP", 2, 4)]
    assert sorted(brackets(_tree("(ROOT (S (NN a) (X (: -) (. .))))"))) == [("S", 0, 1)]
    scores = compare_trees([(gold, found)])
    assert (scores.right, scores.gold, scores.predicted, scores.exact) == (4, 4, 4, 1)
    assert (scores.tags, scores.words) == (3, 4)
    with pytest.raises(TreebankError, match="sentence 1: word 2 is 'cat', expected 'dog'"):
        compare_trees([(gold, _tree("(ROOT (S (DT the) (NN cat)))"))])


def test_traces_and_functions_go() -> None:
    tree = _tree("( (S (NP-SBJ-1 (-NONE- *T*)) (VP=2 (VB Go) (NP (-NONE- *))) (-RRB- -RRB-)) )")
    assert str(tree) == "(ROOT (S (VP (VB Go)) (-RRB- -RRB-)))"


def test_chance_of_a_difference_is_that_of_swapped_sentences() -> None:
    rng = np.random.default_rng(5)
    gold = rng.integers(3, 9, 12)
    scores = []
    for share in (0.9, 0.6):
        right, predicted = rng.binomial(gold, share), rng.integers(3, 9, 12)
        rows = list(zip(np.minimum(right, predicted).tolist(), gold.tolist(), predicted.tolist()))
        n_right, n_gold, n_predicted = map(sum, zip(*rows))
        scores.append(BracketScores(12, 0, n_gold, n_predicted, n_right, 0, 0, rows))
    difference, far = scores[0].f1 - scores[1].f1, 0
    for swap in product([0, 1], repeat=12):
        sums = [
            np.sum([scores[side ^ swapped].by_sentence[i] for i, swapped in enumerate(swap)], 0)
            for side in (0, 1)
        ]
        ours, theirs = (2 * x[0] / (x[1] + x[2]) for x in sums)
        far += abs(ours - theirs) >= difference - 1e-12
    assert 0.0 < difference and paired_p(*scores, draws=50) == far / 2**12
