"""``bbparse combine``."""

from __future__ import annotations

from pathlib import Path

from bbparse.treebank import Sentence
from tests.apps.cli.conftest import Run
from tests.parser.test_combine import A, B


def written(folder: Path, name: str, *sentences: Sentence) -> Path:
    path = folder / name
    path.write_text("".join("\n".join(s.lines) + "\n\n" for s in sentences))
    return path


def test_the_command(run: Run, tmp_path: Path) -> None:
    a, b = written(tmp_path, "a", A, A), written(tmp_path, "b", A, B)
    out = tmp_path / "out"
    done = run("combine", a, b, "-o", out, "--disputed", "--weights", "1,0.5")
    assert done.code == 0 and done.err.startswith("2 sentences, 1 disputed in 1 words; 0 with")
    assert out.read_text().count("\n\n") == 1 and "Differs=2:1:obj\n" in out.read_text()
    done = run("combine", a, b, "-o", out, "--weights", a)
    assert done.err.startswith(f"weights: {a} 2.56, {b} 1.30\n")
    assert out.read_text().count("\n\n") == 2
    assert run("combine", a, b, "--k-best", "2").out.count("# tree = ") == 4
    for arguments, complaint in (
        ((a,), "found 1 file, expected at least 2"),
        ((a, b, "--weights", "1"), "--weights has 1 numbers, expected 2"),
        ((a, b, "--weights", "1,x"), "1,x: cannot be read: No such file"),
        ((a, b, "--weights", "1,nan"), "--weights: nan is not a number from 0 to 10"),
        ((a, written(tmp_path, "c", A)), "has 1 sentences, and other files have more"),
    ):
        assert complaint in run("combine", *arguments).complaint(alone=False)
