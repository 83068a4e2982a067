"""The terms of a tree add up to its score, and features to their terms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bbparse.apps.explain import explain
from bbparse.apps.explain.terms import PARTS, names_of, part_terms, terms_of, with_features
from bbparse.core import Problem
from bbparse.factors import FactorFamily, FactorView
from bbparse.inference.solve import solve
from bbparse.models.factors.registry import load_families
from bbparse.models.scoring.arc_network import ArcNetwork
from bbparse.parser.parser import Parser
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode
from tests import strategies, toy
from tests.solutions import spread


def test_terms_add_up() -> None:
    rng = np.random.default_rng(31)
    kinds: Counter[str] = Counter()
    for _ in range(150):
        p = strategies.random_problem(rng, max_factors=0, max_counts=0)
        solution = solve(p, k_best=3, explain=False)
        for arcs, score in zip(solution.arcs, solution.scores):
            terms = part_terms(p, arcs)
            rounding = 1e-12 * (1.0 + spread(p))
            assert math.fsum(t.value for t in terms) == pytest.approx(score, abs=rounding)
            tree = {(int(p.arc_head[a]), int(p.arc_mod[a])) for a in arcs}
            for term in terms:
                assert set(term.arcs) <= tree
            kinds.update(term.kind for term in terms)
    assert set(kinds) == {*PARTS}


@cache
def counting_parser() -> Parser:
    """The toy parser with families that count arcs, one with a kernel and one without."""
    return Parser.train(
        toy.sentences(),
        config=toy.configuration(),
        factors=[Subjects, "bbparse_families.valency:Valency"],
    )


class Subjects(FactorFamily):
    """How many nominals a verb has on its left."""

    name = "subjects"
    summary = "nominals left of a verb"

    def counts(self, view: FactorView):  # type: ignore[no-untyped-def]
        for head in range(1, view.n_words + 1):
            if view.upos[head] == "VERB":
                arcs = [(head, m) for m in range(1, head) if view.upos[m] in ("NOUN", "PRON")]
                yield arcs, [["one", ("of", view.lemmas[head])], ["several"]]


def test_factors_that_count() -> None:
    parser = counting_parser()
    kinds: Counter[str] = Counter()
    for sentence in toy.dev_sentences():
        (scored,) = parser.model.maker([sentence])
        solution = solve(scored.problem, backbone="grandsib", k_best=2)
        for arcs, score in zip(solution.arcs, solution.scores):
            terms = terms_of(scored, arcs, parser)
            assert math.fsum(t.value for t in terms) == pytest.approx(score)
            for term in terms:
                if term.kind not in PARTS:
                    kinds[term.kind] += 1
                    assert math.fsum(f.weight for f in term.features) == pytest.approx(term.value)
                    assert {head for head, _ in term.arcs} == {term.arcs[0][0]}
                if term.kind == "subjects":
                    texts = {f.text for f in term.features}
                    expected = {"one", f"of {sentence.lemmas[term.arcs[0][0] - 1]}"}
                    assert texts <= (expected if len(term.arcs) == 1 else {"several"})
                if term.kind == "valency":
                    assert all(f.text.startswith("modifiers: ") for f in term.features)
    assert set(kinds) == {"subjects", "valency"}


@pytest.mark.parametrize("make", [toy.parser, toy.network_parser])
def test_terms_and_features_of_a_trained_parser(make: Callable[[], Parser]) -> None:
    parser = make()
    families: set[str] = set()
    with_words = 0
    for sentence in toy.dev_sentences():
        (scored,) = parser.model.maker([sentence])
        solution = solve(scored.problem, backbone="grandsib", k_best=2)
        trees = [
            (heads, terms_of(scored, arcs, parser))
            for arcs, heads in zip(solution.arcs, solution.heads)
        ]
        for score, terms in zip(solution.scores, with_features(parser, sentence, trees)):
            assert math.fsum(t.value for t in terms) == pytest.approx(score)
            for term in terms:
                total = math.fsum(f.weight for f in term.features)
                by_network = parser.model.maker.network is not None and term.kind in PARTS
                assert total == pytest.approx(0.0 if by_network else term.value), term
                for owed in (term.features, term.without):
                    weights = [abs(f.weight) for f in owed]
                    assert weights == sorted(weights, reverse=True)
                assert all(f.text != "unnamed feature" for f in term.features)
                assert by_network or not term.without
                with_words += bool(term.without)
            families |= {term.kind for term in terms if term.kind not in PARTS}
    assert families == {"siblings", "grandchildren"}
    assert bool(with_words) == (parser.model.maker.network is not None)


class Blind(ArcNetwork):
    """A network that knows nothing of one word."""

    word: int

    def rows(self, sentences: Sequence[Sentence]) -> NDArray[np.int64]:
        rows = super().rows(sentences)
        rows[self.word] = -1
        return rows


def blind(parser: Parser, word: int) -> ArcNetwork:
    """The network of a parser, which knows nothing of a word; 0: which knows all of them."""
    network = parser.model.maker.network
    assert network is not None
    if word:
        network = Blind.from_fields(network.to_fields())
        network.word = word
    return network


def others(
    parser: Parser, sentence: Sentence, heads: NDArray[np.int32], word: int
) -> dict[int, float]:
    """What all heads of each word but the one in a tree score together, as problems have it;
    nothing known of a word."""
    (known,) = blind(parser, word)([sentence]).sentences()
    scores = known.scores - known.totals
    return {
        m: math.log(math.fsum(math.exp(scores[h, m]) for h in range(len(heads)) if h != heads[m]))
        for m in range(1, len(heads))
    }


def blinded(parser: Parser, sentence: Sentence, heads: NDArray[np.int32], word: int) -> Problem:
    """The problem of the arcs of a tree without factors, nothing known of a word."""
    head, mod = np.array(sorted((int(h), m) for m, h in enumerate(heads) if m), np.int32).T
    maker = replace(parser.model.maker, network=blind(parser, word), families=())
    return maker.over_arcs(sentence, encode(sentence), head, mod).problem


def test_what_scores_lose_without_a_word() -> None:
    parser = toy.network_parser()
    for sentence in toy.dev_sentences()[1:4]:
        found = explain(parser, sentence, k_best=2)
        names = names_of(sentence)
        assert len(set(names)) == sentence.n_words
        best = found.solution.heads[0]
        balance = {one.text: one.weight for one in found.word_balance(1)}
        for word, name in enumerate(names, start=1):
            ahead = []
            for heads, terms in zip(found.solution.heads, found.terms):
                known, unknown = (blinded(parser, sentence, heads, w) for w in (0, word))
                arcs = np.lexsort((known.arc_head, known.arc_mod)).astype(np.int32)
                before, after = (
                    {(t.kind, t.words): t.value for t in part_terms(p, arcs)}
                    for p in (known, unknown)
                )
                for term in terms:
                    key = term.kind, term.words
                    lost = {one.text: one.weight for one in term.without}
                    expected = before.get(key, 0.0) - after.get(key, 0.0)
                    if term.kind == "arc":
                        expected -= others(parser, sentence, best, 0)[term.words[1]]
                        expected += others(parser, sentence, best, word)[term.words[1]]
                    assert lost.get(name, 0.0) == pytest.approx(expected, abs=1e-4)
                ahead.append(known.score(heads) - unknown.score(heads))
            assert balance.get(name, 0.0) == pytest.approx(ahead[0] - ahead[1], abs=1e-9)
        assert any(balance.values())


def test_features_say_what_they_look_at() -> None:
    parser = toy.parser()
    sentence = toy.dev_sentences()[2]  # The small cat slept behind the stove.
    found = explain(parser, sentence)
    arc = next(t for t in found.terms[0] if t.kind == "arc" and t.words == (3, 2))
    texts = {f.text for f in arc.features}
    assert texts <= {
        "h.upos=NOUN m.upos=ADJ @dirdist",
        "h.upos=NOUN m.lemma=small @dirdist",
        "h.lemma=cat m.upos=ADJ @dirdist",
        "h.lemma=cat m.lemma=small @dirdist",
        "h.upos=NOUN m-1.upos=DET m.upos=ADJ m+1.upos=NOUN @dir",
        "b.upos of a word between h.upos=NOUN m.upos=ADJ @dir",
    }
    assert "h.upos=NOUN m.upos=ADJ @dirdist" in texts
    root = next(t for t in found.terms[0] if t.kind == "arc" and t.words[0] == 0)
    assert any("h.upos=<root>" in f.text for f in root.features)


FAMILIES = [
    "bbparse_families.combs:Combs",
    "bbparse_families.grandchildren:AllGrandchildren",
    "bbparse_families.grandchildren:GreatGrandchildren",
    "bbparse_families.handcrafted:RatherThan",
    "bbparse_families.nephews:Nephews",
    "bbparse_families.siblings:AllSiblings",
    "bbparse_families.siblings:SiblingLabels",
    "bbparse_families.siblings:TriSiblings",
    "bbparse_families.valency:ModifiersOfKind",
    "bbparse_families.valency:Valency",
]


@pytest.mark.parametrize("place", FAMILIES)
def test_every_family_names_its_features(place: str) -> None:
    (family,) = load_families([place])
    seen = 0
    sentences = [
        *toy.sentences()[::5],
        Sentence.from_words(
            ["go", "by", "train", "rather", "than", "by", "car"],
            upos=["VERB", "ADP", "NOUN", "ADV", "ADP", "ADP", "NOUN"],
            heads=[0, 3, 1, 5, 2, 5, 6],
        ),
    ]
    for sentence in sentences:
        view = FactorView.of_tree(sentence, [-1, *sentence.heads])
        keys = set(family.propose(view).feat_keys.tolist())
        keys |= set(family.propose_counts(view).feat_keys.tolist())
        names = family.name_features(view)
        assert keys <= set(names)  # families that count also name numbers that do not occur
        assert all(text.strip() for text in names.values())
        seen += len(keys)
    assert seen
