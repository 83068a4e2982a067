"""The journal: nothing is lost if the process is killed at any time."""

from __future__ import annotations

import json
import os
import signal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from bbparse.apps.annotate.treebank import Treebank
from bbparse.apps.annotate.view import sentence_view
from bbparse.runtime.errors import TreebankError
from tests.apps.annotate.conftest import TEXT, Opened, completer, does


def journal(opened: Opened) -> Path:
    return Path(f"{opened.path}.journal")


def state(treebank: Treebank) -> list[Any]:
    return [
        (entry.text, entry.at, entry.steps, sentence_view(treebank, i)["cells"])
        for i, entry in enumerate(treebank.entries)
    ]


def work(treebank: Treebank) -> None:
    does(treebank, 0, "fix", 1, head=2, label="det")
    does(treebank, 2, "fix", 6, head=2)
    does(treebank, 2, "cell", 2, column="lemmas", value="kitten")
    does(treebank, 2, "forbid", 4, head=6)
    does(treebank, 2, "undo")
    does(treebank, 1, "accept")
    does(treebank, 2, "undo")
    does(treebank, 2, "release", 0)
    does(treebank, 2, "undo")


def test_edges_are_restored(enhanced: Opened) -> None:
    treebank = enhanced()
    does(treebank, 2, "fix-edge", 1, head=sentence_view(treebank, 2)["cells"][0]["head"])
    expected = state(treebank)
    again = enhanced()
    assert state(again) == expected and len(again.entries[2].step.marks.edges) == 1


def test_all_steps_are_restored(opened: Opened) -> None:
    treebank = opened()
    work(treebank)
    expected = state(treebank)
    assert opened.text == TEXT  # not saved
    again = opened()
    assert state(again) == expected and not again.is_saved
    again.save()
    assert opened.text == "".join(entry[0] for entry in expected)
    saved = opened()  # from a file that has the steps
    assert state(saved) == expected and saved.is_saved
    does(saved, 2, "redo")
    for _ in range(2):
        does(saved, 2, "undo")
    does(saved, 1, "undo")
    does(saved, 0, "undo")
    saved.save()
    assert opened.text == TEXT


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("number", [1, 5, 9])
def test_after_a_kill(opened: Opened, number: int) -> None:
    expected = opened()
    completer()  # trained once, before the fork

    def steps(treebank: Treebank, stop: int) -> None:
        kinds = [("fix", 6, 2), ("fix", 6, 4), ("undo", 0, 0), ("forbid", 6, 3), ("fix", 1, 2)]
        for i in range(stop):
            kind, word, head = kinds[i % 5]
            does(treebank, 2, kind, word, head=head + i // 5)

    def die() -> None:
        treebank = Treebank(opened.path, completer())
        treebank.start()  # it saves at any time, too
        steps(treebank, number)
        os.kill(os.getpid(), signal.SIGKILL)

    steps(expected, number)
    wanted = [(entry.text, entry.at, entry.steps) for entry in expected.entries]
    opened.kill()
    journal(opened).unlink()
    process = get_context("fork").Process(target=die)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    found = opened()
    assert [(entry.text, entry.at, entry.steps) for entry in found.entries] == wanted
    found.save()
    assert opened.text == "".join(text for text, _, _ in wanted)


def test_a_line_that_was_not_completed(opened: Opened) -> None:
    treebank = opened()
    work(treebank)
    opened.kill()
    data = journal(opened).read_bytes()
    lines = data.splitlines(keepends=True)
    for cut in range(len(data) - len(lines[-1]) - len(lines[-2]), len(data), 7):
        journal(opened).write_bytes(data[:cut])
        treebank = opened()
        whole = data[:cut].count(b"\n")
        assert treebank.entries[2].at == {len(lines) - 2: 1, len(lines) - 1: 2}[whole]
        does(treebank, 2, "accept")
        assert opened().entries[2].at == treebank.entries[2].at


def test_sentences_that_were_changed_elsewhere(opened: Opened) -> None:
    work(opened())
    text = TEXT.replace("7\t.\t", "7\t!\t")
    opened.path.write_text(text, encoding="utf-8")
    treebank = opened()
    assert treebank.messages == [
        "sentence #3 was changed or removed elsewhere: its steps are dropped"
    ]
    assert [entry.at for entry in treebank.entries] == [1, 1, 0]
    does(treebank, 2, "fix", 6, head=4)
    treebank = opened()
    assert [entry.at for entry in treebank.entries] == [1, 1, 1] and not treebank.messages


ADDED = "1\tNew\t_\tX\t_\t_\t0\troot\t_\t_\n\n"


@pytest.mark.parametrize("saves", [True, False])
def test_other_programs_add_and_remove_sentences(opened: Opened, saves: bool) -> None:
    treebank = opened()
    work(treebank)
    steps = [entry.steps for entry in treebank.entries]
    if saves:
        treebank.save()
    text = opened.text
    opened.path.write_text("\ufeff" + ADDED + text.removeprefix("\ufeff") + "\n" + ADDED, "utf-8")
    treebank = opened()
    assert [entry.steps for entry in treebank.entries[1:4]] == steps and not treebank.messages
    assert sentence_view(treebank, 2)["state"] == "done"
    does(treebank, 0, "accept")
    does(treebank, 3, "accept")
    again = opened()
    assert [entry.at for entry in again.entries] == [1, 1, 1, 2, 0] and again.entries[0].is_fixed
    again.save()
    assert opened.text.startswith("\ufeff1\tNew") and opened.text.count("\ufeff") == 1
    opened.path.write_text(opened.text.replace(ADDED, "").removeprefix("\ufeff"), "utf-8")
    treebank = opened()
    assert [entry.at for entry in treebank.entries] == [1, 1, 2]
    assert treebank.messages == [
        "sentence #1 was changed or removed elsewhere: its steps are dropped"
    ]


def test_steps_belong_to_the_sentence_that_was_saved_not_to_its_twin(opened: Opened) -> None:
    opened.path.write_text(ADDED * 3, "utf-8")
    treebank = opened()
    does(treebank, 1, "cell", 1, column="lemmas", value="new")
    steps = treebank.entries[1].steps
    treebank.save()
    other = ADDED.replace("New", "Other")
    opened.path.write_text(other + opened.text, "utf-8")  # a twin is where the sentence was
    treebank = opened()
    assert [entry.at for entry in treebank.entries] == [0, 0, 1, 0]
    assert treebank.entries[2].steps == steps and not treebank.messages


def test_what_is_no_journal(opened: Opened) -> None:
    journal(opened).write_text("hello\n")
    with pytest.raises(TreebankError, match=r"journal, line 1: not written by bbparse annotate"):
        opened()
    journal(opened).unlink()
    work(opened())
    lines = journal(opened).read_text().splitlines(keepends=True)
    opened.kill()
    step = json.loads(lines[1])
    assert step.pop("base") and step["step"] == 1 and step["fixed"] and len(step["heads"]) == 4
    heads, labels = step["heads"], step["labels"]
    for record in (
        {"sentence": 7, "at": 1},
        {"sentence": -1, "at": 1},
        {"sentence": 0, "at": 2},
        {"sentence": 0, "at": True},
        step | {"step": 3},
        step | {"step": 1.0},
        step | {"heads": heads[1:]},
        step | {"heads": [5, *heads[1:]]},
        step | {"heads": [0.5, *heads[1:]]},
        step | {"labels": [1, *labels[1:]]},
        step | {"labels": ["a\tb", *labels[1:]]},
        step | {"labels": ["\ud800", *labels[1:]]},
        step | {"fixed": [[5, 1, "det"]]},
        step | {"fixed": [[1, 1, "det"]]},
        step | {"fixed": [[1, 2, ["det"]]]},
        step | {"fixed": [["1", 2, "det"]]},
        step | {"forbidden": 1},
        step | {"forbidden": [[-1, 1]]},
        step | {"cells": [["heads", 1, "x"]]},
        step | {"cells": [["upos", 0, "x"]]},
        step | {"cells": [["upos", 1, "a\nb"]]},
        {"sentence": 1, "base": "no rows\n\n"},
        step | {"sentence": 1, "base": 7, "index": 1},
        step | {"sentence": 1, "base": "1\tA" + "\t_" * 8 + "\n\n", "index": "x"},
        {"sentence": 1},
        [],
        None,
    ):
        journal(opened).write_text("".join([*lines[:2], json.dumps(record) + "\n"]))
        with pytest.raises(TreebankError, match="line 3: not written by bbparse annotate"):
            opened()
    journal(opened).write_text("".join([*lines[:2], "[" * 100_000 + "\n"]))
    with pytest.raises(TreebankError, match="line 3: not written by bbparse annotate"):
        opened()
