"""Arcs with labels: views, families that speak of them and families that do not, and a parser."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError, FactorError
from bbparse.explain import explain
from bbparse.factors import (
    FactorCounter,
    FactorFamily,
    FactorView,
    Feature,
    LabelledArc,
    LabelledFamily,
    LabelledView,
    alive_factors,
    proposals,
)
from bbparse.factors.family import feature_key
from bbparse.learning.run import unlabelled_accuracy
from bbparse.learning.train import train
from bbparse.parser import Parser
from bbparse.problem import Problem
from bbparse.scoring.arc_labels import ArcLabels
from bbparse.scoring.encode import encode
from bbparse.treebank import Sentence
from bbparse_families.labelled import FunctionWords, LabelPairs
from bbparse_families.siblings import AllSiblings
from tests import toy

SENTENCE = Sentence.from_words(
    ["She", "gave", "him", "it"], upos=["PRON", "VERB", "PRON", "PRON"], heads=[2, 0, 2, 2]
)
ARCS = [(0, 2), (2, 1), (2, 3), (2, 4), (3, 4)]
LABELS = [["root"], ["nsubj", "obj"], ["iobj", "obj"], ["nsubj", "obj"], ["case", "det"]]


def view() -> LabelledView:
    return LabelledView(FactorView(SENTENCE, *map(list, zip(*ARCS))), LABELS)


def found(batch: Any, seen: LabelledView) -> dict[tuple, set[int]]:
    names = list(seen.labelled_arcs)
    return {
        tuple(names[a] for a in batch.arcs[batch.ptr[f] : batch.ptr[f + 1]]): set(
            batch.feat_keys[batch.feat_ptr[f] : batch.feat_ptr[f + 1]].tolist()
        )
        for f in range(len(batch))
    }


def test_a_view_numbers_copies_in_order() -> None:
    seen = view()
    assert seen.n_arcs == 5 and seen.modifiers_of(2) == [1, 3, 4]
    assert seen.labels == [label for own in LABELS for label in own]
    assert seen.first.tolist() == [0, 1, 3, 5, 7, 9]
    expected = [(*pair, label) for pair, own in zip(ARCS, LABELS) for label in own]
    assert list(seen.labelled_arcs) == expected
    for i, arc in enumerate(expected):
        assert seen.labelled_index(*arc) == i
    assert seen.labelled_index(2, 1, "case") == -1 == seen.labelled_index(1, 2, "obj")
    assert seen.labels_of(2, 3) == ["iobj", "obj"] and seen.labels_of(4, 1) == ()
    names = sorted({label for own in LABELS for label in own})
    head, mod = (np.array([arc[i] for arc in expected], np.int32) for i in (0, 1))
    label = np.array([names.index(arc[2]) for arc in expected], np.int32)
    again = LabelledView.of_arcs(SENTENCE, head, mod, label, names)
    assert list(again.labelled_arcs) == expected
    with pytest.raises(FactorError, match="labels: found those of 1 arcs, expected 5"):
        LabelledView(seen, [["x"]])


def test_families_without_labels_speak_of_all_copies() -> None:
    seen = view()
    family = AllSiblings()
    plain = family.propose(seen)
    expected = {}
    for f in range(len(plain)):
        members = plain.arcs[plain.ptr[f] : plain.ptr[f + 1]].tolist()
        keys = set(plain.feat_keys[plain.feat_ptr[f] : plain.feat_ptr[f + 1]].tolist())
        for labels in product(*(LABELS[a] for a in members)):
            expected[tuple((*ARCS[a], label) for a, label in zip(members, labels))] = keys
    assert found(proposals(family, seen), seen) == expected
    assert len(expected) == 3 * 4


def test_families_with_labels_are_silent_where_there_are_none() -> None:
    plain = FactorView(SENTENCE, *map(list, zip(*ARCS)))
    assert len(proposals(LabelPairs(), plain)) == 0
    with pytest.raises(FactorError, match=r"labels\.mode"):
        LabelPairs().propose(plain)


def test_label_pairs() -> None:
    seen = view()
    batch = found(proposals(LabelPairs(), seen), seen)
    twice = feature_key("label-pairs", "twice")
    assert len(batch) == 3 * 4
    assert {arcs for arcs, keys in batch.items() if twice in keys} == {
        ((2, 1, "nsubj"), (2, 4, "nsubj")), ((2, 1, "obj"), (2, 3, "obj")),
        ((2, 1, "obj"), (2, 4, "obj")), ((2, 3, "obj"), (2, 4, "obj")),
    }  # fmt: skip


def test_function_words() -> None:
    arcs = [(0, 2), (1, 3), (2, 1), (2, 3)]
    seen = LabelledView(
        FactorView(SENTENCE, *map(list, zip(*arcs))),
        [["root"], ["advmod", "obj"], ["case", "mark", "obj"], ["det"]],
    )
    batch = found(proposals(FunctionWords(), seen), seen)
    assert set(batch) == {
        ((1, 3, below), (2, 1, label)) for below in ("advmod", "obj") for label in ("case", "mark")
    }
    keys = batch[(1, 3, "obj"), (2, 1, "case")]
    assert {feature_key("function-words", f) for f in ("case", ("case", "obj"))} < keys


class Careless(LabelledFamily):
    name = "careless"

    def __init__(self, arcs: list[Any]) -> None:
        self.arcs = arcs

    def labelled_factors(
        self, view: LabelledView
    ) -> Iterator[tuple[list[LabelledArc], list[Feature]]]:
        yield self.arcs, ["f"]


@pytest.mark.parametrize(
    ("arcs", "message"),
    [
        ([(2, 1), (2, 3)], r"arc \(2, \d\): expected a head in 0\.\.4"),
        ([(2, 9, "obj"), (2, 3, "obj")], r"arc \(2, 9, 'obj'\)"),
        ([(2, 3, "obj"), (2, 3, "obj")], "two or more arcs"),
    ],
)
def test_impossible_factors_are_refused(arcs: list[Any], message: str) -> None:
    with pytest.raises(FactorError, match=message):
        Careless(arcs).propose(view())


def test_factors_that_cannot_fire_are_passed_over() -> None:
    for arcs in ([(2, 3, "obj"), (2, 3, "iobj")], [(2, 3, "obj"), (2, 1, "case")]):
        assert len(Careless(arcs).propose(view())) == 0


def test_pairs_are_as_in_general() -> None:
    rng = np.random.default_rng(5)
    names = ["nsubj", "nsubj:pass", "obj", "case", "det", "advmod", "xcomp", "cop"]
    for sentence in toy.sentences()[:30]:
        n = sentence.n_words
        if n < 4:
            continue
        pairs = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
        pairs = [pair for pair in pairs if rng.random() < 0.5]
        seen = LabelledView(
            FactorView(sentence, *map(list, zip(*pairs))),
            [sorted(rng.choice(names, rng.integers(1, 4), replace=False)) for _ in pairs],
        )
        for family in (LabelPairs(), FunctionWords()):
            quick, general = family.propose(seen), LabelledFamily.propose(family, seen)
            for name in ("ptr", "arcs", "feat_ptr", "feat_keys", "gates"):
                assert np.array_equal(getattr(quick, name), getattr(general, name))


def test_scores_are_those_of_the_proposals() -> None:
    seen = view()
    families = [LabelPairs(), AllSiblings(), FunctionWords()]
    batches = [proposals(family, seen) for family in families]
    counter = FactorCounter()
    counter.add(batches)
    table = counter.table(1)
    table.weights[:] = np.arange(1.0, len(table) + 1.0)
    expected: dict[tuple[int, ...], float] = {}
    for batch in batches:
        scores = table.score_batch(batch)
        for f in range(len(batch)):
            arcs = tuple(batch.arcs[batch.ptr[f] : batch.ptr[f + 1]].tolist())
            expected[arcs] = expected.get(arcs, 0.0) + scores[f]
    alive = alive_factors(families, seen, table)
    summed: dict[tuple[int, ...], float] = {}
    for f in range(len(alive)):
        arcs = tuple(alive.arcs[alive.ptr[f] : alive.ptr[f + 1]].tolist())
        summed[arcs] = summed.get(arcs, 0.0) + alive.scores[f]
    assert summed == expected and len(summed) == 12


def test_the_best_labels_of_each_arc() -> None:
    scores = np.log([[0.5, 0.1, 0.4], [0.3, 0.3, 0.4], [0.2, 0.7, 0.1]])
    chosen = ArcLabels.best(scores, 2, 2.0, 2.0**-16, np.array([-1, -1, 2], np.int32))
    assert chosen.first.tolist() == [0, 2, 4, 7]
    assert chosen.number.tolist() == [0, 2, 0, 2, 0, 1, 2]
    expected = 2.0 * np.log([1, 0.8, 0.75, 1, 2 / 7, 1, 1 / 7])
    assert chosen.score == pytest.approx(expected, abs=2.0**-15)
    assert (np.rint(chosen.score * 2**16) == chosen.score * 2**16).all()
    plain = Problem(2, [0, 1, 2], [1, 2, 1], [1.0, 2.0, 3.0])
    labelled = chosen.onto(plain)
    assert labelled.arc_head.tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert labelled.arc_label is not None and labelled.arc_label.tolist() == chosen.number.tolist()
    assert labelled.arc_score == pytest.approx(np.repeat([1.0, 2.0, 3.0], [2, 2, 3]) + chosen.score)
    one = ArcLabels.best(scores, 9, 1.0, 2.0**-16)
    assert one.first.tolist() == [0, 3, 6, 9]


def configuration(families: tuple[str, ...] = (), **labels: Any) -> Configuration:
    table = tomllib.loads(toy.TOML)
    templates = {"bits": 12, "arc": ["h.{upos,lemma} m.{upos,lemma} @dirdist"]}
    table["guide"] = {"epochs": 3, "folds": 3, "templates": templates}
    table["labels"].update(labels)
    table["factors"] = {
        "families": list(families), "stage": "jackknife", "folds": 2, "fold_epochs": 1,
        "cutoff": 1, "rate": 1.0, "epochs": 2,
    }  # fmt: skip
    return Configuration.from_table(table)


def test_without_factors_trees_are_those_without_labels() -> None:
    sentences = toy.sentences()[:40]
    plain = train(sentences, [], configuration())
    labelled = train(sentences, [], configuration(mode="arcs", per_arc=3))
    assert np.array_equal(plain.scorer.weights, labelled.scorer.weights)
    guide = labelled.guide
    assert guide is not None
    for sentence in toy.dev_sentences():
        solution = labelled.solve(sentence)
        assert solution.labels is not None
        assert solution.heads.tolist() == plain.solve(sentence).heads.tolist()
        problem = labelled.problem(sentence)
        assert problem.arc_label is not None
        assert np.array_equal(problem.arc_label[solution.arcs], solution.labels)
        (tree,) = labelled.parse(sentence)
        assert list(tree.labels) == labelled.labels_of(sentence, solution)
        assert labelled.labeller is not None  # families have no say: its labels are the tree's
        marks = guide.marks(encode(sentence), problem.arc_head, problem.arc_mod)
        own = labelled.labeller.label(encode(sentence), solution.heads[0], marks)
        assert list(tree.labels) == own
        labelled.labeller, kept = None, labelled.labeller
        assert labelled.labels_of(sentence, solution) == [
            guide.labels[i] for i in solution.labels[0]
        ]
        labelled.labeller = kept
        best = problem.arc_score[solution.arcs[0]]
        pair = problem.arc_head * 1000 + problem.arc_mod
        for m, arc in enumerate(solution.arcs[0]):
            assert best[m] == problem.arc_score[pair == pair[arc]].max()


def test_labelled_trees_are_explained() -> None:
    families = [AllSiblings(), LabelPairs(), FunctionWords()]
    parser = train(toy.sentences()[:40], [], configuration(mode="arcs"), factors=families)
    for sentence in toy.dev_sentences()[:5]:
        told = explain(parser, sentence, k_best=2)
        for terms, score in zip(told.terms, told.solution.scores):
            assert sum(term.value for term in terms) == pytest.approx(score)
        assert told.trees[0].labels == parser.parse(sentence)[0].labels


class Once(LabelledFamily):
    """No label twice among the modifiers of a word."""

    name = "once"

    def labelled_factors(
        self, view: LabelledView
    ) -> Iterator[tuple[list[LabelledArc], list[Feature]]]:
        arcs = list(view.labelled_arcs)
        for i, a in enumerate(arcs):
            for b in arcs[i + 1 :]:
                if a[0] == b[0] and a[2] == b[2] and a[1] != b[1]:
                    yield [a, b], [("twice", a[2])]


def test_a_parser_learns_about_labels_and_is_saved(tmp_path: Any) -> None:
    sentences = toy.sentences()[:60]
    config = configuration(("siblings",), mode="arcs")
    parser = train(sentences, [], config, factors=["siblings", Once(), FunctionWords()])
    assert unlabelled_accuracy(parser, sentences) > 0.8
    keys = set(parser.table.pruned().keys.tolist())
    assert keys & {feature_key("once", ("twice", label)) for label in parser.guide.labels}  # type: ignore[union-attr]
    path = tmp_path / "toy.model"
    parser.save(path)
    again = Parser.load(path, [Once(), FunctionWords()])
    for sentence in toy.dev_sentences():
        assert again.parse(sentence) == parser.parse(sentence)
        problem, solution = parser.problem(sentence), parser.solve(sentence)
        assert problem.score(solution.arcs[0].tolist()) == solution.scores[0]


def test_families_with_labels_need_the_mode_and_the_stage() -> None:
    sentences = toy.sentences()[:10]
    with pytest.raises(ConfigError, match="needs a guide"):
        toy.configuration().with_("labels", mode="arcs")
    with pytest.raises(ConfigError, match=r"labels\.mode is 'trees', expected one of tree, arcs"):
        configuration(mode="trees")
    joint = configuration(mode="arcs").with_("factors", stage="joint")
    with pytest.raises(ConfigError, match=r"once speaks of labels, which needs factors\.stage"):
        train(sentences, [], joint, factors=[Once()])
    with pytest.raises(ConfigError, match=r"once speaks of labels, which needs labels\.mode"):
        train(sentences, [], configuration(), factors=[Once()])


def test_plain_families_are_not_labelled() -> None:
    assert not FactorFamily.labelled and LabelledFamily.labelled
