"""Variation in annotation, against a comparison of all pairs of places."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from bbparse.treebank import Sentence
from bbparse.treebank.variation import Analysis, variations


def test_one_slip_among_three() -> None:
    def sentence(head: int, label: str) -> Sentence:
        return Sentence.from_words(
            ["I", "saw", "the", "man", "."],
            heads=[2, 0, 4, head, 2],
            deprels=["nsubj", "root", "det", label, "punct"],
        )

    found = variations([sentence(2, "obj"), sentence(2, "nsubj"), sentence(2, "obj")])
    assert [v.words for v in found] == [("I", "saw", "the", "man", ".")]
    assert found[0].counts() == [(Analysis("right", "obj"), 2), (Analysis("right", "nsubj"), 1)]
    (suspect,) = found[0].suspects()
    assert suspect.analysis.label == "nsubj" and (suspect.modifier, suspect.first) == (4, 2)
    assert str(suspect.analysis) == "nsubj of the first word"
    assert variations([sentence(2, "obj")] * 3) == []
    assert len(variations([sentence(2, "obj"), sentence(2, "iobj")])[0].suspects()) == 2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_corpora(seed: int) -> None:
    rng = random.Random(seed)
    corpus = []
    for _ in range(60):
        n = rng.randint(2, 6)
        corpus.append(
            Sentence.from_words(
                [rng.choice("ab") for _ in range(n)],
                heads=[rng.randint(-1, n) for _ in range(n)],
                deprels=[rng.choice(["x", "y", "punct:x"]) for _ in range(n)],
            )
        )
        if any(h > 0 and corpus[-1].heads[h - 1] == m for m, h in enumerate(corpus[-1].heads, 1)):
            corpus.pop()  # two words are each other's heads
    places = []
    for number, s in enumerate(corpus):
        forms = ["", *s.forms, ""]
        for i, j in combinations(range(1, s.n_words + 1), 2):
            arc = None
            if s.heads[i - 1] == j:
                arc = ("left", s.deprels[i - 1])
            elif s.heads[j - 1] == i:
                arc = ("right", s.deprels[j - 1])
            places.append((tuple(forms[i - 1 : j + 2]), arc, number, i, j))
    expected = {
        words: {place[1:] for place in places if place[0] == words}
        for words in {place[0] for place in places}
        if len({place[1] for place in places if place[0] == words}) > 1
        and any(arc and arc[1] != "punct:x" for other, arc, *_ in places if other == words)
    }
    found = variations(corpus)
    numbers = {id(s): number for number, s in enumerate(corpus)}
    assert expected and expected == {
        v.words: {
            (
                (p.analysis.side, p.analysis.label) if p.analysis.side else None,
                numbers[id(p.sentence)],
                p.first,
                p.last,
            )
            for p in v.occurrences
        }
        for v in found
    }
