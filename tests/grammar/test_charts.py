"""Charts and tag sequences against enumeration, joint parses against all pairs."""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from bbparse.grammar.chart import FREE, WHOLE, Retained, build_chart
from bbparse.grammar.grammar import HeadChild, Modifier, head_weight, modifier_weight, next_state
from bbparse.grammar.oracles import ChartOracle
from bbparse.grammar.parser import _derived, _Sentence, _written
from bbparse.grammar.phrases import JOIN, SPLIT, clean, read_trees_text
from bbparse.grammar.prune import possible_rules
from bbparse.grammar.training import train_phrases
from tests.grammar import toy

SENTENCES = [
    "Ada saw the fly .",
    "it walks .",
    "the saw sees it in a park .",
    "Kim saw Ada with it .",
]


def _chart(words: list[str], arcs: Any = None) -> tuple[Any, Any, Any]:
    """The unpruned chart of a sentence with all tags of its words."""
    p = toy.parser()
    g = p.grammar
    leaves = p.tagger.leaves(words)
    leaves, scores = leaves._replace(score=np.zeros(len(leaves.word))), leaves.score
    n = len(words)
    kept = np.ones((n * (n + 1) // 2, len(g.symbols)), bool)
    kept_pair = np.full((len(kept), len(g.pairs.score)), 15, np.uint8)
    free = np.full((n + 1, n), FREE, np.int32) if arcs is None else arcs
    chart = build_chart(leaves, p.chart_grammar, Retained(kept, kept_pair, free), 1 << 10)
    assert chart is not None
    return chart, leaves, scores


def _all_trees(words: list[str], leaves: Any) -> dict[frozenset[int], float]:  # noqa: C901 – all trees, by recursion
    """The best tree of each choice of tags, by the grammar alone and without a chart."""
    g, joins = toy.parser().grammar, toy.parser().tagger.joins
    scratch = np.empty(7, np.uint64)
    pairs = list(zip(g.pairs.parent.tolist(), g.pairs.head.tolist()))
    rules = possible_rules(g.pairs)
    memory: dict[tuple[int, int], list[tuple[int, int, float, frozenset[int]]]] = {}

    def weigh(side: int, x: int, state: int, q: int, label: int, own: int) -> float:
        parent, head = pairs[x]
        child = HeadChild(side, parent, head, state, leaves.tag[q], leaves.number[q])
        modifier = Modifier(label, 0, 0)
        if label >= 0:
            modifier = Modifier(label, leaves.tag[own], leaves.number[own])
        return float(modifier_weight(g.table, child, modifier, g.forms, scratch))

    def phrases(i: int, j: int) -> list[tuple[int, int, float, frozenset[int]]]:
        """Symbol, head, score and tags of all phrases over a span."""
        if (i, j) in memory:
            return memory[i, j]
        found = []
        if j == i + 1:
            for q in range(leaves.ptr[i], leaves.ptr[i + 1]):
                found.append((int(leaves.tag[q]), q, 0.0, frozenset([q])))
        base = list(found)
        for a in range(i, j):
            for b in range(a + 1, j + 1):
                if (a, b) == (i, j) and j > i + 1:
                    continue  # a phrase over a phrase
                heads = base if (a, b) == (i, j) else phrases(a, b)
                for x, (parent, head) in enumerate(pairs):
                    for symbol, q, score, tags in heads:
                        if symbol != head:
                            continue
                        score += head_weight(
                            g.table, parent, head, leaves.tag[q], leaves.number[q], g.forms, scratch
                        )
                        for right, own in modified(x, q, 1, b, j):
                            for left, more in modified(x, q, 0, i, a):
                                found.append((parent, q, score + right + left, tags | own | more))
        memory[i, j] = found
        return found

    def modified(x: int, q: int, side: int, i: int, j: int) -> list[tuple[float, frozenset[int]]]:
        """All modifiers on one side of a head that cover a span, with STOP."""

        def go(state: int, i: int, j: int) -> list[tuple[float, frozenset[int]]]:
            if i == j:
                return [(weigh(side, x, state, q, -1, 0), frozenset())]
            found = []
            for k in range(i + 1, j + 1):
                span = (i, k) if side == 1 else (j - (k - i), j)
                for symbol, own, score, tags in phrases(*span):
                    if rules[symbol, side, x]:
                        weight = score + weigh(side, x, state, q, symbol, own)
                        join = joins[side, g.forms.plain[pairs[x][0]], g.forms.plain[symbol]]
                        weight += leaves.join[(span[0] if side == 1 else span[1]) - 1, join]
                        after = int(next_state(state, g.kind[symbol]))
                        rest = (span[1], j) if side == 1 else (i, span[0])
                        found += [(weight + v, tags | t) for v, t in go(after, *rest)]
            return found

        return go(0, i, j)

    best: dict[frozenset[int], float] = {}
    for symbol, q, score, tags in phrases(0, len(words)):
        if g.pairs.root[symbol] > -np.inf:
            modifier = Modifier(symbol, leaves.tag[q], leaves.number[q])
            below_root = HeadChild(2, 0, 0, 0, 0, 0)
            score += modifier_weight(g.table, below_root, modifier, g.forms, scratch)
            best[tags] = max(best.get(tags, -np.inf), score)
    return best


@pytest.mark.parametrize("text", SENTENCES)
def test_the_chart_holds_all_trees_of_the_grammar(text: str) -> None:
    words = text.split()
    chart, leaves, _ = _chart(words)
    expected = _all_trees(words, leaves)
    oracle = ChartOracle(chart, leaves.word)
    rng = np.random.default_rng(3)
    for scores in [np.zeros(oracle.n_coordinates), rng.normal(size=oracle.n_coordinates) * 3]:
        value = {tags: v + sum(scores[q] for q in tags) for tags, v in expected.items()}
        best = oracle.best(scores)
        assert best.value == pytest.approx(max(value.values()), abs=1e-4)
        marginals = oracle.max_marginals(scores)
        for q in range(oracle.n_coordinates):
            wanted = max((v for tags, v in value.items() if q in tags), default=-np.inf)
            assert marginals[q] == pytest.approx(wanted, abs=1e-4)


def _brackets(grammar: Any, chart: Any, words: list[str]) -> dict[str, float]:
    """All trees of a chart as they are written, each with the score of its best derivation."""
    goal = len(chart.kind) - 1

    @cache
    def every(item: int) -> dict[tuple[str, ...], float]:
        """The parts of all that an item may be; of phrases and words there is one."""
        found: dict[tuple[str, ...], float] = {}
        for e in range(chart.item_ptr[item], chart.item_ptr[item + 1]):
            left, right = int(chart.left[e]), int(chart.right[e])
            for (one, a), (other, b) in product(
                (every(left) if left else {(): 0.0}).items(),
                (every(right) if right else {(): 0.0}).items(),
            ):
                parts = one + other
                if chart.kind[item] == WHOLE and item != goal:
                    label = grammar.symbols[chart.symbol[item]].split(SPLIT)[0]
                    text = " ".join(parts) or words[chart.head[item]]
                    for name in reversed(label.split(JOIN)):
                        text = f"({name} {text})"
                    parts = (text,)
                value = a + b + float(chart.weight[e])
                found[parts] = max(value, found.get(parts, value))
        return found

    return {f"(ROOT {parts[0]})": value for parts, value in every(goal).items()}


#: Trees of which a grammar learns to see one tree in several ways: with one head or another, and
#: with a noun phrase that has words only as one with a phrase in it, too.
AMBIGUOUS = """
(ROOT (S (NP (DT the) (NN dog) (NN walk)) (VP (VBZ saw) (NP (NN park) (CC and) (NN fly))) (. .)))
(ROOT (S (NP (DT the) (NN fly) (PP (IN in) (NP (NN park)))) (VP (VBZ saw) (NP (NN dog))) (. .)))
(ROOT (S (NP (NN dog) (CC and) (NN fly) (PP (IN in) (NP (NN park) (NN walk)))) (VP (VBZ saw)
  (NP (NP (DT the) (NN fly)) (PP (IN in) (NP (NN park))))) (. .)))
(ROOT (S (NP (DT the) (NN fly) (CC and) (NN dog) (PP (IN in) (NP (DT the) (NN park)))) (VP
  (VBZ saw) (NP (DT the) (NN dog)) (PP (IN in) (NP (DT the) (NN park)))) (. .)))
"""


@cache
def _ambiguous() -> Any:
    trees = [clean(tree) for _, tree in read_trees_text(AMBIGUOUS)]
    return train_phrases([tree for tree in trees if tree is not None], config=None)


@pytest.mark.parametrize(
    ("text", "n_trees"),
    [
        ("the dog saw the fly .", 1),
        ("the dog walk in the park saw the fly and dog .", 8),
        ("dog and fly park saw the dog and walk in park .", 24),
    ],
)
def test_the_best_trees_are_different_and_all_that_are_better(text: str, n_trees: int) -> None:
    words, p = text.split(), _ambiguous()
    tag = {"the": "DT", "saw": "VBZ", "in": "IN", "and": "CC", ".": "."}
    sentence = _Sentence(p, words, [tag.get(word, "NN") for word in words], "none")
    made = sentence._chart(None, None, 5.0)
    assert made is not None
    expected = _brackets(p.grammar, made, words)
    for k in (1, 2, 7, len(expected) + 5):
        oracle = ChartOracle(made, sentence.leaves.word)
        derived = partial(_derived, p.grammar, made, sentence.leaves)
        read = partial(_written, derived, words)
        found, complete = oracle.k_best(np.zeros(oracle.n_coordinates), k, read)
        assert complete and len(found) == min(k, len(expected))
        values = [value for value, _ in found.values()]
        assert [expected[str(tree)] for tree in found] == pytest.approx(values)
        assert values == pytest.approx(sorted(expected.values(), reverse=True)[:k])
    assert len(expected) == n_trees


@pytest.mark.parametrize("text", SENTENCES[:2])
def test_a_parse_has_the_best_tags_and_tree_together(text: str) -> None:
    p, words = toy.parser(), text.split()
    _, leaves, scores = _chart(words)
    trees = _all_trees(words, leaves).items()
    best, on = max((value + scores[list(on)].sum(), sorted(on)) for on, value in trees)
    found = p.parse(words, use="tags")
    assert found.agreement is None and found.scores[0] == pytest.approx(best, abs=1e-4)
    assert found.trees[0].tags == [p.grammar.symbols[leaves.tag[q]] for q in on]
