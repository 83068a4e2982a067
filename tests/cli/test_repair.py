"""``bbparse repair``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import toy

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
6\t.\t_\tPUNCT\t_\t_\t5\tpunct\t_\t_

# sent_id = s2
1\tWe\t_\tPRON\t_\t_\t3\tnsubj\t_\tSure=0.5
2\the\t_\tPRON\t_\t_\t3\tnsubj\t_\tSure=0.51|X=1
3\tsaid\t_\tVERB\t_\t_\t0\troot\t_\t_

"""


def test_repair(run: Callable[..., Any], tmp_path: Path) -> None:
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


def test_only_punctuation(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    path.write_text(SLIPS.replace("0\troot\t_\t_", "_\troot\t_\t_"))
    done = run("repair", path, "--only", "punct", "--json")
    assert done.code == 1
    assert done.out == path.read_text().replace("1\tpunct\t1:punct", "2\tpunct\t2:punct")
    first, second = map(json.loads, done.err.splitlines()[:-1])
    assert first["sentence"] == "s1" and first["proved"] and not first["left"]
    assert first["changes"] == [{
        "word": 3, "form": ",", "old": {"head": 1, "label": "punct"},
        "new": {"head": 2, "label": "punct"}, "breaks": first["faults"],
    }]  # fmt: skip
    assert second["obstacle"] == "no tree has all the heads that must stay"
    assert second["left"] == second["faults"] and not second["proved"] and not second["changes"]


def test_crossing_arcs(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    rows = [(3, "dep"), (4, "dep"), (0, "root"), (3, "dep")]
    path.write_text("".join(
        f"{m}\tw\t_\tX\t_\t_\t{head}\t{label}\t_\t_\n" for m, (head, label) in enumerate(rows, 1)
    ) + "\n")  # fmt: skip
    assert run("repair", path).out == path.read_text()
    nested = run("repair", path, "--projective", "yes")
    assert nested.out != path.read_text() and "the old arc breaks crossing-arcs: " in nested.err


def test_mistakes(run: Callable[..., Any], tmp_path: Path) -> None:
    path, out = tmp_path / "in.conllu", tmp_path / "out.conllu"
    path.write_text(SLIPS)
    both = run("repair", path, "--report", "-").complaint()
    assert both.startswith("trees and report both go to the standard output")
    path.write_text(SLIPS.replace("Sure=0.51", "Sure=high"))
    done = run("repair", path, "--weight", "Sure", "-o", out)
    assert done.complaint() == (
        f"{path}, line 14, s2: Sure is 'high' in MISC, expected a number"
    )
    path.write_text(SLIPS.replace("Sure=0.51", "Sure=nan"))
    done = run("repair", path, "--weight", "Sure", "-o", out, "--report", tmp_path / "report")
    assert done.complaint().endswith("s2: the weight of word 2 is nan, expected 0 to 10")
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_model_chooses(run: Callable[..., Any], tmp_path: Path) -> None:
    model, path = tmp_path / "toy.model", tmp_path / "in.conllu"
    toy.parser().save(model)
    path.write_text(SLIPS)
    plain, chosen = run("repair", path), run("repair", path, "--model", model)
    assert plain.code == chosen.code == 0 and plain.out != chosen.out
    assert "said -dep-> " in plain.err and "said -dep-> " not in chosen.err
