"""Arc diagrams: nothing lies on anything, and no text gets out of its place."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbparse.show.layout import Arc, PlacedArc, label_width, lay_out
from bbparse.show.svg import describe_tree, draw_arcs, draw_svg
from tests.show.trees import projective_heads

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
    projective_heads(), st.sampled_from(["", "x", "nsubj:outer:pass"]),
    st.sampled_from(["a", "wordy", "Donaudampfschiff"]), st.booleans(),
)  # fmt: skip
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


def test_arcs_below_leave_those_above_alone() -> None:
    heads = [2, 0, 2, 5, 2]
    above = arcs_of(heads, "x")
    layout = lay_out(list("abcde"), [*above, Arc(3, 5, "old", below=True)], ["T"] * 5)
    bottom = next(p for p in layout.arcs if p.arc.below)
    assert bottom.top > bottom.foot > layout.baseline
    assert all(p.top < p.foot < layout.baseline for p in layout.arcs if not p.arc.below)


def test_text_is_escaped_and_readable_without_the_image() -> None:
    forms = ["<script>alert(1)</script>", 'a"b\'&', "\x00\x1b"]
    image = draw_svg(forms, [2, 0, 2], ["<b>", "root", "x"], ["&", "]]>", "T"])
    root = ElementTree.fromstring(image)
    assert not list(root.iter(f"{SVG}script"))
    assert [e.text for e in root.iter(f"{SVG}text") if e.get("class") == "bbp-form"] == [
        *forms[:2], r"\x00\x1b",
    ]  # fmt: skip
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and description is not None
    assert f"{title.get('id')} {description.get('id')}" == root.get("aria-labelledby")
    assert (title.text or "").startswith("Dependency tree of: <script>")
    assert "depends on a\"b'& as <b>" in (description.text or "")
    assert draw_svg(forms, [2, 0, 2]) == draw_svg(forms, [2, 0, 2])


def test_two_images_have_different_ids() -> None:
    one, two = (ElementTree.fromstring(draw_svg(forms, [0, 1])) for forms in ("ab", "ac"))
    assert one.get("aria-labelledby") != two.get("aria-labelledby")


def test_every_arc_and_label_is_drawn() -> None:
    image = ElementTree.fromstring(draw_svg(list("abc"), [2, 0, 2], ["x", "root", "_"]))
    groups = [g for g in image.iter(f"{SVG}g")]
    assert sorted(g.get("class") or "" for g in groups) == ["bbp-arc", "bbp-arc", "bbp-arc root"]
    labels = [t.text for g in groups for t in g.iter(f"{SVG}text")]
    assert labels == ["x", "root"]


def test_arcs_of_a_page_can_be_reached_by_keyboard() -> None:
    arcs = [Arc(0, 1, "root", tip='says "<this>"'), Arc(1, 2, "x", "changed")]
    text = draw_arcs(["a", "b"], arcs, title="T", description="D", interactive=True)
    first, second = ElementTree.fromstring(text).iter(f"{SVG}g")
    assert first.get("tabindex") == "0" and first.get("data-tip") == 'says "<this>"'
    assert first.get("aria-label") == first.get("data-tip")
    assert second.get("tabindex") is None and second.get("class") == "bbp-arc changed"


def test_description() -> None:
    assert describe_tree(["She", "slept"], [2, 0], ["nsubj", "root"]) == (
        "She depends on slept as nsubj; slept is the root."
    )
    assert describe_tree([], []) == ""


def test_no_words() -> None:
    ElementTree.fromstring(draw_svg([], []))


def test_bad_trees_are_refused() -> None:
    with pytest.raises(ValueError, match=r"heads\[0\]"):
        draw_svg(["a"], [1])


def test_another_tree_is_drawn_where_it_differs() -> None:
    image = draw_svg(
        list("abc"), [2, 0, 2], ["x", "root", "y"],
        other_heads=[2, 0, 1], other_labels=["z", "root", "y"],
    )  # fmt: skip
    classes = [group.get("class", "") for group in ElementTree.fromstring(image).iter(f"{SVG}g")]
    assert classes.count("bbp-arc mine") == 2  # a's label and c's head differ
    assert classes.count("bbp-arc theirs") == 2
    assert classes.count("bbp-arc root") == 1
    assert "The other tree: a depends on b as z;" in image
    same = draw_svg(list("ab"), [2, 0], other_heads=[2, 0])
    assert 'theirs"' not in same
    with pytest.raises(ValueError, match=r"heads: expected 2 values, found 1"):
        draw_svg(list("ab"), [2, 0], other_heads=[2])


def test_brackets_are_mirrored_where_a_line_runs_to_the_left() -> None:
    for forms, count in ((["ספר", "(", "ישן", ")"], 4), (["book", "(", "ישן", ")"], 0)):
        image = draw_svg(forms, [0, 3, 1, 3])
        assert len(re.findall('class="bbp-form"[^>]* direction="rtl"', image)) == count
