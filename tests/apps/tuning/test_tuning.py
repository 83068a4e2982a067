"""What tuning measures, what it suggests, and the plots that it draws."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bbparse.apps.tuning.measure import Setting, measure_settings, suggest
from bbparse.apps.tuning.plots import PALETTE, check_plot, plot_settings
from bbparse.runtime.errors import BBParseError, OutputError
from bbparse.treebank import Sentence
from bbparse.treebank.evaluation import Tally
from tests import toy


def test_agrees_with_the_parser() -> None:
    parser, sentences = toy.parser(), toy.dev_sentences()
    few, all_arcs = measure_settings(parser, sentences, [2, 0], passes=2)
    assert (few.name, all_arcs.name) == ("2", "none")
    for setting in (few, all_arcs):
        tally = Tally()
        calls = []
        for found in parser.parse_all(sentences, prune=setting.prune):
            tally.add(found.sentence, found.trees[0].heads, found.trees[0].labels)
            calls.append(found.stats.get("dp_calls", 0))
        assert setting.scores == tally.scores()
        assert setting.per_sentence[:, 1].tolist() == calls
        assert setting.figures["dp_calls"] == pytest.approx(np.mean(calls))
        assert setting.per_sentence[:, 0].tolist() == [sentence.n_words for sentence in sentences]
        assert setting.figures["proved"] == 1.0
        assert len(setting.passes) == 2 and min(setting.passes) > 0
        words = sum(sentence.n_words for sentence in sentences)
        assert setting.words_per_second == pytest.approx(words / np.median(setting.passes))
        assert (setting.per_sentence[:, 2] > 0).all()
        assert setting.as_dict()["prune"] == setting.name


def test_classes_of_length() -> None:
    lengths = [1, 2, 3, 4, 5, 6, *[30] * 4, *[31] * 5, 40]  # 6 takes 30 in, and 31 takes 40 in
    rows = np.array([lengths, range(16), [1.0] * 16]).T
    found = Setting(3, per_sentence=rows).by_length()
    assert found[:, 0].tolist() == pytest.approx([3, 126 / 5, 195 / 6])
    assert found[:, 1].tolist() == pytest.approx([2, 7, 12.5])
    assert len(Setting(3, per_sentence=rows[:4]).by_length()) == 1
    assert Setting(3).by_length().shape == (0, 3)


def made_up(prune: int, right: int, seconds: float) -> Setting:
    """A hundred words, of which so many are right."""
    tally = Tally()
    heads = list(range(10))
    for i in range(10):
        here = min(10, max(0, right - 10 * i))
        predicted = [h if m < here else m + 1 for m, h in enumerate(heads)]
        tally.add(Sentence.from_words(["w"] * 10, heads=heads), predicted, ["_"] * 10)
    return Setting(prune, tally, passes=[seconds], per_sentence=np.full((10, 3), 10.0))


def test_suggestions() -> None:
    right = {3: 90, 10: 95, 20: 96}
    settings = [made_up(prune, right[prune], prune / 3) for prune in right]
    for max_loss, prune in ((0.0, 20), (0.0099, 20), (0.01, 10), (0.05, 10), (0.06, 3), (1.0, 3)):
        found = suggest(settings, max_loss)
        assert found is not None
        assert (found.setting.prune, found.best.prune) == (prune, 20)
        assert found.loss.difference == pytest.approx((96 - right[prune]) / 100)
    found = suggest([*settings, made_up(0, 96, 2.5)], 0.0)
    assert found is not None and found.best.prune == 0  # the faster of equals
    assert suggest([Setting(0, failure="too large")], 1.0) is None


@pytest.fixture(scope="module")
def settings() -> list[Setting]:
    return [
        *measure_settings(toy.parser(), toy.dev_sentences(), [2, 4], passes=1),
        Setting(0, failure="too large"),
    ]


def test_svg(settings: list[Setting], tmp_path: Path) -> None:
    path, again = tmp_path / "a.svg", tmp_path / "b.svg"
    plot_settings(settings, path, suggestion=suggest(settings, 1.0))
    plot_settings(settings, again, suggestion=suggest(settings, 1.0))
    text = path.read_text(encoding="utf-8")
    assert text == again.read_text(encoding="utf-8")
    words = " ".join(ElementTree.fromstring(text).itertext())
    for part in (
        "Accuracy against speed",
        "words in the sentence",
        "DP calls",
        "LAS, %",
        "k = 2",
        "k = 4",
        "suggested",
    ):
        assert part in words
    assert "no pruning" not in words  # it has no figures
    assert PALETTE[0].lower() in text.lower()


def test_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutputError, match="expected a file that ends in"):
        check_plot(tmp_path / "plain")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BBParseError, match=r"pip install '\.\[plot\]' in the checkout"):
        check_plot(tmp_path / "a.svg")
