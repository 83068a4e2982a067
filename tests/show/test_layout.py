"""Heights of arcs, and what text may do to a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given

from bbparse.show.layout import (
    Arc,
    check_tree_columns,
    columns,
    in_english,
    lay_out,
    levels,
    printable,
    text_width,
)
from tests.show.trees import any_heads, projective_heads


def spans_of(heads: list[int]) -> list[tuple[int, int]]:
    return [(min(m, h), max(m, h)) for m, h in enumerate(heads, start=1) if h]


@given(any_heads())
def test_arcs_over_one_place_have_different_heights(heads: list[int]) -> None:
    spans = spans_of(heads)
    for apart in (False, True):
        height = levels(spans, apart=apart)
        for i, (a, b) in enumerate(spans):
            assert height[i] >= 1
            for j, (c, d) in enumerate(spans[:i]):
                if (a <= d and c <= b) if apart else (a < d and c < b):
                    assert height[i] != height[j]


@given(projective_heads())
def test_arcs_of_a_projective_tree_nest(heads: list[int]) -> None:
    spans = spans_of(heads)
    height = levels(spans)
    for (a, b), upper in zip(spans, height):
        inside = [h for (c, d), h in zip(spans, height) if a <= c and d <= b and (c, d) != (a, b)]
        assert upper == 1 + max(inside, default=0)  # no higher than needed


def test_controls_become_visible() -> None:
    assert printable("plain – ж 語") == "plain – ж 語"
    assert printable("a\x1b[31mb\x07") == r"a\x1b[31mb\x07"
    assert printable("right\u202eleft") == r"right\u202eleft"
    assert printable("\u05d0\u200f \u200e") == "\u05d0\u200f \u200e"
    assert printable("no\u00a0break") == "no\u00a0break"
    assert printable("\ud800") == r"\ud800"


def test_widths() -> None:
    assert [columns(text) for text in ("word", "語", "e\u0301", "")] == [4, 2, 1, 0]
    assert text_width("WW", 10) > text_width("nn", 10) > text_width("ii", 10) > 0
    assert text_width("語", 10) == 10.0


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


@pytest.mark.parametrize(
    ("heads", "labels", "message"),
    [
        ([0], [], "heads: expected 2 values, found 1"),
        ([0, 3], [], r"heads\[1\]: expected 0 to 2 and not the word itself, found 3"),
        ([0, 2], [], r"heads\[1\]: expected 0 to 2 and not the word itself, found 2"),
        ([0, 1], ["root"], "labels: expected 2 values, found 1"),
    ],
)
def test_what_cannot_be_drawn(heads: list[int], labels: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_tree_columns(2, heads, labels)


def test_words_in_an_english_text() -> None:
    assert [in_english(form) for form in ("dog", "25", "(", "")] == ["dog", "25", "(", ""]
    assert in_english("ספר") == "ספר\u200e" and in_english("كتاب") == "كتاب\u200e"
