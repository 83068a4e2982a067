"""The terms of a tree add up to its score, and features to their terms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from bbparse.explain import explain
from bbparse.explain.terms import PARTS, family_terms, terms_of, with_features
from bbparse.factors import FactorFamily, FactorView, load_families
from bbparse.parsing.parser import Parser
from bbparse.solving.solve import solve
from bbparse.treebank import Sentence
from tests import strategies, toy
from tests.solutions import spread


def test_terms_add_up() -> None:
    rng = np.random.default_rng(31)
    kinds: Counter[str] = Counter()
    for _ in range(150):
        p = strategies.random_problem(rng, max_counts=2)
        solution = solve(p, k_best=3, explain=False)
        for arcs, score in zip(solution.arcs, solution.scores):
            terms = terms_of(p, arcs)
            rounding = 1e-12 * (1.0 + spread(p))
            assert math.fsum(t.value for t in terms) == pytest.approx(score, abs=rounding)
            tree = {(int(p.arc_head[a]), int(p.arc_mod[a])) for a in arcs}
            for term in terms:
                assert set(term.arcs) <= tree
            kinds.update(term.kind for term in terms)
    assert set(kinds) == {*PARTS, "factor", "count factor"}


@cache
def guided_parser() -> Parser:
    """The toy parser with a guide, whose marks its templates look at."""
    return Parser.train(toy.sentences(), config=toy.guided_configuration(least=3))


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
        problem = parser.problem(sentence)
        solution = solve(problem, backbone="grandsib", k_best=2)
        for arcs, score in zip(solution.arcs, solution.scores):
            terms = terms_of(problem, arcs, parser, sentence)
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
                    assert all(" modifiers on the " in f.text for f in term.features)
    assert set(kinds) == {"subjects", "valency"}


@pytest.mark.parametrize("make", [toy.parser, guided_parser])
def test_terms_and_features_of_a_trained_parser(make: Callable[[], Parser]) -> None:
    parser = make()
    families: set[str] = set()
    guided = 0
    for sentence in toy.dev_sentences():
        problem = parser.problem(sentence)
        solution = solve(problem, backbone="grandsib", k_best=2)
        trees = [
            (heads, terms_of(problem, arcs, parser, sentence))
            for arcs, heads in zip(solution.arcs, solution.heads)
        ]
        for score, terms in zip(solution.scores, with_features(parser, sentence, trees)):
            assert math.fsum(t.value for t in terms) == pytest.approx(score)
            for term in terms:
                total = math.fsum(f.weight for f in term.features)
                assert total == pytest.approx(term.value), term
                weights = [abs(f.weight) for f in term.features]
                assert weights == sorted(weights, reverse=True)
                assert all(f.text != "unnamed feature" for f in term.features)
                if parser.maker.guide is not None and term.kind == "arc":
                    judged = [f.text for f in term.features if "@label=" in f.text]
                    names = {text.split("@label=")[1].split()[0] for text in judged}
                    assert len(names) <= 1 and names <= set(parser.maker.guide.labels)
                    guided += len(names)
            families |= {term.kind for term in terms if term.kind not in PARTS}
    assert families == {"siblings", "grandchildren"}
    assert bool(guided) == (parser.maker.guide is not None)


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
    sentences = [*toy.sentences()[::5], Sentence.from_words(
        ["go", "by", "train", "rather", "than", "by", "car"],
        upos=["VERB", "ADP", "NOUN", "ADV", "ADP", "ADP", "NOUN"], heads=[0, 3, 1, 5, 2, 5, 6],
    )]  # fmt: skip
    for sentence in sentences:
        view = FactorView.of_tree(sentence, [-1, *sentence.heads])
        keys = set(family.propose(view).feat_keys.tolist())
        keys |= set(family.propose_counts(view).feat_keys.tolist())
        names = family.name_features(view)
        assert keys == set(names)
        assert all(text.strip() for text in names.values())
        seen += len(keys)
    assert seen


def test_names_of_features_of_ones_own() -> None:
    class Brackets(FactorFamily):
        name = "brackets"
        summary = "a pair of brackets with one head"

        def factors(self, view):  # type: ignore[no-untyped-def]
            yield [(3, 1), (3, 2)], ["pair", ("head", (view.upos[3], 7))]
            yield [(1, 2), (3, 2)], ["never: two heads for one word"]

    sentence = Sentence.from_words(["(", ")", "x"], upos=["P", "P", "N"], heads=[3, 3, 0])
    view = FactorView.of_tree(sentence, [-1, *sentence.heads])
    assert sorted(Brackets().name_features(view).values()) == ["head N 7", "pair"]
    names = Brackets().name_features(view)
    assert set(Brackets().propose(view).feat_keys.tolist()) == set(names)


def test_families_without_names_are_shown_all_the_same() -> None:
    class Silent(FactorFamily):
        name = "silent"

    view = FactorView.of_tree(Sentence.from_words(["a"], heads=[0]), [-1, 0])
    assert Silent().name_features(view) == {}
    parser = toy.parser()
    sentence = toy.dev_sentences()[5]
    heads = parser.solve(sentence).heads[0]
    plain = family_terms(parser, FactorView.of_tree(sentence, heads))
    assert plain and all(term.features for term in plain)
