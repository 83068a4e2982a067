"""Training with a network: factors from folds that it did not see, breaks, labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.models.configuration import Configuration
from bbparse.models.factors.registry import load_families
from bbparse.models.learning.arc_network import ArcLearner
from bbparse.models.learning.data import folds_of, prepare
from bbparse.models.learning.run import Run, held_out_problems, unlabelled_accuracy
from bbparse.models.learning.trainer import Trainer
from bbparse.models.scoring.linear import QUANTUM
from bbparse.models.scoring.problem_maker import ProblemMaker
from bbparse.parser.parser import Parser
from bbparse.treebank import Sentence
from tests import toy
from tests.models.learning.interrupted import interrupt


def configuration(epochs: int = 3, **factors: Any) -> Configuration:
    config = toy.network_configuration(epochs=epochs)
    return config.with_(
        "factors", **{"folds": 3, "fold_epochs": 2, "epochs": 2, "cutoff": 1, **factors}
    )


SENTENCES, DEV = list(toy.sentences()[:40]), list(toy.dev_sentences()[:10])


@pytest.fixture(scope="module")
def whole() -> Parser:
    """The parser of a run without a break."""
    return Parser.train(SENTENCES, DEV, configuration())


def bytes_of(parser: Parser, path: Path) -> bytes:
    parser.save(path)
    return path.read_bytes()


def test_training_sentences_are_scored_by_networks_that_did_not_see_them() -> None:
    config = configuration()
    run = Run(config, prepare(SENTENCES, config.model))
    problems = held_out_problems(run)
    data = run.data
    labels = tuple(sorted({label for s in SENTENCES for label in s.deprels} - {"_"}))
    root = labels.index("root")
    added = 0
    for others, own in folds_of(40, 3, config.learning.seed):
        assert not set(others) & set(own) and len(others) + len(own) == 40
        network = ArcLearner(config, data, others, labels, root).learn(2)
        for i in own.tolist():
            (alone,) = ProblemMaker(config, network)([SENTENCES[i]])
            gold = {(h, m) for m, h in enumerate(data.heads[i].tolist()) if m}
            candidates = set(zip(*(a.tolist() for a in data.arcs[i])))
            found = set(zip(alone.problem.arc_head.tolist(), alone.problem.arc_mod.tolist()))
            assert candidates >= found | gold
            assert candidates == found or not gold <= found
            added += len(gold - found)
            p, (head, mod) = problems[i], data.arcs[i]
            assert p.arc_head.tolist() == head.tolist() and p.arc_mod.tolist() == mod.tolist()
            assert not len(p.factor_score)
            assert alone.scores is not None
            scores = alone.scores.log_probabilities(head, mod)
            assert np.array_equal(p.arc_score, np.rint(scores / QUANTUM) * QUANTUM)
            best = alone.scores.label_scores(head, mod).argmax(axis=1)
            assert data.arc_labels[i].tolist() == (1 + best).tolist()
    words = sum(s.n_words for s in SENTENCES)
    assert added and data.recall == pytest.approx(1.0 - added / words)


def test_factors_lower_the_errors_on_what_they_learn_from() -> None:
    config = configuration(epochs=6, rate=1.0, cost=1.0)
    run = Run(config, prepare(SENTENCES, config.model))
    problems = held_out_problems(run)
    maker = ProblemMaker(config, families=load_families(config.factors.families))
    stage = Trainer(config, run.data, maker, problems)
    reports = [stage.epoch(number) for number in range(1, 7)]
    assert reports[0].updates > 0 and reports[-1].right > reports[0].right
    found = stage.model(stage.average()).maker.table
    assert (np.rint(found.weights / QUANTUM) * QUANTUM == found.weights).all()
    assert np.count_nonzero(found.weights) > 50


def test_the_network_is_that_of_a_run_without_factors(whole: Parser) -> None:
    lines: list[str] = []
    plain = Parser.train(SENTENCES, DEV, configuration(), factors=[], report=lines.append)
    one, other = (parser.model.maker.network for parser in (whole, plain))
    assert one is not None and other is not None
    assert all(np.array_equal(a, other.to_fields()[k]) for k, a in one.to_fields().items())
    assert not len(plain.model.maker.table) and plain.model.config.factors.families == ()
    assert len(whole.model.maker.table.pruned()) > 0
    assert sum(len(whole.problem(s).factor_score) for s in DEV) > 0
    assert whole.model.notes["backbone_dev_uas"] == plain.model.notes["dev_uas"]
    assert whole.model.notes["dev_uas"] == unlabelled_accuracy(whole.model.maker, DEV)
    assert f"network: UAS {100 * plain.model.notes['dev_uas']:.2f} on dev" in lines


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        ("network trained", [".network"]),
        ("gold heads among them", [".fold-1", ".fold-2", ".fold-3", ".network"]),
        ("families, epoch 2", [".families", ".fold-1", ".fold-2", ".fold-3", ".network"]),
    ],
)
def test_an_interrupted_run_ends_the_same(
    whole: Parser, tmp_path: Path, cut: str, kept: list[str]
) -> None:
    path, given = tmp_path / "run", (SENTENCES, DEV, configuration())
    interrupt(cut, *given, checkpoint=path)
    assert sorted(p.name.removeprefix("run") for p in tmp_path.iterdir()) == kept
    again = Parser.train(*given, checkpoint=path)
    assert bytes_of(again, tmp_path / "again") == bytes_of(whole, tmp_path / "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "whole"]


def test_members_learn_from_different_starts(tmp_path: Path) -> None:
    def given(members: int) -> tuple[Any, ...]:
        return SENTENCES, DEV, configuration(2).with_("network", members=members)

    alone, both = (Parser.train(*given(count), factors=[]) for count in (1, 2))
    first, second = both.model.maker.network.members
    assert np.array_equal(alone.model.maker.network.vectors, first.vectors)
    assert not np.array_equal(first.vectors, second.vectors)
    both.save(tmp_path / "both")
    loaded = Parser.load(tmp_path / "both")
    parsed = [[parser.parse(one) for one in SENTENCES] for parser in (both, loaded)]
    assert parsed[0] == parsed[1]


def test_a_treebank_without_labels(tmp_path: Path) -> None:
    bare = [Sentence.from_words(s.forms, upos=s.upos, heads=s.heads) for s in SENTENCES[:20]]
    silent = toy.network_configuration(epochs=2).with_("labels", epochs=0)
    for some, config in ((bare, configuration(2)), (SENTENCES[:20], silent)):
        parser = Parser.train(some, (), config)
        assert parser.model.labeller is None
        assert parser.model.maker.network is not None and parser.model.maker.network.labels == ()
        (tree,) = parser.parse(DEV[0])
        assert set(tree.labels or "_") == {"_"}
        parser.save(tmp_path / "bare.model")
        again = Parser.load(tmp_path / "bare.model")
        assert again.model.labeller is None and again.parse(DEV[0]) == [tree]


def test_labels_and_the_rule_about_the_root(whole: Parser) -> None:
    network = whole.model.maker.network
    assert network is whole.model.labeller and network is not None
    assert network.labels[network.root] == "root"
    for sentence in DEV:
        (tree,) = whole.parse(sentence)
        assert [label == "root" for label in tree.labels] == [h == 0 for h in tree.heads]
