"""Repaired trees, against all trees with all labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from bbparse.parser.spans import Spans
from bbparse.parser.validity.repair import (
    LEAST,
    MAX_WORDS,
    SCORE_STEPS,
    Repair,
    RepairOptions,
    label_names,
    repair,
)
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence
from tests.oracles.enumerate import all_trees
from tests.oracles.rules import broken
from tests.parser.validity.test_random import NAMES, TAGS, random_rules


class Opinion:
    """Scores of a model: a table by head, modifier and label."""

    labels = ("nsubj", "dep", "obj", "other")

    def __init__(self, table: np.ndarray) -> None:
        self.table = table

    def __call__(self, sentence: Sentence) -> np.ndarray:
        return self.table.transpose(1, 0, 2)


def check_one(seed: int) -> str:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    relations = ("dep", *NAMES) if n < 4 else ("dep", "nsubj")
    if rng.random() < 0.5:
        relations = (*relations[:3], "root")
    labels = [str(rng.choice([*relations, "_"])) for _ in range(n)]
    heads = [int(rng.integers(-1, n + 1)) for _ in range(n)]
    tags = [str(rng.choice(TAGS)) for _ in range(n)]
    sentence = Sentence.from_words(["w"] * n, upos=tags, heads=heads, deprels=labels)
    rules = Rules(random_rules(rng).rules, relations)
    weights = None if rng.random() < 0.5 else rng.choice([0.0, 0.25, 0.5, 1.0, 7.0], n).tolist()
    only_punct, projective = bool(rng.random() < 0.3), bool(rng.random() < 0.5)
    opinion = None
    if rng.random() < 0.5:
        table = rng.integers(-3000, 1, (n + 1, n + 1, 4)) / SCORE_STEPS
        table[rng.random(table.shape) < 0.1] = -np.inf
        opinion = Opinion(table)
    low, high = sorted(rng.choice(np.arange(1, n + 1), 2))
    sentence.lines[low - 1] = f"{sentence.lines[low - 1][:-1]}S=(x"
    sentence.lines[high - 1] = re.sub("\t_?(S=.*)?$", r"\tS=)", sentence.lines[high - 1], count=1)
    spans = Spans("S", [None, 0.25, 2.0][rng.integers(3)]) if 0 < high - low < n - 1 else None
    options = RepairOptions(
        only_punct=only_punct, projective=projective, scores=opinion, spans=spans
    )
    got = repair(sentence, rules, weights, options)

    def excess(tree: Sequence[int]) -> int:
        entering = [h for h in tree[low - 1 : high] if h >= 0 and not low <= h <= high]
        return max(0, len(entering) - 1) if spans else 0

    if not got.before and not excess(heads):
        assert (got.heads, got.labels, got.changes) == (heads, labels, []) and got.proved
        return "valid"
    names = (
        sorted({*labels})
        if only_punct
        else label_names(rules, sentence, opinion.labels if opinion else ())
    )

    def choices(m: int) -> list[str]:
        return [labels[m]] if only_punct else names

    def tie(m: int, head: int, label: str) -> float:
        if opinion is None:
            return 0 if head == heads[m - 1] else abs(head - m)
        at = Opinion.labels.index(label) if label in Opinion.labels else -1
        score = opinion.table[head, m, at] if at >= 0 else LEAST
        return -round(max(score, LEAST) * SCORE_STEPS)

    def key(tree: Sequence[int], row: Sequence[str]) -> tuple[float, ...]:
        kept = [(a == b) + (c == d) for a, b, c, d in zip(tree, heads, row, labels)]
        return (
            len(broken(rules, sentence, [*tree], [*row])),
            excess(tree) * ((spans and spans.weight) or 0.0)
            - sum(k * w for k, w in zip(kept, weights or [1.0] * n)),
            sum(k < 2 for k in kept),
            sum(tie(m, *arc) for m, arc in enumerate(zip(tree, row), start=1)),
        )

    free = [not only_punct or label == "punct" for label in labels]
    keys = [
        key(tree, row)
        for tree in all_trees(n, "root" in relations, projective)
        if all(new == old or is_free for new, old, is_free in zip(tree, heads, free))
        if not (spans and spans.weight is None and excess(tree))
        for row in product(*[choices(m) for m in range(n)])
    ]
    if not keys:
        assert got.obstacle.startswith("no tree has all ") and got.heads == heads
        return "impossible"
    assert got.proved and tuple(got.heads) in all_trees(n, "root" in relations, projective)
    assert key(got.heads, got.labels) == min(keys)
    found = broken(rules, sentence, got.heads, got.labels)
    if spans is None:
        check_changes(got, rules, projective)
    return "faults left" if found else "repaired"


def check_changes(got: Repair, rules: Rules, projective: bool) -> None:
    """A change has reasons exactly if the repaired tree with the old arc instead is worse."""
    old = [*zip(got.sentence.heads, got.sentence.deprels)]
    new = [*zip(got.heads, got.labels)]
    differing = [m for m, (a, b) in enumerate(zip(old, new), start=1) if a != b]
    assert [change.word for change in got.changes] == differing
    trees = {*all_trees(len(old), "root" in rules.relations, projective)}
    left = broken(rules, got.sentence, got.heads, got.labels)
    for word, before, after, reasons in got.changes:
        assert (before, after) == (old[word - 1], new[word - 1])
        heads, labels = zip(*new[: word - 1], before, *new[word:])
        worse = heads not in trees or before[1] not in rules.relations
        worse = worse or bool(broken(rules, got.sentence, [*heads], [*labels]) - left)
        assert bool(reasons) == worse


def test_the_most_is_kept() -> None:
    outcomes = {check_one(seed) for seed in range(150)}
    assert outcomes == {"valid", "impossible", "faults left", "repaired"}


@pytest.mark.fuzz
def test_the_most_is_kept_in_many() -> None:
    for seed in range(1000, 6000):
        check_one(seed)


def sentence_of(rows: str) -> Sentence:
    """A sentence of rows form/UPOS/head/label."""
    cells = [row.split("/") for row in rows.split()]
    return Sentence.from_words(
        [row[0] for row in cells],
        upos=[row[1] for row in cells],
        heads=[int(row[2]) for row in cells],
        deprels=[row[3] for row in cells],
    )


def test_why_a_word_changes() -> None:
    sentence = sentence_of("This/PRON/3/nsubj he/PRON/3/nsubj said/VERB/0/root")
    got = repair(sentence, Rules.load("ud"))
    (change,) = got.changes
    assert change.new == (3, "dep") and got.proved and not got.after
    assert change.reasons == (got.before[0].text(sentence, sentence.heads, sentence.deprels),)
    weighted = repair(sentence, Rules.load("ud"), [0.5, 0.51, 1.0])
    assert [change.word for change in weighted.changes] == [1]
    weighted = repair(sentence, Rules.load("ud"), [0.51, 0.5, 1.0])
    assert [change.word for change in weighted.changes] == [2]


def test_what_is_no_tree() -> None:
    ud = Rules.load("ud")
    got = repair(sentence_of("a/X/2/dep b/X/1/dep c/X/-1/_"), ud)
    assert not got.after and got.proved and [f.name for f in got.before][-1] == "no-head"
    assert got.changes == [
        (2, (1, "dep"), (3, "dep"), ("non-tree: word 1: b -dep-> a, word 2: a -dep-> b",)),
        (3, (-1, "_"), (0, "root"), ("no-head: word 3: _ -_-> c",)),
    ]
    crossing = sentence_of("a/X/3/dep b/X/4/dep c/X/0/root d/X/3/dep")
    assert not repair(crossing, ud).before
    nested = repair(crossing, ud, options=RepairOptions(projective=True))
    assert [(c.word, c.old, c.new) for c in nested.changes] == [(2, (4, "dep"), (3, "dep"))]
    (reason,) = nested.changes[0].reasons
    arcs = "word 1: c -dep-> a, word 2: d -dep-> b, word 3: ROOT -root-> c"
    assert reason == f"crossing-arcs: {arcs}"


def test_limits() -> None:
    ud = Rules.load("ud")
    long = sentence_of(" ".join(["a/X/0/root"] + ["a/X/1/root"] * MAX_WORDS))
    got = repair(long, ud)
    assert got.obstacle == f"it has more than {MAX_WORDS} words" and got.heads == long.heads
    rows = ["a/X/0/root", *(f"a/X/{h}/obj" for h in (9, 1, 7, 2, 9, 3, 1, 2)), "./PUNCT/4/punct"]
    hurried = repair(sentence_of(" ".join(rows)), ud, options=RepairOptions(time_limit=1e-6))
    assert hurried.obstacle == "no valid tree was found within the limit" and not hurried.changes
    for weights, message in (([1.0], "1 weights, expected 301"), ([-1.0] * 301, "word 1 is -1.0")):
        with pytest.raises(TreebankError, match=message):
            repair(long, ud, weights)
