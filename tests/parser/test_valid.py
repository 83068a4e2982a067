"""Parsing under rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bbparse.parser.search import Search
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.conditions import ArcCondition
from bbparse.parser.validity.rules import Rule, Rules, rules_for
from bbparse.runtime.errors import ConfigError
from tests import toy
from tests.parser.test_given_heads import with_heads


def rule(name: str, arc: str, **second: str) -> Rule:
    kind = next(iter(second), "")
    other = (ArcCondition.parse(second[kind]),) if kind else ()
    return Rule(name, (ArcCondition.parse(arc),), kind, other)


RULES = Rules(
    [
        rule("no-det", "label=det"),
        rule("lonely", "label=nsubj", beside="label=obj|obl|advmod"),
        rule("leaf-nsubj", "label=nsubj", below="label=amod|case|nmod|punct"),
    ]
)


def test_trees_are_valid_in_order_and_proved() -> None:
    parser, moved = toy.parser(), 0
    for sentence in toy.dev_sentences()[:25]:
        plain = parser.parse(sentence, valid="none", k_best=4)
        trees = parser.parse(sentence, valid=RULES, k_best=4)
        assert trees and all(tree.proved and not tree.broken for tree in trees)
        ruled = RuledSentence(RULES, sentence)
        assert not any(ruled.faults(tree.heads, tree.labels) for tree in trees)
        assert len({tree.heads for tree in trees}) == len(trees)
        scores = [tree.score for tree in trees]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] <= plain[0].score + 1e-9
        if any(ruled.faults(tree.heads, tree.labels) for tree in plain):
            moved += trees != plain
        else:
            assert trees == plain
    assert moved > 10


def test_scores_are_the_models_own_less_what_labels_lose() -> None:
    parser = toy.parser()
    for sentence in toy.dev_sentences()[:25]:
        (plain,), (tree,) = (parser.parse(sentence, valid=v) for v in ("none", RULES))
        scored = parser.model.maker([sentence])[0]
        around, heads = (np.array([0, *one.heads], np.int32) for one in (plain, tree))
        words = np.arange(1, len(heads), dtype=np.int32)
        rows = parser.model.labeller.scores_around(scored, around, heads[1:], words)
        numbers = [parser.model.labeller.labels.index(label) for label in tree.labels]
        lost = (rows.max(axis=1) - rows[words - 1, numbers]).sum()
        own = scored.problem.score([-1, *tree.heads])
        assert tree.score == pytest.approx(own - lost, abs=2e-5 * len(tree.heads))


def test_conflicts_are_told() -> None:
    nothing = Rules([Rule("no-arcs-to-the-left", (ArcCondition.parse("side=left"),))])
    all_of = Rules([Rule("nothing", (ArcCondition(()),)), *nothing.rules])
    parser = toy.parser()
    for sentence in toy.dev_sentences()[:5]:
        (tree,) = parser.parse(sentence, valid=all_of, k_best=2)
        left = sum(m < h for m, h in enumerate(tree.heads, start=1))
        assert len(tree.broken) == sentence.n_words + left and tree.proved
        assert tree.broken[0].startswith("nothing: word 1: ")
        (plain,) = parser.parse(sentence, valid="none")
        assert left <= sum(m < h for m, h in enumerate(plain.heads, start=1))


def test_given_heads_and_labels_stay_and_faults_are_told() -> None:
    sentence = next(one for one in toy.dev_sentences() if one.n_words > 4)
    nlp = toy.parser()
    head = {m: h for m, h in enumerate(sentence.heads, start=1)}
    given = with_heads(sentence, head, {1: "det", 2: "own:label"})
    (tree,) = nlp(given, keep_heads=True, valid=RULES)[0].trees
    assert tree.heads == tuple(sentence.heads) and tree.labels[:2] == ("det", "own:label")
    assert any(text.startswith("no-det: word 1") for text in tree.broken)
    assert "# broken_rule = no-det: word 1" in nlp(given, keep_heads=True, valid=RULES).to_conllu()


def test_which_rules(tmp_path: Path) -> None:
    labeller = toy.parser().model.labeller
    ud = Rules.load("ud").binding
    assert rules_for(None, labeller) is ud and rules_for("ud", labeller) is ud
    assert rules_for("none", labeller) is None and rules_for(None, None) is None
    path = tmp_path / "mine.toml"
    path.write_text("[[rule]]\nname = 'mine'\narc = 'label=det'\n")
    both = rules_for(str(path), labeller)
    assert both is not None and len(both) == len(ud) + 1
    with pytest.raises(ConfigError, match="no rules 'uds'"):
        rules_for("uds", labeller)


@pytest.mark.parametrize(
    ("prune", "others"),
    [(0, []), (3, [3, 10, 0]), (None, [None, 10, 0]), (10, [10, 0]), (20, [20, 0])],
)
def test_pruning_is_never_tightened(prune: int | None, others: list[int | None]) -> None:
    parser, sentence = toy.parser().with_options(prune=prune), toy.dev_sentences()[0]
    assert [heads for heads, _ in Search(parser, sentence).pruning()] == [prune, *others]


def test_pruning_is_loosened_before_a_rule_is_given_up() -> None:
    """Candidate arcs without a valid tree prove nothing about all arcs."""
    parser, kept = toy.parser(), 0
    small = toy.changed(parser, max_parts=500)  # which all arcs of most sentences exceed
    for sentence in toy.dev_sentences()[:12]:
        for tag in sorted({*sentence.upos}):
            rules = Rules([rule("root", f"head.upos=ROOT mod.upos!={tag}")])
            (best,) = parser.parse(sentence, valid=rules, prune=0)
            (tree,) = parser.parse(sentence, valid=rules, prune=1)
            assert tree.proved and tree.broken == best.broken == ()
            kept += tree.heads != parser.parse(sentence, valid="none", prune=1)[0].heads
            (tree,) = small.parse(sentence, valid=rules, prune=1)
            assert tree.proved != bool(tree.broken)
            if tree.broken:
                assert tree.upper_bound == np.inf
    assert kept > 20
