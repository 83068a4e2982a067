from __future__ import annotations

import numpy as np
import pytest

from bbparse.factors import FactorView
from bbparse.runtime.errors import FactorError
from bbparse.treebank import Sentence
from bbparse.treebank.encode import ATTRIBUTES, PAD, attribute_hash
from tests.models.factors.helpers import random_arcs, random_sentence, view_of


@pytest.fixture
def sentence() -> Sentence:
    return Sentence.from_words(
        ["The", "dog", "barks"],
        upos=["DET", "NOUN", "VERB"],
        xpos=["DT", "NN", "VBZ"],
        lemmas=["the", "dog", "bark"],
        feats=["_", "Number=Sing", "_"],
        heads=[2, 3, 0],
    )


def test_words_are_numbered_from_one_and_the_root_is_zero(sentence: Sentence) -> None:
    view = view_of(sentence, [(0, 3), (3, 2), (2, 1)])
    assert view.n_words == 3
    assert view.forms == ["<root>", "The", "dog", "barks"]
    assert view.lower == ["<root>", "the", "dog", "barks"]
    assert view.lemmas == ["<root>", "the", "dog", "bark"]
    assert view.upos == ["<root>", "DET", "NOUN", "VERB"]
    assert view.xpos == ["<root>", "DT", "NN", "VBZ"]
    assert view.feats == ["<root>", "_", "Number=Sing", "_"]
    assert view.values[PAD + 2, ATTRIBUTES.index("lemma")] == attribute_hash("lemma", "dog")


def test_look_ups_agree_with_the_set_of_arcs() -> None:
    rng = np.random.default_rng(0)
    for n_words in (1, 2, 5, 9):
        sentence = random_sentence(rng, n_words)
        for share in (0.0, 0.3, 1.0):
            arcs = random_arcs(rng, n_words, share)
            view = view_of(sentence, arcs)
            assert view.n_arcs == len(arcs)
            assert list(zip(view.arc_head.tolist(), view.arc_mod.tolist())) == arcs
            for h in range(-1, n_words + 2):
                for m in range(-1, n_words + 2):
                    expected = arcs.index((h, m)) if (h, m) in arcs else -1
                    assert view.arc_index(h, m) == expected
                    assert view.has_arc(h, m) == (expected >= 0)
            for w in range(n_words + 1):
                assert view.modifiers_of(w) == [m for h, m in arcs if h == w]
                assert view.heads_of(w) == [h for h, m in arcs if m == w]
                assert view.head_ptr[w + 1] - view.head_ptr[w] == len(view.modifiers_of(w))


def test_the_view_of_a_tree_has_its_arcs_sorted(sentence: Sentence) -> None:
    """Words without a head have none."""
    view = FactorView.of_tree(sentence, np.array([-1, 2, 3, 0], dtype=np.int32))
    assert (view.arc_head.tolist(), view.arc_mod.tolist()) == ([0, 2, 3], [3, 1, 2])
    assert FactorView.of_tree(sentence, [-1, 2, -1, 0]).arc_mod.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("heads", "mods", "index"),
    [
        ([0, 0], [2, 1], 1),  # out of order
        ([2, 0], [1, 1], 1),
        ([0, 0], [1, 1], 1),  # twice
        ([4], [1], 0),
        ([-1], [1], 0),
        ([0], [0], 0),
        ([0], [4], 0),
        ([2], [2], 0),
    ],
)
def test_wrong_arcs_are_named(
    sentence: Sentence, heads: list[int], mods: list[int], index: int
) -> None:
    with pytest.raises(FactorError, match=f"arc {index} is {heads[index]} → {mods[index]}: "):
        FactorView(sentence, heads, mods)


def test_arrays_of_other_lengths_are_refused(sentence: Sentence) -> None:
    with pytest.raises(FactorError, match=r"shapes \(1,\) and \(2,\)"):
        FactorView(sentence, [0], [1, 2])
    with pytest.raises(FactorError, match=r"expected 4 .* found shape \(3,\)"):
        FactorView.of_tree(sentence, [2, 3, 0])
    with pytest.raises(FactorError, match="arc 2 is 9 → 1"):
        FactorView.of_tree(sentence, [-1, 9, 3, 0])


def test_labels_are_those_of_arcs(sentence: Sentence) -> None:
    """Of candidates by their index, of a tree by the word; 0 is none."""
    names = ("det", "nsubj", "root")
    view = FactorView(sentence, [0, 2, 3], [3, 1, 2], None, np.array([3, 1, 0], np.int32), names)
    assert view.arc_labels.tolist() == [3, 1, 0]
    assert [view.label_name(*arc) for arc in ((0, 3), (2, 1), (3, 2), (1, 2))] == [
        "root",
        "det",
        "<none>",
        "<none>",
    ]
    labels = np.array([1, 2, 3], np.int32)  # of words
    tree = FactorView.of_tree(sentence, [-1, 2, 3, 0], None, labels, names)
    assert tree.arc_labels.tolist() == [3, 1, 2]
    assert tree.label_name(2, 1) == "det" and tree.label_name(3, 2) == "nsubj"
    some = FactorView.of_tree(sentence, [-1, 2, -1, 0], None, labels)
    assert some.arc_labels.tolist() == [3, 1] and some.label_name(2, 1) == "1"
    assert FactorView(sentence, [0], [3]).arc_labels.tolist() == [0]
