"""Drawings for terminals can be read back: by a program, and so by people."""

from __future__ import annotations

import io

import pytest
from hypothesis import given

from bbparse.show.text import draw_text, wants_ascii, wants_colour
from tests.show.trees import any_heads, projective_heads

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
    plain = draw_text(forms, heads, ascii_only=True)
    assert plain.isascii()
    assert list(map(len, plain.splitlines())) == list(map(len, drawing.splitlines()))


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
    assert draw_text(["a", "b"], [2, 0], ascii_only=True) == "  +> a\n*-+- b\n"


def test_columns_line_up_under_wide_characters() -> None:
    rows = draw_text(["語", "ab", "e\u0301e"], [2, 0, 2], ["x", "y", "z"]).splitlines()
    assert rows[0].endswith("語 x") and rows[1].endswith("ab y") and rows[2].endswith("e\u0301e z")


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


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return True


def test_what_the_terminal_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert wants_colour(Terminal()) and not wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "")
    assert wants_colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_colour(Terminal())
    assert wants_ascii(Terminal("ascii")) and wants_ascii(Terminal("latin-1"))
    assert not wants_ascii(Terminal()) and not wants_ascii(io.StringIO())
    closed = Terminal()
    closed.close()
    assert not wants_ascii(closed)
