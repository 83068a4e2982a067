"""Combined parses, against all trees with all labels."""

from __future__ import annotations

import io
import math
from itertools import product

import numpy as np
import pytest

from bbparse.parser.combine import Vote, accuracy_weights, alternatives, combine, with_disputes
from bbparse.parser.validity.repair import MAX_WORDS, RepairOptions, label_names
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence, format_sentence, read_conllu
from tests.oracles.enumerate import all_trees
from tests.oracles.rules import broken
from tests.parser.validity.test_random import NAMES, TAGS, random_rules

UD = Rules.load("ud")


def check_one(seed: int) -> bool:
    """Compare the best trees of random votes with enumeration; return True if a rule is broken."""
    rng = np.random.default_rng(seed)
    n, n_parses = int(rng.integers(1, 5)), int(rng.integers(2, 5))
    relations = ("dep", *NAMES) if n < 4 else ("dep", "nsubj")
    relations = (*relations[:3], "root") if rng.random() < 0.5 else relations
    tags = [str(rng.choice(TAGS)) for _ in range(n)]
    parses = [
        Sentence.from_words(
            ["w"] * n,
            upos=tags,
            heads=[int(rng.integers(-1, n + 1)) for _ in range(n)],
            deprels=[str(rng.choice([*relations, "_"])) for _ in range(n)],
        )
        for _ in range(n_parses)
    ]
    weights = None
    if rng.random() < 0.7:
        weights = rng.choice([0.0, 0.25, 0.5, 1.0, 7.0], (n_parses, n)).tolist()
    rules, k = Rules(random_rules(rng).rules, relations), int(rng.choice([1, 1, 3, 7]))
    projective = bool(rng.random() < 0.5)
    got = combine(parses, rules, weights, RepairOptions(projective=projective), k)
    names = label_names(rules, parses[0], [x for p in parses for x in p.deprels])

    def votes(tree: tuple[int, ...], row: tuple[str, ...]) -> tuple[float, ...]:
        faults = len(broken(rules, parses[0], [*tree], [*row]))
        total, favourite, unasked = 0.0, 0, 0
        for i, parse in enumerate(parses):
            for m in range(n):
                if parse.heads[m] == tree[m]:
                    both = 1 + (parse.deprels[m] == row[m])
                    total += both * (1.0 if weights is None else weights[i][m])
                    favourite += both if i == 0 else 0
        for m, head in enumerate(tree, start=1):
            if all(parse.heads[m - 1] != head for parse in parses):
                unasked += abs(head - m)
        return -faults, total, favourite, -unasked

    def asked(m: int, head: int, label: str) -> bool:
        """True if a vote counts for this label."""
        return any(
            (p.heads[m], p.deprels[m]) == (head, label)
            and (i == 0 or weights is None or weights[i][m] > 0.0)
            for i, p in enumerate(parses)
        )

    # of trees that differ in labels that nobody asks for, the best one
    ranked: list[tuple[float, ...]] = []
    for tree in all_trees(n, "root" in relations, projective):
        every = [(votes(tree, row), row) for row in product(names, repeat=n)]
        kept: list[tuple[str, ...]] = []
        for key, row in sorted(every, key=lambda item: item[0], reverse=True):
            apart = [m for m in range(n) if asked(m, tree[m], row[m])]
            if not any(all(row[m] == other[m] for m in apart) for other in kept):
                kept.append(row)
                ranked.append(key)
    ranked.sort(reverse=True)
    valid = [key for key in ranked if key[0] == 0]
    found = [votes(tree.heads, tree.labels) for tree in got.trees]
    assert found == (valid[:k] or ranked[:1])
    assert all(tree.proved for tree in got.trees)
    assert [tree.score for tree in got.trees] == pytest.approx([key[1] for key in found])
    assert len({(tree.heads, tree.labels) for tree in got.trees}) == len(got.trees)
    for disputes, tree_found in zip(got.disputes, got.trees, strict=True):
        for m, differing in enumerate(disputes):
            arc = (tree_found.heads[m], tree_found.labels[m])
            others = [(i, p.heads[m], p.deprels[m]) for i, p in enumerate(parses, start=1)]
            assert differing == [other for other in others if other[1:] != arc]
    return not valid


def test_most_votes_of_all_valid_trees() -> None:
    assert {check_one(seed) for seed in range(120)} == {True, False}


@pytest.mark.fuzz
def test_most_votes_in_many() -> None:
    for seed in range(1000, 5000):
        check_one(seed)


def parse_of(heads: list[int], labels: list[str], **more: list[str]) -> Sentence:
    tags = {"upos": ["PRON", "VERB", "NOUN"], **more}
    return Sentence.from_words(["I", "see", "it"], heads=heads, deprels=labels, **tags)


A = parse_of([2, 0, 2], ["nsubj", "root", "obj"])
B = parse_of([2, 0, 1], ["nsubj", "root", "obj"], upos=["PRON", "VERB", "PRON"])
C = parse_of([2, 0, 2], ["nsubj", "root", "iobj"], upos=["PRON", "VERB", "PRON"])


def test_tags_disputes_and_ties() -> None:
    got = combine([A, B, C], UD)
    assert got.trees[0].labels == ("nsubj", "root", "obj") and got.trees[0].heads == (2, 0, 2)
    assert got.sentence.upos[2] == "PRON" and got.disputed_tags
    assert got.disputes == [[[], [], [Vote(2, 1, "obj"), Vote(3, 2, "iobj")]]]
    assert with_disputes(got).lines[-1].endswith("\tDiffers=2:1:obl,3:2:iobj".replace("obl", "obj"))
    tagged = parse_of(A.heads, A.deprels, xpos=["PRP", "VBP", "PRP"])
    assert combine([A, B, tagged], UD).sentence.xpos == tagged.xpos  # others have none
    assert combine([C, A], UD).trees[0].labels[2] == "iobj"
    assert combine([C, A], UD, [[1.0] * 3, [1.01] * 3]).trees[0].labels[2] == "obj"
    assert not combine([A, A], UD).disputed and combine([A, B], UD).disputed


def test_weights_from_accuracy() -> None:
    right, wrong = accuracy_weights([[A, A], [A, B]], [A])
    assert right == round(math.log(6.5 / 0.5), 2) and wrong == round(math.log(5.5 / 1.5), 2)
    with pytest.raises(TreebankError, match="none of its sentences is in the file of --weights"):
        accuracy_weights([[A]], [Sentence.from_words(["x"], heads=[0])])


def test_what_cannot_be_combined() -> None:
    other = Sentence.from_words(["I", "saw", "it"], heads=[2, 0, 2])
    with pytest.raises(TreebankError, match="word 2 is 'saw', expected 'see'"):
        combine([A, other], UD)
    with pytest.raises(TreebankError, match="found 1 words, expected 3"):
        combine([A, Sentence.from_words(["I"], heads=[0])], UD)
    with pytest.raises(TreebankError, match=r"weight of word 1 is 11\.0, expected 0 to 10"):
        combine([A, B], UD, [[11.0] * 3, [1.0] * 3])


def test_long_sentences_keep_the_best_of_the_given_trees() -> None:
    n = MAX_WORDS + 1
    words, heads = ["w"] * n, [0] + [1] * (n - 1)
    labels = ["root"] + ["dep"] * (n - 1)
    one = Sentence.from_words(words, upos=["X"] * n, heads=heads, deprels=labels)
    same = combine([one, one], UD)
    assert (same.obstacle, same.disputed, same.faults) == ("", False, [[]])
    assert (same.trees[0].score, same.trees[0].proved) == (4.0 * n, True)
    two = Sentence.from_words(words, upos=["X"] * n, heads=[*heads[:-1], 2], deprels=labels)
    got = combine([one, two, two], UD, k_best=5)
    assert got.obstacle == "" and got.trees[0].heads[-1] == 2
    assert got.disputes[0][-1] == [Vote(1, 1, "dep")]
    cycle = Sentence.from_words(words, upos=["X"] * n, heads=[0, 3, 2, *heads[3:]], deprels=labels)
    got = combine([cycle, cycle, two], UD)
    assert got.obstacle == f"the tree is that of file 3: it has more than {MAX_WORDS} words"
    assert (got.trees[0].proved, got.faults) == (False, [[]])
    assert got.trees[0].score == 6.0 * (n - 3) + 2.0 * 3
    assert got.trees[0].upper_bound == 6.0 * (n - 3) + 4.0 * 3
    none = Sentence.from_words(words)
    assert [fault.name for fault in combine([none, none], UD).faults[0]] == ["no-head"]


def test_trees_that_differ_in_labels_only() -> None:
    """The second file's own valid tree has as many votes as the first file's."""
    other = parse_of([2, 0, 2], ["nsubj", "root", "obl"])
    got = combine([A, other], UD, k_best=3)
    assert [tree.labels[2] for tree in got.trees[:2]] == ["obj", "obl"]
    assert [tree.score for tree in got.trees] == [11.0, 11.0, 8.0]
    assert [disputes[2] for disputes in got.disputes[:2]] == [
        [Vote(2, 2, "obl")],
        [Vote(1, 2, "obj")],
    ]
    strange = parse_of([2, 0, 2], ["nsubj", "root", "x|y,%2C:z"])
    kept = with_disputes(combine([A, strange], Rules(())))
    assert kept.lines[-1].endswith("\tDiffers=2:2:x%7Cy%2C%252C:z")
    assert alternatives(read_one(kept, A)) == [("2", [2, 0, 2], strange.deprels)]


def read_one(sentence: Sentence, tree: Sentence) -> Sentence:
    """The sentence as it is read back, with the heads of a tree."""
    (read,) = read_conllu(io.StringIO(format_sentence(sentence, tree.heads, tree.deprels)))
    return read


def test_a_time_limit_leaves_all_trees_that_were_found() -> None:
    rng = np.random.default_rng(1)
    n = 30
    words = ["w"] * n
    parses = [
        Sentence.from_words(
            words,
            upos=["NOUN"] * n,
            heads=[0, *(int(rng.integers(1, m)) for m in range(2, n + 1))],
            deprels=["root", *(str(rng.choice(["obj", "nsubj", "nmod"])) for _ in words[1:])],
        )
        for _ in range(3)
    ]
    got = combine(parses, UD, None, RepairOptions(time_limit=1.0), 40)
    assert len(got.trees) > 10
