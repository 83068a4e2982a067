"""Scores of other parsers: the trees are the best of all labelled trees, by enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from bbparse import Sentence
from bbparse.adapters import SentenceScores, decode, from_batch
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import BBParseError, ProblemError
from tests.oracles.enumerate import is_projective, is_tree
from tests.oracles.rules import broken

NAMES = ("root", "subj", "obj", "")
RULES = """
relations = ["root", "subj", "obj"]
upos = ["N", "V"]

[[rule]]
name = "root-is-root"
arc = "label!=root head.upos=ROOT"

[[rule]]
name = "no-other-root"
arc = "label=root head.upos!=ROOT"

[[rule]]
name = "one-subject"
arc = "label=subj"
beside = "label=subj"

[[rule]]
name = "no-object-of-nouns"
arc = "label=obj head.upos=N"
"""
SENTENCE = Sentence.from_words(["a", "b", "c", "d"], upos=["N", "V", "N", "N"])


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Rules:
    path = tmp_path_factory.mktemp("rules") / "rules.toml"
    path.write_text(RULES)
    return Rules.load(str(path))


def random_scores(seed: int, n: int = 4, siblings: bool = False) -> SentenceScores:
    rng = np.random.default_rng(seed)
    arcs = rng.normal(size=(n + 1, n + 1)) * 2
    arcs[rng.random(arcs.shape) < 0.1] = -np.inf
    arcs[1:, 0] = rng.normal(size=n)
    arcs[0] = np.nan  # padding of a model: not looked at
    labels = rng.normal(size=(n + 1, n + 1, len(NAMES))) * 2
    sib = rng.normal(size=(n + 1,) * 3) if siblings else None
    return SentenceScores(arcs, labels, NAMES, sib)


def tree_score(scores: SentenceScores, heads: Any, numbers: Any, joint: bool) -> float:
    """Score of a labelled tree from the definition."""
    total = 0.0
    for d, (h, r) in enumerate(zip(heads, numbers), start=1):
        row = scores.labels[d, h]  # type: ignore[index]
        total += scores.arcs[d, h] + row[r] - (0.0 if joint else row.max())
        between = [s for s, x in enumerate(heads, start=1) if x == h and min(d, h) < s < max(d, h)]
        if between and scores.siblings is not None:
            inner = max(between) if h < d else min(between)
            total += scores.siblings[d, h, inner]
    return float(total)


def ranked(
    scores: SentenceScores, projective: bool, joint: bool = True, rules: Any = None
) -> list[Any]:
    """(score, heads) of the best labelling of all trees that keep the rules, best first."""
    n, found = scores.n_words, []
    for heads in product(range(n + 1), repeat=n):
        full = [-1, *heads]
        if not is_tree(full) or heads.count(0) != 1 or (projective and not is_projective(full)):
            continue
        best = -np.inf
        for numbers in product(range(3), repeat=n):
            score = tree_score(scores, heads, numbers, joint)
            if score > best and np.isfinite(score):
                names = [NAMES[r] for r in numbers]
                if rules is None or not broken(rules, SENTENCE, list(heads), names):
                    best = score
        if best > -np.inf:
            found.append((best, heads))
    return sorted(found, key=lambda row: -row[0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("siblings", [False, True])
@pytest.mark.parametrize("projective", [False, True])
def test_valid_trees_are_the_best_of_all(
    seed: int, siblings: bool, projective: bool, rules: Rules
) -> None:
    scores = random_scores(seed, siblings=siblings)
    for joint, valid in ((True, rules), (False, rules), (True, None)):
        expected = ranked(scores, projective, joint, valid)[:3]
        found = decode(scores, SENTENCE, k_best=3, valid=valid, projective=projective, joint=joint)
        assert [tree.heads for tree in found] == [heads for _, heads in expected]
        assert [tree.score for tree in found] == pytest.approx([score for score, _ in expected])
        for tree in found:
            assert tree.proved and not tree.broken
            numbers = [NAMES.index(label) for label in tree.labels]
            assert tree_score(scores, tree.heads, numbers, joint) == pytest.approx(tree.score)


def test_rules_that_nothing_keeps_are_told(rules: Rules) -> None:
    scores = random_scores(1)
    labels = scores.labels.copy()  # type: ignore[union-attr]
    labels[:, :, NAMES.index("root")] = -np.inf
    (tree,) = decode(SentenceScores(scores.arcs, labels, NAMES), SENTENCE, valid=rules)
    assert any("root-is-root" in text for text in tree.broken)


def test_without_labels_arcs_and_siblings_choose() -> None:
    scores = random_scores(5, siblings=True)
    bare = SentenceScores(scores.arcs, siblings=scores.siblings)
    (tree,) = decode(bare)
    assert tree.labels == ()
    assert tree.heads == ranked(scores, True, joint=False)[0][1]


def test_a_batch_is_cut_into_sentences() -> None:
    rng = np.random.default_rng(0)
    arcs, labels = rng.normal(size=(2, 6, 6)), rng.normal(size=(2, 6, 6, 4))
    siblings = rng.normal(size=(2, 6, 6, 6))
    arcs[1, 4:], arcs[1, :, 4:], labels[1, 4:] = np.nan, np.nan, np.nan
    first, second = from_batch(arcs, [5, 3], labels=labels, names=NAMES, siblings=siblings)
    assert (first.n_words, second.n_words) == (5, 3)
    assert second.siblings is not None and second.siblings.shape == (4, 4, 4)
    assert len(decode(second, k_best=2)) == 2


ARCS, LABELS = np.zeros((2, 5, 5)), np.zeros((2, 5, 5, 4))


@pytest.mark.parametrize(
    ("arcs", "options", "message"),
    [
        (ARCS[0], {}, r"arcs has shape \(5, 5\) .*expected .*sentence, dependent, head"),
        (ARCS, {"lengths": [5, 4]}, r"lengths\[0\] is 5, expected 1..4"),
        (ARCS, {"labels": LABELS[:1]}, r"labels has shape \(1, 5, 5, 4\), and arcs \(2, 5, 5\)"),
        (ARCS, {"siblings": np.zeros((2, 4, 5, 5))}, r"siblings has shape \(2, 4, 5, 5\)"),
        (ARCS, {"labels": LABELS, "names": [1] * 4}, r"of names is of type int, expected str"),
        (
            ARCS,
            {"labels": LABELS, "names": ["a", "b"]},
            r"sentence 0 .*labels has shape \(5, 5, 4\), expected \(5, 5, 2\) as names has 2"
            " labels",
        ),
        (ARCS, {"labels": LABELS * np.nan, "names": NAMES}, r"labels\[1, 0, 0\] is nan"),
        (ARCS, {"labels": LABELS, "names": [""] * 4}, r"labels\[1, 0\] is -inf for all labels"),
    ],
)
def test_bad_batches_get_a_line(arcs: Any, options: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message) as error:
        from_batch(arcs, **options)
    assert "\n" not in str(error.value)


def test_bad_requests_get_a_line(rules: Rules) -> None:
    scores = random_scores(0)
    untagged = Sentence.from_words(["a", "b", "c", "d"])
    nan = np.full((5, 5, 5), np.nan)
    for call, message in (
        (lambda: decode(scores, valid=rules), "a tagged sentence of 4 words, found no sentence"),
        (lambda: decode(scores, untagged, valid=rules), "word 1, a, has no UPOS tag"),
        (lambda: decode(scores, SENTENCE, valid="ud"), "label 'subj' is unknown to the rules"),
        (lambda: decode(scores, SENTENCE, valid="nothing"), "no rules 'nothing'"),
        (lambda: decode(scores, SENTENCE, valid=3), "valid is of type int, expected Rules"),
        (lambda: decode(scores, k_best=0), "k_best is 0, expected at least 1"),
        (lambda: decode(scores, joint=2), "joint is 2, expected True or False"),
        (lambda: decode(scores.arcs), "scores is of type ndarray, expected SentenceScores"),
        (lambda: decode(SentenceScores(scores.arcs), SENTENCE, valid=rules), "valid needs label"),
        (lambda: decode(SentenceScores(scores.arcs, siblings=nan)), r"is nan, expected a finite"),
        (lambda: SentenceScores(scores.arcs, siblings=nan[:3]), r"shape \(3, 5, 5\), expected"),
    ):
        with pytest.raises(BBParseError, match=message) as error:
            call()
        assert "\n" not in str(error.value)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'k'"):
        decode(scores, k=2)
