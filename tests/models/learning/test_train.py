"""Training from sentences to a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbparse.models.configuration import Configuration
from bbparse.models.learning.run import unlabelled_accuracy
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ConfigError, FactorError, TreebankError
from bbparse.treebank import Sentence
from tests import toy

BOTH = pytest.mark.parametrize(
    "config", [toy.configuration(), toy.network_configuration(epochs=20)]
)


@pytest.mark.parametrize(
    ("method", "rate", "cost"),
    [("perceptron", 0.1, 0.0), ("perceptron", 0.1, 1.0), ("adagrad", 0.1, 1.0)],
)
@pytest.mark.parametrize("backbone", ["sibling", "carreras", "grandsib"])
def test_every_rule_learns_the_toy_treebank(
    method: str, rate: float, cost: float, backbone: str
) -> None:
    table = toy.configuration().to_table()
    table["model"]["backbone"] = backbone
    table["learning"].update(method=method, rate=rate, cost=cost, epochs=4)
    if backbone != "grandsib":
        del table["templates"]["grandsibling"]
    sentences = toy.sentences()[:60]
    parser = Parser.train(sentences, [], Configuration.from_table(table))
    assert unlabelled_accuracy(parser.model.maker, sentences) > 0.95


@pytest.mark.parametrize("dev", [toy.dev_sentences(), toy.dev_sentences()[:1]])
def test_the_first_of_the_best_epochs_on_dev_is_kept(dev: list[Sentence]) -> None:
    config = toy.configuration().with_("learning", epochs=4)
    lines: list[str] = []
    parser = Parser.train(toy.sentences()[:50], dev, config, report=lines.append)
    epochs = [line for line in lines if line.startswith("epoch ")]
    figures = [float(line.split(" on dev;")[0].split()[-1]) for line in epochs]
    assert len(figures) == 4
    assert 100 * unlabelled_accuracy(parser.model.maker, dev) == pytest.approx(
        max(figures), abs=0.006
    )
    assert parser.model.notes["epoch"] == figures.index(max(figures)) + 1
    assert parser.model.notes["dev_uas"] == pytest.approx(max(figures) / 100, abs=1e-4)


def test_what_cannot_be_trained_on() -> None:
    config = toy.configuration()
    good = list(toy.sentences()[:5])
    words = Sentence.from_words
    with pytest.raises(TreebankError, match="there are no training sentences"):
        Parser.train([], [], config)
    for bad, message in (
        (words(["a", "b"], name="bad"), "bad: word 1 has no head"),
        (words(["a", "b", "c"], heads=[2, 1, 0], name="bad"), "bad: the heads .* form a cycle"),
        (words(["a", "b"], heads=[0, 0], name="bad"), "bad: words 1, 2 have head 0"),
    ):
        with pytest.raises(TreebankError, match=message):
            Parser.train([*good, bad], [], config)
        with pytest.raises(TreebankError, match=message):
            Parser.train(good, [bad], config)
    with pytest.raises(FactorError, match="no factor family 'sibling'; there are: "):
        Parser.train(good, [], config, factors=["sibling"])


@BOTH
def test_several_roots_where_the_configuration_allows_them(config: Configuration) -> None:
    config = config.with_("model", single_root=False).with_("learning", epochs=4)
    two = Sentence.from_words(["Hello", "hello"], upos=["INTJ", "INTJ"], heads=[0, 0])
    parser = Parser.train([*toy.sentences()[:20], *[two] * 5], [], config)
    assert parser.parse(two)[0].heads == (0, 0)


@BOTH
def test_small_treebanks(config: Configuration) -> None:
    one = Sentence.from_words(["Hello"], heads=[0])
    assert Parser.train([one], [], config).parse(one)[0].heads == (0,)
    pair = Sentence.from_words(["a", "b"], upos=["DET", "NOUN"], heads=[2, 0])
    for names in ("siblings", "combs,siblings", ""):
        factors = names.split(",") if names else []
        parser = Parser.train([pair, one], [one], config, factors=factors)
        assert parser.parse(pair)[0].heads == (2, 0)


def test_an_empty_label_is_refused_before_anything_is_learned() -> None:
    good = list(toy.sentences()[:5])
    bad = Sentence.from_words(["a", "b"], heads=[2, 0], name="bad")
    bad.deprels[0] = ""
    lines: list[str] = []
    with pytest.raises(TreebankError, match=r"bad: deprels\[0\]: expected text"):
        Parser.train([*good, bad], [], toy.configuration(), report=lines.append)
    assert lines == []


CROSSING = Sentence.from_words(
    ["a", "hearing", "is", "scheduled", "on", "it", "today"],
    upos=["DET", "NOUN", "AUX", "VERB", "ADP", "NOUN", "NOUN"],
    heads=[2, 4, 4, 0, 6, 2, 4],
    deprels=["det", "nsubj:pass", "aux:pass", "root", "case", "nmod", "obl"],
)


@BOTH
def test_trees_with_crossing_arcs_are_learned(config: Configuration, tmp_path: Path) -> None:
    config = config.with_("model", projective=False).with_("learning", epochs=4)
    parser = Parser.train([*toy.sentences()[:20], *[CROSSING] * 8], [CROSSING], config)
    assert parser.model.notes["projectivised"] == 0
    assert parser.problem(CROSSING).projective is False
    (tree,) = parser.parse(CROSSING)
    assert tree.heads == tuple(CROSSING.heads)
    assert len(tree.labels) == 7
    parser.save(tmp_path / "crossing.model")
    again = Parser.load(tmp_path / "crossing.model")
    assert again.model.config.projective is False and again.parse(CROSSING) == [tree]
    assert len(again.parse(CROSSING, k_best=3)) == 3


def test_whether_arcs_may_cross_can_be_left_to_the_trees() -> None:
    config = toy.configuration().with_("model", projective="auto")
    for some, projective in (([CROSSING], True), ([CROSSING] * 3, False)):
        lines: list[str] = []
        parser = Parser.train([*toy.sentences()[:37], *some], [], config, report=lines.append)
        assert parser.model.config.projective is projective
        assert lines[0].startswith(f"model.projective = {str(projective).lower()}: arcs cross in")
    with pytest.raises(ConfigError, match=r"model\.projective is 'maybe', expected true, false or"):
        config.with_("model", projective="maybe")
