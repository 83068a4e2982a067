"""Trees drawn as text and as pictures, and where their arcs go."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.treebank import read_conllu
from bbparse.treebank.drawing.formats import json_line
from bbparse.treebank.drawing.layout import Arc, PlacedArc, label_width, lay_out, printable
from bbparse.treebank.drawing.svg import draw_svg
from bbparse.treebank.drawing.text import draw_text, wants_colour
from tests.strategies import random_tree


def projective_heads() -> st.SearchStrategy[list[int]]:
    """Heads of a random projective tree with one root."""
    drawn = st.tuples(st.integers(0, 10**6), st.integers(1, 14))
    return drawn.map(lambda drawn: random_tree(np.random.default_rng(drawn[0]), drawn[1])[1:])


@st.composite
def any_heads(draw: st.DrawFn, most: int = 9) -> list[int]:
    """Heads of a random tree, crossing arcs and several roots allowed."""
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for i, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:i]])) if i else 0
    return heads


def test_words_stand_as_their_script_runs() -> None:
    arcs = [Arc(2, 1, "a"), Arc(0, 2, "root"), Arc(2, 3, "b"), Arc(3, 4, "c")]
    for forms, to_the_left in (
        (["one", "two", "three", "."], False),
        (["שלום", "2026", "Israel", "كلمة"], True),
        (["1", "2", "3", "."], False),
    ):
        layout = lay_out(forms, arcs)
        assert (layout.centres == sorted(layout.centres, reverse=to_the_left)) is True
        assert 0.0 < min(layout.centres) and max(layout.centres) < layout.width
        for placed in layout.arcs:
            for place, word in ((placed.start, placed.arc.head), (placed.end, placed.arc.mod)):
                if word:  # arcs end at their words
                    near = [abs(x - place) for x in layout.centres]
                    assert near.index(min(near)) == word - 1


UP = set("│╰├┴┼")
DOWN = set("│╭├┬┼")
ENDS = set("╭╰├┬┴┼")


def heads_in(drawing: str) -> list[int]:
    """The heads that a drawing shows, found by following the lines."""
    rows = drawing.splitlines()
    heads = []
    for i, row in enumerate(rows):
        if "●" in row:
            heads.append(0)
            continue
        assert row.count("►") == 1
        column = row.index("►") - 1
        up, down = row[column] in UP, row[column] in DOWN
        assert up != down, "an arc leaves its modifier in one direction"
        step = -1 if up else 1
        goes_on = UP if up else DOWN
        j = i + step
        while rows[j][column] in goes_on:
            j += step
        assert rows[j][column] in ENDS
        heads.append(j + 1)
    return heads


@given(projective_heads())
def test_a_drawing_shows_its_tree(heads: list[int]) -> None:
    drawing = draw_text(["w"] * len(heads), heads)
    assert heads_in(drawing) == heads
    assert "┼" not in drawing, "nothing crosses in a projective tree"


@given(any_heads())
def test_any_tree_can_be_drawn(heads: list[int]) -> None:
    forms = [f"w{i}" for i in range(len(heads))]
    drawing = draw_text(forms, heads)
    assert [row.split()[-1] for row in drawing.splitlines()] == forms
    assert drawing.count("●") == heads.count(0)


def test_how_it_looks() -> None:
    forms = ["The", "small", "cat", "slept", "behind", "the", "stove", "."]
    heads = [3, 3, 4, 0, 7, 7, 4, 4]
    labels = ["det", "amod", "nsubj", "root", "case", "det", "obl", "punct"]
    tags = ["DET", "ADJ", "NOUN", "VERB", "ADP", "DET", "_", "PUNCT"]
    assert draw_text(forms, heads, labels, tags, changed=[7]) == (
        "    ╭►──── The    DET    det\n"
        "    │   ╭► small  ADJ    amod\n"
        "    ╰─┬►┴─ cat    NOUN   nsubj\n"
        "●─┬─┬─┴─── slept  VERB   root\n"
        "  │ │ ╭►── behind ADP    case\n"
        "  │ │ │ ╭► the    DET    det\n"
        "  │ ╰►┴─┴─ stove         obl *\n"
        "  ╰►────── .      PUNCT  punct\n"
    )
    assert draw_text(["Thanks"], [0], ["root"]) == "●─ Thanks root\n"


def terminal() -> Any:
    return SimpleNamespace(isatty=lambda: True)


def test_what_the_terminal_can(monkeypatch: pytest.MonkeyPatch) -> None:
    closed, file = io.StringIO(), io.StringIO()
    closed.close()
    for term, no_colour, expected in (
        ("xterm", None, True),
        ("xterm", "", True),
        ("xterm", "1", False),
        ("dumb", None, False),
    ):
        monkeypatch.setenv("TERM", term)
        monkeypatch.delenv("NO_COLOR", raising=False)
        if no_colour is not None:
            monkeypatch.setenv("NO_COLOR", no_colour)
        assert wants_colour(terminal()) is expected
        assert not wants_colour(file) and not wants_colour(closed)


SVG = "{http://www.w3.org/2000/svg}"


def arcs_of(heads: list[int], label: str, *, below: bool = False) -> list[Arc]:
    return [Arc(head, m, label, below=below) for m, head in enumerate(heads, 1)]


def crossings(arcs: list[PlacedArc]) -> int:
    """How often an upright line of one arc meets the level line of another."""
    count = 0
    for one in arcs:
        for other in arcs:
            if one is other or not other.arc.head or one.arc.below != other.arc.below:
                continue
            left, right = sorted((other.start, other.end))
            ends = [one.end] if not one.arc.head else [one.start, one.end]
            reach = abs(one.foot - one.top) >= abs(other.foot - other.top)
            count += sum(left <= x <= right and reach for x in ends)
    return count


@given(
    projective_heads(),
    st.sampled_from(["", "x", "nsubj:outer:pass"]),
    st.sampled_from(["a", "wordy", "Donaudampfschiff"]),
    st.booleans(),
)
def test_arcs_and_labels_keep_apart(heads: list[int], label: str, form: str, below: bool) -> None:
    n = len(heads)
    arcs = arcs_of(heads, label, below=below)
    layout = lay_out([form] * n, arcs, ["NOUN"] * n)
    assert crossings(layout.arcs) == 0
    assert all(a < b for a, b in pairwise(layout.centres))
    ports = [x for p in layout.arcs for x in ({p.start, p.end} if p.arc.head else {p.end})]
    assert len(set(ports)) == len(ports), "no two arcs stand on the same port"
    boxes: dict[float, list[tuple[float, float]]] = {}
    for placed in layout.arcs:
        half = label_width(label) / 2.0
        box = (placed.middle - half, placed.middle + half)
        assert 0.0 <= box[0] <= box[1] <= layout.width
        assert 0.0 <= min(placed.top, placed.foot) <= max(placed.top, placed.foot) <= layout.height
        if placed.arc.head:
            left, right = sorted((placed.start, placed.end))
            assert left <= box[0] and box[1] <= right, "a label lies within its arc"
        boxes.setdefault(placed.top, []).append(box)
    for row in boxes.values():
        row.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(row))


def test_text_is_escaped_and_readable_without_the_image() -> None:
    forms = ["<script>alert(1)</script>", "a\"b'&", "\x00\x1b"]
    image = draw_svg(forms, [2, 0, 2], ["<b>", "root", "x"], ["&", "]]>", "T"])
    root = ElementTree.fromstring(image)
    assert not list(root.iter(f"{SVG}script"))
    assert [e.text for e in root.iter(f"{SVG}text") if e.get("class") == "bbp-form"] == [
        *forms[:2],
        r"\x00\x1b",
    ]
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and description is not None
    assert f"{title.get('id')} {description.get('id')}" == root.get("aria-labelledby")
    assert (title.text or "").startswith("Dependency tree of: <script>")
    assert "depends on a\"b'& as <b>" in (description.text or "")
    assert draw_svg(forms, [2, 0, 2]) == draw_svg(forms, [2, 0, 2])


def test_another_tree_is_drawn_where_it_differs() -> None:
    image = draw_svg(
        list("abc"),
        [2, 0, 2],
        ["x", "root", "y"],
        other_heads=[2, 0, 1],
        other_labels=["z", "root", "y"],
    )
    classes = [group.get("class", "") for group in ElementTree.fromstring(image).iter(f"{SVG}g")]
    assert classes.count("bbp-arc mine") == 2  # a's label and c's head differ
    assert classes.count("bbp-arc theirs") == 2
    assert classes.count("bbp-arc root") == 1
    assert "The other tree: a depends on b as z;" in image
    same = draw_svg(list("ab"), [2, 0], other_heads=[2, 0])
    assert 'theirs"' not in same


def test_controls_become_visible() -> None:
    assert printable("plain – ж 語") == "plain – ж 語"
    assert printable("a\x1b[31mb\x07") == r"a\x1b[31mb\x07"
    assert printable("right\u202eleft") == r"right\u202eleft"
    assert printable("\u05d0\u200f \u200e") == "\u05d0\u200f \u200e"
    assert printable("no\u00a0break") == "no\u00a0break"
    assert printable("\ud800") == r"\ud800"


def test_colours_only_where_asked_for() -> None:
    plain = draw_text(["a", "b"], [2, 0], ["x", "root"])
    coloured = draw_text(["a", "b"], [2, 0], ["x", "root"], colour=True, changed=[1])
    assert "\x1b" not in plain
    assert "\x1b[36m" not in coloured  # the only label that is not the root's is marked
    assert "\x1b[1;33mx *\x1b[0m" in coloured and "\x1b[1;32mroot\x1b[0m" in coloured
    assert coloured.count("\x1b[0m") == coloured.count("\x1b[") // 2


def test_words_cannot_control_the_terminal() -> None:
    drawing = draw_text(["\x1b]0;title\x07", "b\u202e"], [2, 0], ["\x1b[2J", "root"])
    assert "\x1b" not in drawing and "\u202e" not in drawing
    assert r"\x1b]0;title\x07" in drawing


@pytest.mark.parametrize(
    ("text", "offsets"), [("a  bc", [[0, 1], [3, 5]]), ("a x bc", None), ("a b", None)]
)
def test_json_has_offsets_where_the_text_fits(text: str, offsets: Any) -> None:
    rows = [f"{i}\t{form}" + "\t_" * 8 for i, form in enumerate(("a", "bc"), 1)]
    (sentence,) = read_conllu(io.StringIO("\n".join([f"# text = {text}", *rows, "", ""])))
    assert json.loads(json_line(sentence, [], "optimal"))["offsets"] == offsets
