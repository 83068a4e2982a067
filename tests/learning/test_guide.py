"""The guide of a training run: jackknifing, dropped candidates, and a parser that has one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bbparse.configuration import Configuration
from bbparse.errors import TreebankError
from bbparse.learning.candidates import guide_all, prune_all
from bbparse.learning.data import TrainingData, prepare
from bbparse.learning.network import train_guide
from bbparse.learning.run import unlabelled_accuracy
from bbparse.parsing.parser import Parser
from bbparse.treebank import Sentence
from tests import toy


def data_of(config: Configuration, count: int = 30) -> TrainingData:
    data = prepare(toy.sentences()[:count], config.model)
    prune_all(data, config)
    return data


def labels_of(data: TrainingData) -> tuple[str, ...]:
    return tuple(sorted({label for s in data.sentences for label in s.deprels}))


def test_training_sentences_get_marks_of_guides_that_did_not_see_them() -> None:
    config = toy.guided_configuration()
    data = data_of(config)
    guide_all(data, config)
    guide = data.guide
    assert guide is not None and guide.labels == labels_of(data)
    everything = np.arange(len(data.sentences))
    fold_of = np.random.default_rng([config.learning.seed, 1]).permutation(everything) % 3
    other = 0
    for fold in range(3):
        judge = train_guide(config, data, everything[fold_of != fold], guide.labels)
        for i in everything[fold_of == fold]:
            marks = judge.marks(data.values[i], *data.arcs[i])
            assert np.array_equal(marks, data.marks[i])
            other += not np.array_equal(marks, guide.marks(data.values[i], *data.arcs[i]))
    assert other > 5


def test_with_one_fold_marks_are_those_of_the_guide_itself() -> None:
    config = toy.guided_configuration(folds=1)
    data = data_of(config, 10)
    guide_all(data, config)
    guide = data.guide
    assert guide is not None
    for i in range(10):
        assert np.array_equal(data.marks[i], guide.marks(data.values[i], *data.arcs[i]))


def test_arcs_that_the_guide_finds_unlikely_are_dropped() -> None:
    every, likely = toy.guided_configuration(), toy.guided_configuration(least=5)
    whole, some = data_of(every, 30), data_of(likely, 30)
    guide_all(whole, every)
    guide_all(some, likely)
    dropped = 0
    for i, (head, mod) in enumerate(whole.arcs):
        steps = (whole.marks[i][head, mod] >> 10).astype(int) - 1
        kept = (steps >= 5) | (whole.heads[i][mod] == head)
        assert np.array_equal(some.arcs[i], (head[kept], mod[kept]))
        dropped += (~kept).sum()
    assert dropped > 50


def test_parsing_drops_them_unless_no_tree_is_left() -> None:
    few = Parser.train(toy.sentences()[:60], [], toy.guided_configuration(least=4))
    all_of_them = toy.changed(few, config=few.config.with_("guide", least=0))
    dropped = 0
    for sentence in toy.dev_sentences():
        kept, candidates = few.problem(sentence), all_of_them.problem(sentence)
        arcs, every = (
            set(zip(p.arc_head.tolist(), p.arc_mod.tolist())) for p in (kept, candidates)
        )
        assert arcs <= every
        dropped += len(every - arcs)
        assert len(few.solve(sentence)) == 1
        # as many trees as there are, where several are asked for
        assert len(few.solve(sentence, k_best=3)) == len(all_of_them.solve(sentence, k_best=3))
    assert dropped
    impossible = toy.changed(few, config=few.config.with_("guide", least=11))
    for sentence in toy.dev_sentences():
        assert len(impossible.solve(sentence)) == 1


def test_without_a_guide_there_are_no_marks() -> None:
    config = toy.configuration()
    data = data_of(config, 5)
    guide_all(data, config)
    assert data.guide is None and data.marks == [] and data.marks_of(3) is None


def test_a_parser_with_a_guide_learns_and_is_saved(tmp_path: Path) -> None:
    sentences = toy.sentences()[:60]
    parser = Parser.train(sentences, toy.dev_sentences(), toy.guided_configuration())
    assert unlabelled_accuracy(parser.maker, sentences) > 0.8
    path = tmp_path / "toy.model"
    parser.save(path)
    again = Parser.load(path)
    for sentence in toy.dev_sentences():
        assert again.parse(sentence) == parser.parse(sentence)


def test_a_treebank_without_labels_can_have_a_guide() -> None:
    bare = [
        Sentence.from_words(s.forms, upos=s.upos, heads=s.heads) for s in toy.sentences()[:20]
    ]
    parser = Parser.train(bare, [], toy.guided_configuration())
    assert parser.maker.guide is not None and parser.maker.guide.labels == ("_",)
    assert parser.labeller is None


def test_too_many_labels_are_refused() -> None:
    config = toy.guided_configuration()
    data = data_of(config, 2)
    many = [f"l{k:04d}" for k in range(600)]
    words = Sentence.from_words(["w"] * 600, heads=[0] + [1] * 599, deprels=many)
    data.sentences.append(words)
    with pytest.raises(TreebankError, match=r"different labels, expected at most 512"):
        guide_all(data, config)
