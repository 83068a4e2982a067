"""Agreement of annotators: published examples, and the formulas written out plainly."""

from __future__ import annotations

import math
import random
from itertools import combinations, permutations

import pytest

from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence
from bbparse.treebank.reliability import Annotations


def coded(*rows: str) -> Annotations:
    """Annotations with one sentence a word: its label is a letter, ``.`` is missing."""
    return Annotations(
        [
            [
                Sentence.from_words(["w"], deprels=["_" if code == "." else code])
                for code in row.replace(" ", "")
            ]
            for row in rows
        ]
    )


# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, sections A, B and C.
@pytest.mark.parametrize(
    ("rows", "alpha"),
    [
        (("0 1 0 0 0 0 0 0 1 0", "1 1 1 0 0 1 0 0 0 0"), 0.095),
        (("a a b b d c c c e d d a", "b a b b b c c c e d d d"), 0.692),
        (
            (
                "1 2 3 3 2 1 4 1 2 . . .",
                "1 2 3 3 2 2 4 1 2 5 . 3",
                ". 3 3 3 2 3 4 2 2 5 1 .",
                "1 2 3 3 2 4 4 1 2 5 1 .",
            ),
            0.743,
        ),
    ],
)
def test_published_alphas(rows: tuple[str, ...], alpha: float) -> None:
    assert coded(*rows).agreement("label", resamples=1).alpha == pytest.approx(alpha, abs=5e-4)


def test_a_published_kappa() -> None:
    """Fifty proposals: both readers say yes to 20 and no to 15, and differ on 5 and 10."""
    got = coded("y" * 25 + "n" * 25, "y" * 20 + "n" * 5 + "y" * 10 + "n" * 15)
    result = got.agreement("label", resamples=200)
    assert result.observed == pytest.approx(0.7) and result.kappa == pytest.approx(0.4)
    low, high = result.kappa_interval
    assert low < 0.4 < high and result == got.agreement("label", resamples=200)
    assert got.confusions() == [("n", "y", 15)]


def plain_alpha(rows: list[list[str]]) -> float:
    """Every pair of values, one by one."""
    observed, values = 0.0, []
    for unit in zip(*rows):
        known = [value for value in unit if value != "_"]
        if len(known) > 1:
            values += known
            observed += sum(a != b for a, b in permutations(known, 2)) / (len(known) - 1)
    expected = sum(a != b for a, b in permutations(values, 2)) / (len(values) - 1)
    return 1.0 - observed / expected


def plain_kappa(rows: list[list[str]]) -> float:
    kappas = []
    for one, other in combinations(rows, 2):
        n = len(one)
        p = sum(a == b for a, b in zip(one, other)) / n
        e = sum(one.count(c) / n * other.count(c) / n for c in {*one, *other})
        kappas.append((p - e) / (1.0 - e))
    return sum(kappas) / len(kappas)


def test_random_annotations_of_trees() -> None:
    rng = random.Random(5)
    for _ in range(30):
        files = []
        lengths = [rng.randint(1, 5) for _ in range(6)]
        for _ in range(rng.randint(2, 4)):
            files.append(
                [
                    Sentence.from_words(
                        ["w"] * n,
                        heads=[rng.randint(-1, n) for _ in range(n)],
                        deprels=[rng.choice("abc_") for _ in range(n)],
                    )
                    for n in lengths
                ]
            )
        got = Annotations(files)
        heads = [
            [
                "_" if h < 0 else "root" if h == 0 else str(h - m)
                for s in file
                for m, h in enumerate(s.heads, start=1)
            ]
            for file in files
        ]
        labels = [[label for s in file for label in s.deprels] for file in files]
        for kind, rows in (("head", heads), ("label", labels)):
            result = got.agreement(kind, resamples=1)
            assert result.kappa == pytest.approx(plain_kappa(rows))
            assert result.alpha == pytest.approx(plain_alpha(rows))
        only_a = got.agreement("label", "a", resamples=1)
        has = [[str(label == "a") for label in row] for row in labels]
        assert only_a.kappa == pytest.approx(plain_kappa(has))


def test_what_cannot_be_compared() -> None:
    one = [Sentence.from_words(["a"])]
    for files, complaint in (
        ([one, []], "has only 0 sentences"),
        ([one, [Sentence.from_words(["b"])]], "word 1 is 'b', expected 'a'"),
        ([one, [Sentence.from_words(["a", "b"])]], "found 2 words, expected 1"),
    ):
        with pytest.raises(TreebankError, match=complaint):
            Annotations(files)
    assert math.isnan(Annotations([one, one]).agreement("label", resamples=1).alpha)
