"""``bbparse tune``."""

from __future__ import annotations

from pathlib import Path

from bbparse.apps.tuning.measure import measure_settings
from tests import toy
from tests.apps.cli.conftest import Run


def test_table_plot_and_advice(run: Run, model: Path, tmp_path: Path) -> None:
    plot = tmp_path / "tuning.svg"
    done = run("tune", toy.DEV, "--model", model, "--prune", "1,4,none", "--plot", plot)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "30 sentences, 268 words"
    assert lines[2].split() == ["prune", "UAS", "LAS", "words/s", "DP", "calls", "proved,", "%"]
    rows = [line.split() for line in lines[3:6]]
    assert [row[0] for row in rows] == ["1", "4", "none"]
    assert all(row[-1] == "100.00" for row in rows)
    settings = measure_settings(toy.parser(), toy.dev_sentences(), [1, 4, 0], passes=1)
    assert [row[1] for row in rows] == [f"{100 * one.scores.uas:.2f}" for one in settings]
    assert lines[-2].startswith("suggested: --prune ")
    assert lines[-1] == f"wrote {plot}"
    assert plot.read_text(encoding="utf-8").startswith("<?xml")


def test_errors(run: Run, model: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.conllu"
    empty.write_text("", encoding="utf-8")
    for arguments, message in (
        (("--prune", "3,x"), "'x' is neither 'none' nor an integer"),
        (("--prune", ","), "expected numbers of candidate heads, separated by commas"),
        (("--plot", tmp_path / "a.gif"), "a.gif: expected a file that ends in .svg, .png, .pdf"),
    ):
        assert message in run("tune", toy.DEV, "--model", model, *arguments).complaint()
    assert "the file is empty" in run("tune", empty, "--model", model).complaint()
