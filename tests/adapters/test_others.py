"""Scores of other parsers: recorded arrays of the right shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bbparse import Sentence, best_tree
from bbparse.adapters import decode, spacy_experimental, trankit, udpipe2
from bbparse.runtime.errors import ProblemError


def random(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape)


def test_trankit_has_one_label_an_arc() -> None:
    arcs, labels = random(2, 5, 5), np.random.default_rng(1).integers(1, 3, size=(2, 5, 5))
    vocab = {"<PAD>": 0, "nsubj": 1, "obj": 2}
    found = trankit.scores((arcs, labels), [4, 2], vocab)
    for one, matrix, numbers, n in zip(found, arcs, labels, (4, 2)):
        (tree,) = decode(one)
        assert [-1, *tree.heads] == best_tree(matrix[: n + 1, : n + 1]).tolist()
        names = {1: "nsubj", 2: "obj"}
        assert [names[numbers[d, h]] for d, h in enumerate(tree.heads, 1)] == list(tree.labels)
    for preds, names, message in (
        ((arcs, labels), {"<PAD>": 0, "nsubj": 1}, r"dep_preds\[1\] has label 2, expected 0..1"),
        ((arcs, -labels), vocab, r"dep_preds\[1\] has label -1, expected 0..2"),
        ((arcs, labels + 0.5), vocab, r"dep_preds\[1\] has label 1.5, expected 0..2"),
        ((arcs, labels[:, :3, :3]), vocab, r"labels has shape .*, and arcs \(2, 5, 5\), expected"),
        ((arcs,), vocab, "dep_preds has 1 arrays, expected arcs and labels"),
        (None, vocab, "dep_preds is of type NoneType, expected a list of arrays"),
        ((arcs, labels), ["nsubj"], "vocab is of type list, expected a mapping"),
        ((arcs, labels), {0: "<PAD>"}, r"vocab\[0\] is '<PAD>', expected an integer"),
        ((arcs, labels), {"obj": -1}, r"vocab\['obj'\] is -1, expected 0..32000"),
        ((arcs, labels), {"obj": 10**12}, r"vocab\['obj'\] is 1000000000000, expected 0..32000"),
    ):
        with pytest.raises(ProblemError, match=message):
            trankit.scores(preds, [4, 2], names)


def test_trankits_label_for_none_is_none_of_the_rules() -> None:
    arcs, labels = random(2, 4, 4), np.full((2, 4, 4), 2)
    arcs[:, range(4), range(4)] = -np.inf
    labels[:, range(4), range(4)] = labels[:, 0] = 0
    labels[1, :, 3] = labels[1, 3] = 0  # padding of the second sentence
    labels[:, 1:, 0] = 1
    vocab = {"_": 0, "root": 1, "dep": 2}
    words = Sentence.from_words(["see", "saws", "now"], upos=["VERB", "NOUN", "ADV"])
    long, short = trankit.scores((arcs, labels), [3, 2], vocab)
    assert [*long.names] == [*short.names] == ["", "root", "dep"]
    (tree,) = decode(long, words, valid="ud")
    assert tree.proved and set(tree.labels) == {"root", "dep"}
    labels[0, 1, 2] = 0  # Trankit would write _
    long, short = trankit.scores((arcs, labels), [3, 2], vocab)
    assert [*long.names] == [*vocab] and "_" not in short.names
    arcs[0, 1, 2] = 99.0
    assert decode(trankit.scores((arcs, labels), [3, 2], vocab)[0])[0].labels[0] == "_"
    with pytest.raises(ProblemError, match="label '_' is unknown to the rules"):
        decode(long, words, valid="ud")


def test_udpipe_has_no_row_for_the_root() -> None:
    logs = random(2, 4, 5)
    long, short = udpipe2.scores(logs, [4, 2])
    full = np.vstack([np.zeros((1, 5)), logs[0]])
    assert [-1, *decode(long)[0].heads] == best_tree(full).tolist()
    assert short.n_words == 2
    for wrong in (random(2, 5, 5), random(2, 5, 4)):
        with pytest.raises(ProblemError, match=r"shape \(2, 5, \d\), expected \(b, n, n \+ 1\)"):
            udpipe2.scores(wrong, [4, 2])


def test_spacy_has_roots_on_the_diagonal() -> None:
    flat = random(5, 3)
    long, short = spacy_experimental.scores(flat, [3, 2])
    full = np.zeros((4, 4))
    full[1:, 1:], full[1:, 0] = flat[:3], flat[:3].diagonal()
    tree = decode(long, projective=False)[0]
    assert [-1, *tree.heads] == best_tree(full, projective=False).tolist()
    assert tree.heads.count(0) == 1  # spaCy's own decoder may give several
    assert short.arcs[1, 0] == flat[3, 0] and short.arcs[2, 1] == flat[4, 0]
    for wrong, lengths in ((flat, [3, 3]), (flat[:, :2], [3, 2])):
        with pytest.raises(ProblemError, match=r"flat has shape .*, expected \(\d, 3\) or wider"):
            spacy_experimental.scores(wrong, lengths)
    nan = np.vstack([flat[:3], flat[:3] * np.nan])
    for scores, numbers, message in (
        (flat, [6, -1], r"lengths\[1\] is -1, expected 1"),
        (flat, [3.0, 2.0], "lengths.* is 3.0"),
        (flat, 5, r"lengths has shape \(\)"),
        (flat, None, "lengths has shape"),
        (nan, [3, 3], r"sentence 1 of the batch: arcs\[1, 0\] is nan"),
    ):
        with pytest.raises(ProblemError, match=message):
            spacy_experimental.scores(scores, numbers)
