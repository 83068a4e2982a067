"""Means over likely tags against plain numpy, and what they leave as it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbparse.neural.targets import owners
from bbparse.treebank import Sentence
from bbparse.treebank.likely_tags import Likely, LikelyTags, TagNames
from tests.models.scoring.networks import TAGS, Plain, random_network, random_sentence

NAMES: TagNames = (
    tuple(f"{tag}\t{other}" for tag in TAGS for other in ("_", "x")),
    ("_", "Case=Acc", "Case=Nom"),
)


def some(rng: np.random.Generator, n: int, size: int, most: int) -> Likely:
    """Random values of words, which may have none."""
    counts = rng.integers(0, most + 1, n)
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    probabilities = rng.random(begin[-1]).astype(np.float32)
    return Likely(begin, rng.integers(0, size, begin[-1]).astype(np.int32), probabilities)


def with_likely(rng: np.random.Generator, n: int) -> Sentence:
    sentence = random_sentence(rng, n)
    sentence.feats = [str(rng.choice(NAMES[1])) for _ in range(n)]
    likely = [some(rng, n, len(names), 4) for names in NAMES]
    sentence.likely_tags = LikelyTags(NAMES, *likely)
    return sentence


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["", "rc"]))
def test_scores_are_those_of_mean_vectors(seed: int, kinds: str) -> None:
    rng = np.random.default_rng(seed)
    sentences = [with_likely(rng, int(n)) for n in rng.integers(1, 9, 3)]
    sentences[1].likely_tags = None
    network = random_network(rng, sentences, kinds)
    found = network(sentences, None, [s.likely_tags for s in sentences]).sentences()
    for sentence, scores in zip(sentences, found):
        finite = np.isfinite(scores.scores)
        expected = Plain(network, sentence).arcs()
        assert np.allclose(scores.scores[finite], expected[finite], atol=1e-3, rtol=1e-4)
        (alone,) = network([sentence], None, [sentence.likely_tags]).sentences()
        assert alone.scores.tobytes() == scores.scores.tobytes()  # whatever is in the batch
    (hard,) = network([sentences[1]]).sentences()
    assert hard.scores.tobytes() == found[1].scores.tobytes()


def test_ensembles_use_the_vectors_of_each_member() -> None:
    rng = np.random.default_rng(4)
    sentence = with_likely(rng, 7)
    one = random_network(rng, [sentence])
    other = type(one)(
        one.labels, one.kinds, one.sizes, one.keys, -one.vectors, one.weights.values, one.root
    )
    args = [sentence], None, [sentence.likely_tags]
    (both,) = one.with_others([other])(*args).sentences()
    (first,), (second,) = one(*args).sentences(), other(*args).sentences()
    mean = (first.scores + second.scores) / np.float32(2.0)
    assert both.scores.tobytes() == mean.tobytes()


def test_taggers_may_have_other_names() -> None:
    """The vectors of a tagger's names are kept until another one names the tags."""
    rng = np.random.default_rng(7)
    sentence = with_likely(rng, 6)
    network = random_network(rng, [sentence])
    assert sentence.likely_tags is not None
    _, *tags = sentence.likely_tags
    names = NAMES[0][::-1], NAMES[1][::-1]
    turned = [own._replace(numbers=len(texts) - 1 - own.numbers) for own, texts in zip(tags, NAMES)]
    likely = sentence.likely_tags, LikelyTags(names, *turned)
    one, other = (network([sentence], None, [own]).sentences()[0] for own in likely)
    assert one.scores.tobytes() == other.scores.tobytes()


def test_a_hidden_word_has_no_likely_tags() -> None:
    rng = np.random.default_rng(8)
    sentence = with_likely(rng, 5)
    network = random_network(rng, [sentence])
    own = sentence.likely_tags
    assert own is not None
    for word, hidden in enumerate(network.without_words(sentence, None, own)):
        others = [
            some._replace(numbers=np.where(owners(some) == word, 0, some.numbers).astype(np.int32))
            for some in (own.tags, own.feats)
        ]
        scored = [*network.without_words(sentence, None, LikelyTags(NAMES, *others))][word]
        assert hidden.scores.tobytes() == scored.scores.tobytes()


def test_damaged_tags_reach_no_memory_beyond_theirs() -> None:
    rng = np.random.default_rng(5)
    sentence = with_likely(rng, 4)
    network = random_network(rng, [sentence])
    own = sentence.likely_tags
    assert own is not None
    with pytest.raises(ValueError, match="likely_tags are those of 4 words, expected 5"):
        network([random_sentence(rng, 5)], None, [own])
    begin = np.array([-3, 2, 10**9, 1, 10**9], np.int64)
    numbers = np.array([10**9, -1, 10**9, 2**30], np.int32)
    wild = Likely(begin, numbers, np.ones(4, np.float32))
    (scores,) = network([sentence], None, [LikelyTags(NAMES, wild, wild)]).sentences()
    nothing = Likely(np.zeros(5, np.int64), numbers[:0], np.zeros(0, np.float32))
    (none,) = network([sentence], None, [LikelyTags(NAMES, nothing, nothing)]).sentences()
    assert scores.scores.tobytes() == none.scores.tobytes()
