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
    assert done.code == 0 and done.err.startswith("2 sentences, 1 disputed in 1 word; 0 with")
    assert out.read_text().count("\n\n") == 1 and "Differs=2:1:obj\n" in out.read_text()
    done = run("combine", a, b, "-o", out, "--weights", a)
    assert done.err.startswith(f"weights: {a} 2.56, {b} 1.30\n")
    assert out.read_text().count("\n\n") == 2
    assert run("combine", a, b, "--k-best", "2").out.count("# tree = ") == 4
    for arguments, complaint in (
        ((a,), "found 1 file, expected at least 2"),
        ((a, b, "--weights", "1"), "--weights has 1 numbers, expected 2"),
        ((a, b, "--weights", "1,x"), "1,x: cannot be read: No such file"),
        ((a, b, "--weights", "1,nan"), "--weights: nan is not 0 and no number from 0.01 to 10"),
        ((a, b, "--weights", "1,0.001"), "0.001 is not 0 and no number from 0.01 to 10"),
        ((a, b, "--weights", "confidence"), f"{a}, {b}: no word has Confidence= in MISC"),
        ((a, written(tmp_path, "c", A)), "has 1 sentence, and other files have more"),
    ):
        assert complaint in run("combine", *arguments).complaint(alone=False)


def test_sentences_in_another_order(run: Run, tmp_path: Path) -> None:
    """Annotators may export their files in any order; ids say what belongs together."""
    sentences = [
        Sentence.from_words([word], heads=[0], deprels=["root"], name=name)
        for name, word in (("a", "one"), ("b", "two"), ("c", "three"))
    ]
    one = written(tmp_path, "one", *sentences)
    other = written(tmp_path, "other", *(sentences[i] for i in (1, 2, 0)))
    done = run("combine", one, other, one)
    assert done.out == one.read_text() and "3 sentences, 0 disputed" in done.err
    for more in (["--agreement"], [], ["--against", other]):
        done = run("evaluate", one, other, *more)
        assert done.code == 0 and " 100.00 " in done.out
        assert done.err.startswith(f"{other}: in another order, matched by sent_id\n")
    twice = written(tmp_path, "twice", *(sentences[i] for i in (1, 1, 0)))
    assert "word 1 is 'two', expected 'one'" in run("combine", one, twice).complaint()
    shorter = written(tmp_path, "shorter", *sentences[:2])
    for paths in ((one, shorter), (shorter, one)):
        complaint = run("evaluate", *paths).complaint()
        assert f"{one}, line 7, c: no counterpart in {shorter}, which ends before" in complaint
        complaint = run("evaluate", *paths, "--agreement").complaint()
        assert f"{one}, line 7, c has no counterpart: {shorter} has only 2 sentences" in complaint
