"""``bbparse check``, ``bbparse rules``, ``bbparse repair`` and ``bbparse calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.parser.arc_scores import ModelScores
from bbparse.parser.parser import Parser
from bbparse.treebank import Sentence, read_conllu
from tests import toy
from tests.apps.cli.conftest import Run


def written(folder: Path, heads: list[int], labels: list[str], **more: Any) -> Path:
    """A file with one sentence of three words."""
    words = Sentence.from_words(["This", "he", "said"], heads=heads, deprels=labels, **more)
    (folder / "in.conllu").write_text("\n".join(words.lines) + "\n\n")
    return folder / "in.conllu"


def test_check(run: Run, tmp_path: Path) -> None:
    labels, tags = ["nsubj", "nsubj", "root"], ["PRON", "PRON", "VERB"]
    path = written(tmp_path, [3, 3, 0], labels, upos=tags, name="s1")
    done = run("check", path)
    assert done.code == 1
    where, what = f"{path}:4: ", "too-many-subjects: word 1: said -nsubj-> This, word 2: said"
    assert done.out == f"{where}{what} -nsubj-> he (s1)\n"
    assert done.err == "1 fault in 1 of 1 sentence (too-many-subjects 1)\n"
    rules = tmp_path / "mine.toml"
    rules.write_text("[[rule]]\nname = 'mine'\narc = 'label=obj'\n")
    assert run("check", path, "--valid", rules).code == 0
    assert run("check", toy.DEV).code == 0


def test_consistency(run: Run, tmp_path: Path, model: Path) -> None:
    path = tmp_path / "in.conllu"
    rows = ["1\tI\t_\tPRON\t_\t_\t2\tnsubj\t_\t_", "2\tsee\t_\tVERB\t_\t_\t0\troot\t_\t_"]
    block = "\n".join(rows) + "\n\n"
    path.write_text(block * 3 + block.replace("nsubj", "obj"))
    done = run("check", path, "--consistent")
    text = "word 1: 'I see': obj of the last word here, nsubj of the last word 3 times elsewhere"
    assert done.code == 1 and done.out == f"{path}:10: {text} (sentence #4)\n"
    assert done.err == "1 places with a rarer analysis; sequences of words: 1\n"
    done = run("repair", path, "--consistent")
    assert done.code == 0 and done.out == block * 4
    assert "the old arc breaks consistency: 'I see' has nsubj of the last word else" in done.err
    assert "exclude" in run("repair", path, "--consistent", "--only", "punct").complaint()
    shown = run("check", path, "--consistent", "--model", model).out
    *_, last = read_conllu(path)
    scores = ModelScores(Parser.load(model))
    sure = scores(last)[1, 2, scores.labels.index("obj")]
    assert f"; model: {np.exp(sure):.0%} as here, " in shown
    path.write_text(block * 3)
    assert run("check", path, "--consistent").code == 0
    assert "--model is for --consistent" in run("check", path, "--model", "english").complaint()


@pytest.mark.parametrize(
    ("heads", "labels", "fault"),
    [
        ([2, 2, 0], ["nsubj", "dep", "root"], "3: head-self-loop: word 2: he -dep-> he"),
        (
            [2, 3, 1],
            ["dep"] * 3,
            "2: non-tree: word 1: he -dep-> This, word 2: said -dep-> he, word 3: This -dep-> said",
        ),
        ([2, 0, 2], ["dep", "root", "sb"], "4: unknown-deprel: word 3: he -sb-> said"),
        ([2, 0, 2], ["dep:x", "root", "_"], "4: unknown-deprel: word 3: he -_-> said"),
    ],
)
def test_what_is_no_tree(
    run: Run, tmp_path: Path, heads: list[int], labels: list[str], fault: str
) -> None:
    path = written(tmp_path, heads, labels, upos=["X"] * 3, name="s1")
    done = run("check", path)
    assert (done.code, done.out) == (1, f"{path}:{fault} (s1)\n")
    assert done.err.startswith("1 fault in 1 of 1 sentence")


def test_rules(run: Run) -> None:
    done = run("rules")
    assert done.code == 0
    assert "too-many-subjects\n    A word has at most one subject" in done.out
    assert "not: This he said (word 1: said -nsubj-> This, word 2: said -nsubj-> he)" in done.out


def test_one_line_for_what_is_wrong(run: Run, tmp_path: Path) -> None:
    rules = tmp_path / "mine.toml"
    rules.write_text("[[rule]]\nname = 'mine'\narc = 'label=objs'\n")
    for command in (("check", toy.DEV), ("rules",)):
        complaint = run(*command, "--valid", rules).complaint()
        assert complaint.startswith(f"{rules}, line 3: arc: 'label=objs' has 'objs', expected one")


def test_calibrate(run: Run, model: Path, tmp_path: Path) -> None:
    sure = tmp_path / "sure.model"
    done = run("calibrate", toy.DEV, "--model", model, "--output", sure)
    assert done.code == 0
    assert "arcs are few to calibrate on" in done.err
    plain, calibrated = (run("parse", toy.DEV, "--model", one).out for one in (model, sure))
    assert plain == calibrated
    found = run("parse", toy.DEV, "--model", sure, "--confidence").out
    assert found.count("Confidence=") == sum(one.n_words for one in toy.dev_sentences())
    assert found.count("# confidence = ") == len(toy.dev_sentences())


SLIPS = """\
# sent_id = s1
# text = Timeflies, he said.
1-2\tTimeflies\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tTime\t_\tNOUN\t_\t_\t2\tnsubj\t2:nsubj\t_
2\tflies\t_\tVERB\t_\t_\t5\tccomp\t5:ccomp\t_
2.1\tgone\t_\t_\t_\t_\t_\t_\t2:conj\t_
3\t,\t_\tPUNCT\t_\t_\t1\tpunct\t1:punct\t_
4\the\t_\tPRON\t_\t_\t5\tnsubj\t5:nsubj\t_
5\tsaid\t_\tVERB\t_\t_\t0\troot\t0:root\tSpaceAfter=No
6\t.\t_\tPUNCT\t_\t_\t5\tpunct\t5:punct\t_

# sent_id = s2
1\tWe\t_\tPRON\t_\t_\t3\tnsubj\t_\tSure=0.5
2\the\t_\tPRON\t_\t_\t3\tnsubj\t_\tSure=0.51|X=1
3\tsaid\t_\tVERB\t_\t_\t0\troot\t_\t_

"""


def test_repair(run: Run, tmp_path: Path) -> None:
    path, out, report = (tmp_path / name for name in ("in.conllu", "out.conllu", "report"))
    path.write_bytes(SLIPS.encode())
    done = run("repair", path, "-o", out, "--report", report, "--weight", "Sure")
    assert (done.code, done.out) == (0, "")
    last = "2 words changed in 2 of 2 sentences; 0 with faults left, 0 without proof\n"
    assert done.err == last
    changed = SLIPS.replace("1\tpunct\t1:punct", "2\tpunct\t2:punct")
    changed = changed.replace("3\tnsubj\t_\tSure=0.5\n", "3\tdep\t_\tSure=0.5\n")
    assert out.read_bytes() == changed.encode()
    first, second = report.read_text().splitlines()
    assert first == (
        f"{path}:7: word 3: Time -punct-> , becomes flies -punct-> ,; the old arc breaks"
        " punct-is-nonproj: word 3: Time -punct-> ,, word 2: said -ccomp-> flies (s1)"
    )
    assert second.startswith(f"{path}:13: word 1: said -nsubj-> We becomes said -dep-> We; ")
    again = run("repair", out)
    assert again.out == changed and again.err.startswith("0 words changed in 0 of 2 sentences; 0 ")
    assert run("check", out).code == 0
    for command in ("repair", "parse"):
        none = run(command, out, "--spans", "Entity:2")
        assert none.code == 2 and f"{out}: no word has Entity= in MISC" in none.err


def test_weights_that_no_word_has_and_small_ones(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    path.write_text(SLIPS.replace("Sure=0.51", "Sure=0.001").replace("Sure=0.5\n", "Sure=0\n"))
    for more in ([], ["--consistent"]):
        complaint = run("repair", path, "--weight", "sure", *more).complaint(alone=False)
        assert complaint == f"{path}: no word has sure= in MISC"
    assert ": word 1: said -nsubj-> We becomes" in run("repair", path, "--weight", "Sure").err


def test_consistency_beside_words_without_heads(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    rows = ["1\tI\t_\t_\t_\t_\t2\tobj\t_\t_", "2\tsee\t_\t_\t_\t_\t0\troot\t_\t_"]
    block = "\n".join(rows) + "\n\n"
    path.write_text(2 * block + block.replace("2\tobj", "_\t_"))
    done = run("check", path, "--consistent")
    assert done.code == 1 and done.err.startswith("1 places with a rarer analysis")
    assert "'I see': no arc here, obj of the last word 2 times elsewhere" in done.out


def test_only_punctuation(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    path.write_text(SLIPS.replace("0\troot\t_\t_", "_\troot\t_\t_"))
    done = run("repair", path, "--only", "punct")
    assert done.code == 1
    assert done.out == path.read_text().replace("1\tpunct\t1:punct", "2\tpunct\t2:punct")
    first, *left, second, _ = done.err.splitlines()
    assert first.startswith(f"{path}:7: word 3: Time -punct-> , becomes flies -punct-> ,; ")
    assert left and all(": left: " in line and line.endswith(" (s2)") for line in left)
    assert second.endswith("not repaired: no tree has all the heads that must stay (s2)")


def test_mistakes(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "in.conllu", tmp_path / "out.conllu"
    path.write_text(SLIPS.replace("Sure=0.51", "Sure=high"))
    done = run("repair", path, "--weight", "Sure", "-o", out)
    told = f"{path}, line 14, s2: Sure is 'high' in MISC, expected a number"
    assert done.complaint(alone=False) == told
    path.write_text(SLIPS.replace("Sure=0.51", "Sure=nan"))
    done = run("repair", path, "--weight", "Sure", "-o", out, "--report", tmp_path / "report")
    assert done.complaint().endswith("s2: the weight of word 2 is nan, expected 0 to 10")
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_model_chooses(run: Run, tmp_path: Path, model: Path) -> None:
    path = tmp_path / "in.conllu"
    path.write_text(SLIPS)
    plain, chosen = run("repair", path), run("repair", path, "--model", model)
    assert plain.code == chosen.code == 0 and plain.out != chosen.out
    assert "said -dep-> " in plain.err and "said -dep-> " not in chosen.err
