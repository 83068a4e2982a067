"""The likely tags of a word, by definition, and where sentences have them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.parser.parser import load
from bbparse.text.tag_probabilities import likely, sharpened
from bbparse.treebank import Sentence
from bbparse.treebank.writing import with_columns


@given(st.integers(0, 10**6), st.integers(0, 6), st.integers(1, 9))
def test_probabilities_are_flatter_than_the_scores(seed: int, n: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    scores = (rng.normal(size=(n, size)) * rng.choice([0.1, 3.0, 30.0])).astype(np.float32)
    found = likely(scores[:, ::-1][:, ::-1])  # whatever the strides
    assert found.begin[0] == 0 and found.begin[-1] == len(found.numbers) == len(found.probabilities)
    for i in range(n):
        mine = slice(found.begin[i], found.begin[i + 1])
        less = 0.5 * (scores[i] - scores[i].max()).astype(float)
        assert found.numbers[mine].tolist() == np.flatnonzero(less > -5.0).tolist()
        weights = (1.0 + less[less > -5.0] / 64.0) ** 64  # nearly e^x, by multiplications alone
        assert np.allclose(found.probabilities[mine], weights / weights.sum(), rtol=1e-4)
        assert found.probabilities[mine].sum() == pytest.approx(1.0, abs=1e-5)


def test_sharpened_probabilities_are_those_of_the_scores() -> None:
    scores = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = sharpened(likely(scores)).probabilities.reshape(3, 5)
    assert np.allclose(found, expected, rtol=0.1)


def test_the_tags_of_a_tagger_have_them_and_others_do_not() -> None:
    parser = load("english")
    sentence = Sentence.from_words(["Time", "flies", "like", "an", "arrow"])
    (tagged,) = parser.tag([sentence])
    assert sentence.likely_tags is None and tagged.likely_tags is not None
    (tags, _), of_tags, *_ = tagged.likely_tags
    for i, (upos, xpos) in enumerate(zip(tagged.upos, tagged.xpos)):
        mine = slice(of_tags.begin[i], of_tags.begin[i + 1])
        assert f"{upos}\t{xpos}" in [tags[k] for k in of_tags.numbers[mine]]
    assert with_columns(tagged, lemmas=["x"] * 5).likely_tags is tagged.likely_tags
    for name in ("upos", "xpos", "feats"):
        assert with_columns(tagged, **{name: ["X"] * 5}).likely_tags is None
    assert list(parser.tag([tagged])) == [tagged]
    again = pickle.loads(pickle.dumps(tagged))
    assert again == tagged and again.likely_tags.names == tagged.likely_tags.names
    # What is parsed by them is also explained by them.
    (parse,) = parser.parse_all([tagged])
    assert parser.parse(tagged)[0].score == parse.trees[0].score
    assert parser.parse(again)[0].score == parse.trees[0].score
    bare = with_columns(tagged, upos=tagged.upos)
    assert parser.parse(bare)[0].score != parse.trees[0].score
    # Tags that were changed in place are those that count.
    again.upos[0] = "X"
    changed = with_columns(again, upos=again.upos)
    assert again.likely_tags is not None and changed.likely_tags is None
    assert parser.parse(again)[0].score == parser.parse(changed)[0].score
