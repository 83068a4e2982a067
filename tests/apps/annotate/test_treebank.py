"""Steps of a person on a treebank: what the tree becomes, and what the file."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.apps.annotate.completion import Completer
from bbparse.apps.annotate.marks import Marks
from bbparse.apps.annotate.treebank import Act, Conflict, Impossible, Treebank
from bbparse.apps.annotate.view import options_view, row, rows, search, sentence_view
from bbparse.parser.combine import combine, with_disputes
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import OutputError
from bbparse.treebank import Sentence, format_sentence, read_conllu
from bbparse.treebank.graph import read_graph
from bbparse.treebank.sentence import check_tree
from tests.apps.annotate.conftest import TEXT, Opened, completer, does
from tests.oracles.enumerate import enumerate_trees


def heads(treebank: Treebank, index: int) -> list[int]:
    return [cell["head"] for cell in sentence_view(treebank, index)["cells"]]


def test_a_file_that_is_only_looked_at_stays_as_it_is(opened: Opened) -> None:
    treebank = opened()
    for index in range(3):
        view = sentence_view(treebank, index, 3)
        assert view["state"] == "untouched" and len(view["cells"]) == view["words"]
    treebank.save()
    treebank.close()
    assert opened.text == TEXT and not list(opened.path.parent.glob("*.journal"))


def test_everything_else_becomes_the_best_tree_around_what_is_fixed(opened: Opened) -> None:
    parser = completer().parser
    free = Completer(parser, "none")
    sentence = parser.tagged(opened().entries[2].base)
    for word, head, banned in [(6, 2, 0), (6, 3, 2), (1, 7, 3), (4, 3, 0), (2, 0, 1), (7, 1, 2)]:
        marks = Marks({word: (head, "")}, frozenset({(banned, 5)}))
        (tree,) = free.best(sentence, marks)
        expected: list[float] = []
        for prune, margin in ((None, None), (None, np.inf), (0, None)):  # as far as needed
            p = parser.model.maker([sentence], prune, margin, [{word: head}])[0].problem
            expected = [
                score
                for score, arcs in enumerate_trees(p)
                if p.arc_head[arcs[word - 1]] == head and p.arc_head[arcs[4]] != banned
            ]
            if expected:
                break
        assert tree.score == pytest.approx(expected[0])
        assert tree.proved and tree.heads[word - 1] == head and tree.heads[4] != banned


def test_steps(opened: Opened) -> None:
    treebank = opened()
    before = heads(treebank, 2)
    does(treebank, 2, "fix", 6, head=2)
    view = sentence_view(treebank, 2)
    assert view["cells"][5]["fixed"] and not view["cells"][5]["named"]
    assert view["cells"][5]["sure"] < 1.0 and view["state"] == "work"  # its label is open
    does(treebank, 2, "fix", 6, head=2, label="conj")
    assert sentence_view(treebank, 2)["cells"][5]["sure"] == 1.0
    assert sentence_view(treebank, 2)["cells"][5]["label"] == "conj"
    does(treebank, 2, "forbid", 6, head=2)
    view = sentence_view(treebank, 2)
    assert view["forbidden"] == [[2, 6]] and view["cells"][5]["head"] != 2
    does(treebank, 2, "release", 6)
    assert heads(treebank, 2) == before
    for _ in range(4):
        does(treebank, 2, "undo")
    assert sentence_view(treebank, 2)["state"] == "untouched"
    with pytest.raises(Impossible, match="nothing to undo"):
        does(treebank, 2, "undo")
    for _ in range(4):
        does(treebank, 2, "redo")
    with pytest.raises(Impossible, match="nothing to redo"):
        does(treebank, 2, "redo")
    does(treebank, 2, "accept")
    view = sentence_view(treebank, 2)
    assert view["state"] == "done" and view["sure"] == 1.0
    assert all(cell["named"] for cell in view["cells"])
    assert [cell["head"] for cell in view["cells"]] == before


def test_other_trees(opened: Opened) -> None:
    treebank = opened()
    best, *others = treebank.trees(2, 5)
    scores = [tree.score for tree in others]
    assert scores == sorted(scores, reverse=True) and best.score >= scores[0]
    view = sentence_view(treebank, 2, 1)
    assert view["tree"] == 1 and 'class="bbp-arc mine' in view["svg"]
    assert 'class="bbp-arc theirs"' in view["svg"]
    does(treebank, 2, "accept", tree=1)
    assert treebank.entries[2].step.heads == others[0].heads
    # all arcs are fixed: the alternatives are those of an open choice
    assert treebank.trees(2, 2)[1].heads == best.heads


def test_trees_of_several_files_come_first(opened: Opened) -> None:
    forms, upos = ["A", "dog", "sees", "it"], ["DET", "NOUN", "VERB", "PRON"]
    trees = [
        ([2, 3, 0, 3], ["det", "nsubj", "root", "obj"]),
        ([2, 3, 0, 3], ["det", "obj", "root", "nsubj"]),
        ([3, 3, 0, 3], ["dep", "nsubj", "root", "obj"]),
        ([3, 3, 0, 3], ["dep", "nsubj", "root", "obj"]),
        ([2, -1, 0, 3], ["det", "_", "root", "obj"]),
    ]
    given = [Sentence.from_words(forms, upos=upos, heads=h, deprels=x) for h, x in trees]
    found = combine([given[0], *given], Rules.load("ud"))
    best = found.trees[0]
    opened.path.write_text(format_sentence(with_disputes(found), best.heads, best.labels))
    treebank = opened()
    shown = treebank.trees(0, 4)
    assert [(list(t.heads), list(t.labels)) for t in shown[:3]] == trees[:3]
    assert [t.source for t in shown] == ["", "of file 3", "of file 4, 5", ""]
    assert sentence_view(treebank, 0, 2)["source"] == "of file 4, 5"
    does(treebank, 0, "fix", 1, head=2)
    assert [t.source for t in treebank.trees(0, 3)][1:] == ["of file 3", ""]
    does(treebank, 0, "accept", tree=1)
    assert list(treebank.entries[0].step.labels) == trees[1][1]


def test_arcs_that_cross_and_trees_that_cannot_be(opened: Opened) -> None:
    treebank = opened()
    does(treebank, 2, "fix", 5, head=2)
    does(treebank, 2, "fix", 3, head=6)
    found = heads(treebank, 2)
    assert found[4] == 2 and found[2] == 6
    tree = treebank.entries[2].step
    sentence = next(iter(read_conllu(opened.path)))
    sentence.heads = list(tree.heads)
    check_tree(sentence)
    with pytest.raises(Impossible, match="the fixed arcs slept ← bed, bed ← slept"):
        does(treebank, 2, "fix", 6, head=3)
    does(treebank, 2, "fix", 1, head=0)
    with pytest.raises(Impossible, match="the fixed arcs A ← the root, bed ← the root"):
        does(treebank, 2, "fix", 6, head=0)
    does(treebank, 2, "undo")
    with pytest.raises(Impossible, match="not be its own head"):
        does(treebank, 2, "fix", 6, head=6)
    assert treebank.entries[2].at == 2


@pytest.mark.parametrize(
    ("act", "message"),
    [
        ({"kind": "accept", "tree": -1}, "tree: found -1, expected 0 to 99"),
        ({"kind": "undo", "tree": 100}, "tree: found 100"),
        ({"kind": "fix", "word": 8, "head": 6}, "word: found 8, expected 1 to"),
        ({"kind": "cell", "word": 0, "column": "upos"}, "word: found 0"),
        ({"kind": "forbid", "word": 1, "head": -1}, "head: found -1"),
        ({"kind": "fix", "word": 6, "head": 6}, "a word cannot be its own head"),
        ({"kind": "fix", "word": 6, "head": 2, "label": "a\0"}, r"label: found the .* '\\x00'"),
        ({"kind": "fix", "word": 6, "head": 2, "label": "x" * 300_000}, "label: found 300,000 "),
        ({"kind": "cell", "word": 1, "column": "upos", "value": "a b"}, "upos: found the .* ' '"),
        ({"kind": "cell", "word": 1, "column": "feats", "value": "a\tb"}, r"feats: found .* '\\t'"),
        ({"kind": "cell", "word": 1, "column": "lemmas", "value": " a"}, "blanks at its ends"),
        ({"kind": "cell", "word": 1, "column": "lemmas", "value": "a\ud800"}, r"'\\ud800'"),
        ({"kind": "cell", "word": 1, "column": "forms", "value": "a"}, "column: found 'forms'"),
    ],
)
def test_acts_with_impossible_values(opened: Opened, act: dict[str, Any], message: str) -> None:
    treebank = opened()
    with pytest.raises(Impossible, match=message):
        treebank.act(2, Act(revision=0, **act))
    assert not treebank.entries[2].at


def test_probabilities_agree(opened: Opened) -> None:
    treebank = opened()
    for act in (None, (6, 2), (1, 6)):
        if act:
            does(treebank, 2, "fix", act[0], head=act[1])
        view = sentence_view(treebank, 2)
        assert view["sure"] <= min(cell["sure"] for cell in view["cells"]) + 1e-4
        for m, cell in enumerate(view["cells"], start=1):
            options = options_view(treebank, 2, m, 0)
            labels = dict(options["labels"])
            if cell["fixed"]:  # the label is open
                assert cell["sure"] == pytest.approx(labels[cell["label"]], abs=1e-4)
            else:
                product = dict(options["heads"])[cell["head"]] * labels[cell["label"]]
                assert cell["sure"] == pytest.approx(product, abs=1e-4)
            assert sum(labels.values()) == pytest.approx(1)


def test_the_tree_follows_tags(opened: Opened) -> None:
    treebank = opened()
    does(treebank, 2, "cell", 3, column="upos", value="NOUN")
    does(treebank, 2, "cell", 2, column="upos", value="VERB")
    sentence = treebank.tagged(treebank.entries[2])
    assert sentence.upos[1:3] == ["VERB", "NOUN"]
    (tree,) = completer().parser.parse(sentence)
    assert tuple(heads(treebank, 2)) == tree.heads
    does(treebank, 2, "cell", 2, column="feats", value="")
    treebank.save()
    assert "2\tcat\t_\tVERB\t_\t_\t" in opened.text


def test_heads_of_a_file(opened: Opened) -> None:
    treebank = opened()
    view = sentence_view(treebank, 0)  # incomplete: its heads are fixed
    assert view["cells"][2]["named"] and view["cells"][2]["head"] == 0
    assert not view["cells"][0]["fixed"]
    assert view["tokens"] == [[3, 4, "seesit"]] and view["empty"] == [[2, "ghost"]]
    assert view["comments"] == ["# newdoc id = x", "# text = The  dog sees itself"]
    view = sentence_view(treebank, 1)  # complete: a draft
    assert view["rtl"] and not any(cell["fixed"] for cell in view["cells"])
    centres = [float(x) for x in re.findall(r'"bbp-form" x="([\d.]+)"', view["svg"])]
    assert centres == sorted(centres, reverse=True) and len(centres) == 3
    treebank = opened(suggest_only=True)
    assert all(cell["named"] for cell in sentence_view(treebank, 1)["cells"])
    does(treebank, 1, "accept")
    assert sentence_view(treebank, 1)["state"] == "done"


def test_only_what_changes_is_rewritten(opened: Opened) -> None:
    treebank = opened()
    does(treebank, 0, "fix", 1, head=2, label="det")
    treebank.save()
    ours, old = opened.text.split("\n"), TEXT.split("\n")
    assert ours[:2] == old[:2] and ours[5] == old[5] and ours[8:] == old[8:]
    assert ours[2] == "1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\tX=1"
    assert ours[4] == old[4]  # entries of arcs that do not change
    assert ours[6] == old[6]
    does(treebank, 0, "undo")
    treebank.save()
    assert opened.text == TEXT


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_breaks_are_kept(opened: Opened, ending: str) -> None:
    text = TEXT.replace("\n", ending)
    opened.path.write_bytes(text.encode())
    treebank = opened()
    does(treebank, 2, "accept")
    treebank.save()
    ours, old = opened.text.split("\n"), text.split("\n")
    assert ours[:15] == old[:15] and len(ours) == len(old)
    assert all(line.endswith("\t_" + ending[:-1]) for line in ours[16:-1])
    does(treebank, 2, "undo")
    treebank.save()
    assert opened.text == text


def test_the_second_of_two_is_told(opened: Opened) -> None:
    treebank = opened()
    treebank.act(2, Act("fix", 0, 6, 2))
    with pytest.raises(Conflict):
        treebank.act(2, Act("fix", 0, 6, 4))
    assert heads(treebank, 2)[5] == 2
    with pytest.raises(OutputError, match="another bbparse annotate is using"):
        Treebank(opened.path, completer())
    opened.path.write_text(TEXT + "\n", encoding="utf-8")
    treebank.save()
    assert "another program has changed it" in treebank.trouble
    assert opened.text == TEXT + "\n" and not treebank.is_saved
    with pytest.raises(OutputError, match=r"another program has changed it.*; the journal has all"):
        treebank.close()


def test_a_full_disk_stops_saving_until_it_has_room_again(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bbparse.apps.annotate.treebank._RETRY", 0.01)
    failing = "bbparse.apps.annotate.treebank.open_output"
    treebank = opened()
    with monkeypatch.context() as full:
        full.setattr(failing, lambda path: raising(OutputError(f"{path}: the disk is full")))
        treebank.start()
        does(treebank, 2, "fix", 6, head=2)
        wait_for(lambda: bool(treebank.trouble))
        assert "the disk is full" in treebank.trouble and opened.text == TEXT
    wait_for(lambda: treebank.is_saved)  # without another step
    assert not treebank.trouble and opened.text != TEXT
    treebank.close()
    text, treebank = opened.text, opened()
    does(treebank, 2, "undo")
    with monkeypatch.context() as full:
        full.setattr(failing, lambda path: raising(OutputError(f"{path}: the disk is full")))
        with pytest.raises(OutputError, match="the disk is full; the journal has all steps"):
            treebank.close()
    assert opened.text == text
    opened().save()
    assert opened.text == TEXT


def raising(error: Exception) -> Any:
    raise error


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_another_output(opened: Opened, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    treebank = opened(out)
    does(treebank, 2, "accept")
    treebank.save()
    assert opened.text == TEXT and out.read_text() != TEXT
    treebank = opened(out)
    assert sentence_view(treebank, 2)["state"] == "done"
    opened.kill()
    (tmp_path / "out.conllu.journal").unlink()
    with pytest.raises(OutputError, match="exists and has no journal"):
        opened(out)


def test_rules_in_words(opened: Opened) -> None:
    treebank = opened()
    does(treebank, 2, "fix", 1, head=3, label="det")
    does(treebank, 2, "fix", 2, head=1, label="nsubj")
    view = sentence_view(treebank, 2)
    (fault,) = [fault for fault in view["faults"] if 2 in fault["arcs"]]
    assert fault["name"] in row(treebank, 2)["broken"] and fault["says"].endswith(".")
    assert "A -nsubj-> cat" in fault["where"]


def test_trees_of_a_file_that_are_none(opened: Opened) -> None:
    opened.path.write_text(
        "1\tA\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t1\tdep\t_\t_\n\n"
        "1\tA\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t1\tdep\t_\t_\n"
        "3\tx\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n"
    )
    treebank = opened()
    view = sentence_view(treebank, 0, 1)
    assert view["complaint"] and [fault["name"] for fault in view["faults"]] == ["non-tree"]
    does(treebank, 0, "fix", 2, head=0)
    assert heads(treebank, 0) == [2, 0]
    view = sentence_view(treebank, 1)
    assert "no tree" in view["complaint"] and "bbp-arc" in view["svg"]
    assert options_view(treebank, 1, 1, 0) == {"heads": [], "labels": []}
    with pytest.raises(Impossible, match="no tree"):
        does(treebank, 1, "fix", 3, head=1)  # which leads out of nothing
    does(treebank, 1, "release", 2)
    assert not sentence_view(treebank, 1)["complaint"]


def test_lists(opened: Opened) -> None:
    treebank = opened()
    assert rows(treebank, -1)[0]["sure"] is None
    for index in range(3):
        treebank.trees(index, 1)
    known = rows(treebank, -1)
    assert all(0 <= each["least"] <= 1 and each["broken"] is not None for each in known)
    assert [each["index"] for each in rows(treebank, 2)] == [2]
    assert search(treebank, "form", "CAT") == [2]
    assert search(treebank, "relation", "det") == [0, 2]


def test_graphs_follow_the_tree(enhanced: Opened) -> None:
    """DEPS of a sentence that had some become those of the new tree; the page draws new edges."""
    treebank = enhanced()
    arcs = {1: (2, "nsubj"), 2: (0, "root"), 3: (1, "conj")}
    for m, (head, label) in arcs.items():
        does(treebank, 1, "fix", m, head=head, label=label)
    assert sentence_view(treebank, 1)["svg"].count('"bbp-arc theirs"') == 1
    does(treebank, 2, "fix", 1, head=2)
    treebank.save()
    first, second, third = read_conllu(enhanced.path)
    assert {edge[:2] for edge in read_graph(second) if edge.dependent == 3} == {
        *((1, "conj"), (2, "nsubj"))
    }
    assert read_graph(third) == []  # as before
    assert any(edge.dependent == "2.1" for edge in read_graph(first))
    does(treebank, 0, "fix", 1, head=2)
    treebank.save()
    assert {edge.dependent for edge in read_graph(next(read_conllu(enhanced.path)))} == {1, 2, 3, 4}


def test_the_tree_follows_edges_of_the_graph(enhanced: Opened) -> None:
    """It is the first one of all trees whose graph has the edge, and proved."""
    treebank = enhanced()
    views = [sentence_view(treebank, 2, k)["cells"] for k in range(9)]
    graphs = [
        {(h, x, m) for m, cell in enumerate(v, 1) for h, x, _ in cell["edges"]} for v in views
    ]
    rank = next(k for k, graph in enumerate(graphs) if len(graph - graphs[0] - graphs[1]) > 1)
    (head, label, word), other, *_ = sorted(graphs[rank] - graphs[0] - graphs[1])
    does(treebank, 2, "fix-edge", word, head=head, label=label)
    view = sentence_view(treebank, 2)
    assert view["proved"] and (head, label, True) in view["cells"][word - 1]["edges"]
    assert "theirs fixed" in view["svg"] or view["cells"][word - 1]["head"] == head
    best = next(cells for cells, graph in zip(views, graphs) if (head, label, word) in graph)
    assert heads(treebank, 2) == [cell["head"] for cell in best]
    does(treebank, 2, "fix-edge", other[2], head=other[0])
    does(treebank, 2, "release-edge", word, head=head)
    does(treebank, 2, "accept")
    assert treebank.entries[2].step.marks.edges == {(other[0], "", other[2])}
    for act, message in (
        ((1, 7, "ref"), r"no tree that is allowed has the edges .*7 → 1 ref.* in its graph"),
        ((1, 7, "a|b"), r"edge: found '\|', expected a label"),
        ((1, 1, ""), "a word cannot be its own head"),
    ):
        with pytest.raises(Impossible, match=message):
            does(treebank, 2, "fix-edge", act[0], head=act[1], label=act[2])
    does(treebank, 2, "release", 0)
    assert not treebank.entries[2].step.marks.edges and heads(treebank, 2) == [
        cell["head"] for cell in views[0]
    ]


def test_no_edges_without_graphs(opened: Opened) -> None:
    with pytest.raises(Impossible, match="makes no enhanced graphs"):
        does(opened(), 2, "fix-edge", 2, head=6)
