"""Progress bars, also of steps that take long."""

from __future__ import annotations

import pytest

from bbparse.runtime import progress, signals
from bbparse.runtime.progress import Bar, progress_bars, watched


def beat() -> None:
    """What the main thread does while it waits."""
    for call in signals.while_waiting:
        call()


def test_a_slow_step_shows_its_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_DELAY", 1e9)
    with progress_bars(True):
        for _ in watched(range(2), "quick"):
            beat()
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(progress, "_DELAY", 0.0)
        monkeypatch.setattr(progress, "_INTERVAL", 0.0)
        for number in watched(range(2), "outer"):
            for _ in watched(range(3), f"step {number}"):
                capsys.readouterr()
                beat()
                shown = capsys.readouterr().err
                assert f"step {number}: " in shown and "outer" not in shown
            beat()
            assert "outer: " in capsys.readouterr().err
        capsys.readouterr()
        beat()  # all are closed
        assert capsys.readouterr().err == ""
        with Bar.over(100) as bar:
            beat()
            bar.set_description_str("3 sentences, ", refresh=False)
            beat()
        assert "0%|" in (shown := capsys.readouterr().err) and "| 3 sentences, 00:0" in shown


def test_no_bar_is_drawn_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar.over(None) as bar:
        bar.update(3)
        assert list(watched(range(3), "x")) == [0, 1, 2]
        beat()
    assert capsys.readouterr().err == ""
