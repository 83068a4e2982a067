"""``bbparse check``, ``bbparse rules`` and ``bbparse parse --valid``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bbparse.treebank import Sentence
from tests import toy

BROKEN = Sentence.from_words(
    ["This", "he", "said"], upos=["PRON", "PRON", "VERB"], heads=[3, 3, 0],
    deprels=["nsubj", "nsubj", "root"], name="s1",
)  # fmt: skip


def test_check(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    path.write_text("\n".join(BROKEN.lines) + "\n\n")
    done = run("check", str(path))
    assert done.code == 1
    where, what = f"{path}:4: ", "too-many-subjects: word 1: said -nsubj-> This, word 2: said"
    assert done.out == f"{where}{what} -nsubj-> he (s1)\n"
    assert done.err == "1 faults in 1 of 1 sentences (too-many-subjects 1)\n"
    rules = tmp_path / "mine.toml"
    rules.write_text("[[rule]]\nname = 'mine'\narc = 'label=obj'\n")
    assert run("check", str(path), "--valid", str(rules)).code == 0


def test_what_is_no_tree_is_told(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    nothing = tmp_path / "nothing.toml"
    nothing.write_text(
        "relations = ['a', 'b']\n[[rule]]\nname = 'x'\narc = 'label=b mod.form=z'\n"
    )
    for heads, labels, faults in (
        ([2, 2, 0], ["nsubj", "dep", "root"], ["3: head-self-loop: word 2: he -dep-> he"]),
        ([2, 3, 1], ["dep"] * 3, ["2: non-tree: word 1: he -dep-> This, word 2: said -dep-> he,"
                                  " word 3: This -dep-> said"]),
        ([0, 0, 1], ["root"] * 2 + ["dep"], ["3: multiple-roots: word 1: ROOT -root-> This,"
                                            " word 2: ROOT -root-> he"]),
        ([2, 0, 2], ["dep", "root", "sb"], ["4: unknown-deprel: word 3: he -sb-> said"]),
        ([2, 0, 2], ["dep:x", "root", "_"], ["4: unknown-deprel: word 3: he -_-> said"]),
    ):  # fmt: skip
        one = Sentence.from_words(
            ["This", "he", "said"], upos=["X"] * 3, heads=heads, deprels=labels, name="s1"
        )
        path.write_text("\n".join(one.lines) + "\n\n")
        done = run("check", str(path))
        assert done.code == 1
        assert done.out.splitlines() == [f"{path}:{fault} (s1)" for fault in faults]
        assert done.err.startswith("1 faults in 1 of 1 sentences")
    # of other schemes, relations are those that their rules name, and a tree may have several roots
    for heads, labels, code in (
        ([0, 0, 2], ["a", "b", "b:c"], 0), ([0, 0, 2], ["a", "b", "c"], 1),
        ([0, 3, 2], ["a", "b", "b"], 1),
    ):  # fmt: skip
        one = Sentence.from_words(["This", "he", "said"], heads=heads, deprels=labels)
        path.write_text("\n".join(one.lines) + "\n\n")
        assert run("check", str(path), "--valid", str(nothing)).code == code


def test_gold_trees_are_valid(run: Callable[..., Any]) -> None:
    assert run("check", str(toy.DEV)).code == 0


def test_rules(run: Callable[..., Any]) -> None:
    done = run("rules")
    assert done.code == 0
    assert "too-many-subjects\n    A word has one subject at most" in done.out
    assert "not: This he said (word 1: said -nsubj-> This, word 2: said -nsubj-> he)" in done.out


def test_one_line_for_what_is_wrong(run: Callable[..., Any], tmp_path: Path) -> None:
    rules = tmp_path / "mine.toml"
    rules.write_text("[[rule]]\nname = 'mine'\narc = 'label=objs'\n")
    for command in ("check", "rules"):
        arguments = [str(toy.DEV)] if command == "check" else []
        complaint = run(command, *arguments, "--valid", str(rules)).complaint()
        assert complaint.startswith(f"{rules}, line 3: arc: 'label=objs' has 'objs', expected one")


def test_calibrate(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    sure, trees = tmp_path / "sure.model", []
    done = run("calibrate", toy.DEV, "--model", model, "--output", sure)
    assert done.code == 0
    assert "arcs are few to calibrate on" in done.err
    for one in (model, sure):
        trees.append(run("parse", toy.DEV, "--model", one).out)
    assert trees[0] == trees[1]
    found = run("parse", toy.DEV, "--model", sure, "--confidence").out
    assert found.count("Confidence=") == sum(one.n_words for one in toy.dev_sentences())
    assert found.count("# confidence = ") == len(toy.dev_sentences())
