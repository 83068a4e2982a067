"""Training the guide: the step against an oracle, jackknifing, and a parser that has one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.configuration import Configuration
from bbparse.errors import TreebankError
from bbparse.learning.data import TrainingData, prepare, prune_all
from bbparse.learning.guide import _step, guide_all, train_guide
from bbparse.learning.run import unlabelled_accuracy
from bbparse.learning.train import train
from bbparse.parser import Parser
from bbparse.scoring.compile import compile_templates
from bbparse.scoring.encode import PAD
from bbparse.scoring.guide_kernels import arc_features
from bbparse.treebank import Sentence
from tests import toy


def configuration(**guide: Any) -> Configuration:
    table = tomllib.loads(toy.TOML)
    templates = {"bits": 12, "arc": ["h.{upos,lemma} m.{upos,lemma} @dirdist"]}
    table["guide"] = {"epochs": 3, "folds": 3, "templates": templates, **guide}
    table["templates"]["arc"] += ["h.upos m.upos @odds @label"]
    table["templates"]["grandsibling"] += ["h.upos @glabel @slabel @label"]
    table["labels"]["templates"]["sibling"] = ["h.upos s.upos @slabel @label"]
    return Configuration.from_table(table)


def data_of(config: Configuration, count: int = 30) -> TrainingData:
    data = prepare(toy.sentences()[:count], config.model.single_root)
    prune_all(data, config)
    return data


def labels_of(data: TrainingData) -> tuple[str, ...]:
    return tuple(sorted({label for s in data.sentences for label in s.deprels}))


def test_a_step_follows_the_gradient() -> None:
    config = configuration()
    data = data_of(config, 5)
    labels = labels_of(data)
    compiled = compile_templates(config.guide_templates)
    rng = np.random.default_rng(5)
    shape = (1 << config.guide_templates.bits, len(labels))
    weights = rng.normal(0, 0.3, shape).astype(np.float32)
    sums, squares = np.zeros(shape, np.float32), np.full(shape, 2.0, np.float32)
    for i, sentence in enumerate(data.sentences):
        head, mod = data.arcs[i]
        label_of = np.array([-1] + [labels.index(x) for x in sentence.deprels], np.int32)
        label_of[1] = -1 if sentence.n_words > 1 else label_of[1]
        rows = arc_features(
            data.values[i], PAD, head, mod, compiled.for_tables, compiled.for_parts
        ).reshape(len(head), -1)
        scores = weights[rows].sum(axis=1, dtype=np.float64)
        gradient = np.zeros_like(scores)
        expected_loss = 0.0
        for m in range(1, sentence.n_words + 1):
            own = np.flatnonzero(mod == m)
            p = np.exp(scores[own] - scores[own].max())
            p /= p.sum()
            if label_of[m] < 0:
                continue
            gradient[own] = -p
            gold = own[head[own] == data.heads[i][m]][0]
            gradient[gold, label_of[m]] += 1.0
            expected_loss -= np.log(p[own == gold, label_of[m]][0])
        wanted, wanted_squares = weights.copy(), squares.copy()
        for arc in range(len(head)):
            for label in range(len(labels)):
                g = gradient[arc, label]
                if abs(g) >= 1e-2:
                    for row in rows[arc]:
                        wanted_squares[row, label] += g * g
                        wanted[row, label] += 0.1 * g / np.sqrt(wanted_squares[row, label])
        loss = _step(
            data.values[i], PAD, head, mod, compiled.for_tables, compiled.for_parts,
            data.heads[i], label_of, 0.1, 1e-2, i + 1, weights, sums, squares,
        )  # fmt: skip
        assert loss == pytest.approx(expected_loss, rel=1e-4)
        assert weights == pytest.approx(wanted, abs=1e-3)
        weights[:], squares[:] = wanted, wanted_squares


def test_training_sentences_get_marks_of_guides_that_did_not_see_them() -> None:
    config = configuration()
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
    config = configuration(folds=1)
    data = data_of(config, 10)
    guide_all(data, config)
    guide = data.guide
    assert guide is not None
    for i in range(10):
        assert np.array_equal(data.marks[i], guide.marks(data.values[i], *data.arcs[i]))


def test_arcs_that_the_guide_finds_unlikely_are_dropped() -> None:
    whole, some = data_of(configuration(), 30), data_of(configuration(least=5), 30)
    guide_all(whole, configuration())
    guide_all(some, configuration(least=5))
    dropped = 0
    for i, (head, mod) in enumerate(whole.arcs):
        steps = (whole.marks[i][head, mod] >> 10).astype(int) - 1
        kept = (steps >= 5) | (whole.heads[i][mod] == head)
        assert np.array_equal(some.arcs[i], (head[kept], mod[kept]))
        dropped += (~kept).sum()
    assert dropped > 50


def test_parsing_drops_them_unless_no_tree_is_left() -> None:
    few = train(toy.sentences()[:60], [], configuration(least=4))
    all_of_them = Parser(
        few.config.with_("guide", least=0), few.pruner, few.scorer, few.families, few.table,
        guide=few.guide,
    )  # fmt: skip
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
    impossible = Parser(
        few.config.with_("guide", least=11), few.pruner, few.scorer, few.families, few.table,
        guide=few.guide,
    )  # fmt: skip
    for sentence in toy.dev_sentences():
        assert len(impossible.solve(sentence)) == 1


def test_without_a_guide_there_are_no_marks() -> None:
    config = toy.configuration()
    data = data_of(config, 5)
    guide_all(data, config)
    assert data.guide is None and data.marks == [] and data.marks_of(3) is None


def test_a_parser_with_a_guide_learns_and_is_saved(tmp_path: Path) -> None:
    sentences = toy.sentences()[:60]
    parser = train(sentences, toy.dev_sentences(), configuration())
    assert unlabelled_accuracy(parser, sentences) > 0.8
    path = tmp_path / "toy.model"
    parser.save(path)
    again = Parser.load(path)
    for sentence in toy.dev_sentences():
        assert again.parse(sentence) == parser.parse(sentence)


def test_a_treebank_without_labels_can_have_a_guide() -> None:
    bare = [
        Sentence.from_words(s.forms, upos=s.upos, heads=s.heads) for s in toy.sentences()[:20]
    ]
    parser = train(bare, [], configuration())
    assert parser.guide is not None and parser.guide.labels == ("_",)
    assert parser.labeller is None


def test_too_many_labels_are_refused() -> None:
    config = configuration()
    data = data_of(config, 2)
    many = [f"l{k:04d}" for k in range(600)]
    words = Sentence.from_words(["w"] * 600, heads=[0] + [1] * 599, deprels=many)
    data.sentences.append(words)
    with pytest.raises(TreebankError, match=r"different labels, expected at most 512"):
        guide_all(data, config)
