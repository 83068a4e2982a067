"""Plots are drawn, the same ones each time, or refused before the work."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bbparse.errors import BBParseError, OutputError
from bbparse.tuning import Setting, measure_settings, suggest
from bbparse.tuning.plots import PALETTE, check_plot, plot_settings
from tests import toy


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
    for part in ("Accuracy against speed", "words in the sentence", "DP calls", "LAS, %", "k = 2",
                 "k = 4", "suggested"):  # fmt: skip
        assert part in words
    assert "no pruning" not in words  # it has no figures
    assert PALETTE[0].lower() in text.lower()


def test_png_and_nothing_to_draw(settings: list[Setting], tmp_path: Path) -> None:
    plot_settings(settings, tmp_path / "a.png", measure="uas")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    plot_settings(settings[-1:], tmp_path / "b.png")
    assert (tmp_path / "b.png").stat().st_size > 1000


def test_many_calls_are_drawn_on_a_logarithmic_axis(tmp_path: Path) -> None:
    def setting(prune: int, calls: int) -> Setting:
        return Setting(
            prune, passes=[1.0], lengths=np.full(10, 9, np.int32),
            sentence_calls=np.full(10, calls), sentence_seconds=np.full(10, 0.1),
        )  # fmt: skip

    for calls, ticks in ((12, {"0", "4", "8", "12"}), (400, {"5", "10", "200"})):
        path = tmp_path / f"{calls}.svg"
        plot_settings([setting(3, 4), setting(0, calls)], path, measure="uas")
        drawn = {text.strip() for text in ElementTree.parse(path).getroot().itertext()}
        assert ticks <= drawn


def test_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.svg").mkdir()
    for name, message in (
        ("a.gif", "expected a file that ends in .svg, .png, .pdf"),
        ("plain", "expected a file that ends in"),
        ("none/a.svg", "there is no folder"),
        ("folder.svg", "it is a folder"),
    ):
        with pytest.raises(OutputError, match=message):
            check_plot(tmp_path / name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BBParseError, match=r"pip install 'bbparse\[plot\]'"):
        check_plot(tmp_path / "a.svg")
