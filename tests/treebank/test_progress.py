"""Bars are drawn where they were asked for, and nowhere else."""

from __future__ import annotations

import pytest
from numba import njit

from bbparse.treebank import progress
from bbparse.treebank.progress import progress_bars, watch_compiling, watched


def test_silent_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    items = [1, 2, 3]
    assert watched(items, "things") is items
    with progress_bars(False):
        assert watched(items, "things") is items
    assert capsys.readouterr().err == ""


def test_bars(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = progress.tqdm

    def at_once(*arguments: object, **options: object) -> object:
        return whole(*arguments, **{**options, "delay": 0, "mininterval": 0})

    monkeypatch.setattr(progress, "tqdm", at_once)
    with progress_bars():
        assert list(watched([1, 2, 3], "things")) == [1, 2, 3]
        with progress_bars(False):
            assert watched([1], "others") == [1]
    text = capsys.readouterr().err
    assert "things" in text and "3/3" in text and "others" not in text
    with pytest.raises(KeyError), progress_bars():
        raise KeyError
    assert watched([1], "after") == [1]


def test_compiling_is_told() -> None:
    told = []
    watch_compiling(lambda done, seconds: told.append((done, seconds)))

    @njit
    def double(x: float) -> float:
        return x + x

    assert told == []
    assert (double(1), double(1.5), double(2.5)) == (2, 3.0, 5.0)
    assert [done for done, _ in told] == [0, 1, 2]
    assert told[0][1] == 0.0 <= told[1][1] <= told[2][1]
