"""Arc diagrams as SVG: for notebooks, files and the pages of `bbparse.apps.explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from html import escape
from importlib.resources import files

from bbparse.treebank.drawing.layout import (
    LABEL_SIZE,
    RADIUS,
    TAG_SIZE,
    Arc,
    PlacedArc,
    label_width,
    printable,
    runs_to_the_left,
)
from bbparse.treebank.drawing.layout import lay_out as _lay_out


@cache
def _style() -> str:
    """Return the style sheet of a diagram in a file of its own, coloured as the reader prefers."""
    return "\n" + (files("bbparse.treebank.drawing") / "arcs.css").read_text("utf-8")


def markup(text: str) -> str:
    """Escape a text for elements and attributes, and remove characters that XML does not allow."""
    return escape(printable(text), quote=True)


def describe_tree(forms: Sequence[str], heads: Sequence[int], labels: Sequence[str] = ()) -> str:
    """Describe a tree in words, for screen readers: each word with its label and its head."""
    parts = []
    for i, head in enumerate(heads):
        label = f" as {labels[i]}" if labels and labels[i] not in ("", "_", "root") else ""
        target = f"depends on {forms[head - 1]}{label}" if head else "is the root"
        parts.append(f"{forms[i]} {target}")
    return "; ".join(parts) + "." if parts else ""


def draw_svg(
    forms: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str] = (),
    tags: Sequence[str] = (),
    *,
    other_heads: Sequence[int] = (),
    other_labels: Sequence[str] = (),
    graph: Sequence[Sequence[tuple[int, str]]] = (),
    title: str = "",
) -> str:
    """Draw a tree as an SVG document.

    Arcs that only the other tree has, or edges that only the graph has, are dashed, below.
    """
    description = describe_tree(forms, heads, labels)
    if other_heads:
        arcs = compared_arcs(tree_arcs(heads, labels), tree_arcs(other_heads, other_labels))
        description += f" The other tree: {describe_tree(forms, other_heads, other_labels)}"
    else:
        arcs = graph_arcs(tree_arcs(heads, labels), graph)
    return draw_arcs(
        forms,
        arcs,
        tags,
        title=title or f"Dependency tree of: {' '.join(forms)}",
        description=description,
        style=_style(),
    )


def tree_arcs(heads: Sequence[int], labels: Sequence[str] = ()) -> list[Arc]:
    """Return the arcs of a tree, in the order of its words."""
    names = ["" if label == "_" else label for label in labels] or [""] * len(heads)
    return [Arc(head, m, name) for m, (head, name) in enumerate(zip(heads, names), start=1)]


def compared_arcs(arcs: Sequence[Arc], others: Sequence[Arc]) -> list[Arc]:
    """Return the arcs of a tree, and below them those that another tree has instead."""
    here, there = ({(arc.head, arc.mod, arc.label) for arc in each} for each in (arcs, others))
    mine = [
        replace(arc, classes="" if (arc.head, arc.mod, arc.label) in there else "mine")
        for arc in arcs
    ]
    theirs = [
        replace(arc, classes="theirs", below=True)
        for arc in others
        if (arc.head, arc.mod, arc.label) not in here
    ]
    return mine + theirs


def graph_arcs(arcs: Sequence[Arc], graph: Sequence[Sequence[tuple[int, str]]]) -> list[Arc]:
    """Return the arcs of a tree, and below them the other edges of its enhanced graph."""
    known = {(arc.head, arc.mod) for arc in arcs}
    edges = [(head, m, label) for m, own in enumerate(graph, start=1) for head, label in own]
    return [*arcs, *(Arc(*x, classes="theirs", below=True) for x in edges if x[:2] not in known)]


def draw_arcs(
    forms: Sequence[str],
    arcs: Sequence[Arc],
    tags: Sequence[str] = (),
    *,
    title: str,
    description: str,
    style: str = "",
) -> str:
    """Draw words, and arcs above and below them, as SVG; `style` is CSS for a file of its own."""
    tags = ["" if tag == "_" else tag for tag in tags]
    layout = _lay_out([printable(form) for form in forms], arcs, tags)
    width, height = round(layout.width), round(layout.height)
    texts = f"{title}\n{description}".encode("utf-8", "replace")
    id_suffix = blake2b(texts, digest_size=5).hexdigest()
    role = f'role="group" aria-label="{markup(title)}" aria-describedby="d{id_suffix}"'
    if style:
        role = f'role="img" aria-labelledby="t{id_suffix} d{id_suffix}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="bbp" {role}'
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    ]
    if style:
        lines.append(f'<title id="t{id_suffix}">{markup(title)}</title>')
    lines.append(f'<desc id="d{id_suffix}">{markup(description)}</desc>')
    if style:
        lines.append(f"<style>{style}</style>")
    # In such a line, brackets are mirrored.
    direction = ' direction="rtl"' if runs_to_the_left(forms) else ""
    for i, (form, x) in enumerate(zip(forms, layout.centres)):
        lines.append(
            f'<text class="bbp-form" x="{x:.1f}" y="{layout.baseline:.1f}"{direction}>'
            f"{markup(form)}</text>"
        )
        if tags and tags[i]:
            y = layout.baseline + TAG_SIZE + 6.0
            lines.append(f'<text class="bbp-tag" x="{x:.1f}" y="{y:.1f}">{markup(tags[i])}</text>')
    # Arcs in reading order, for those who step through them by keyboard.
    for placed in sorted(layout.arcs, key=lambda p: (p.arc.below, p.arc.mod)):
        lines.extend(_arc(placed))
    lines.append("</svg>")
    return "\n".join(lines)


def _arc(placed: PlacedArc) -> list[str]:
    arc, tip = placed.arc, markup(placed.arc.tip)
    classes = " ".join(filter(None, ("bbp-arc", "root" if not arc.head else "", arc.classes)))
    reach = f' tabindex="0" role="img" aria-label="{tip}" data-tip="{tip}" data-mod="{arc.mod}"'
    lines = [f'<g class="{classes}"{reach if tip else ""}>', _path(placed)]
    if arc.label:
        offset = 0.35 * LABEL_SIZE
        if not arc.head:
            offset = LABEL_SIZE if arc.below else -4.0
        lines.append(
            f'<text x="{placed.middle:.1f}" y="{placed.top + offset:.1f}">'
            f"{markup(arc.label)}</text>"
        )
    lines.append("</g>")
    return lines


def _path(placed: PlacedArc) -> str:
    """Return the line of an arc with a gap for its label, its arrow, and a broad target."""
    up = -1.0 if placed.top < placed.foot else 1.0
    foot, top, end = placed.foot, placed.top, placed.end
    tip = foot + up * 1.0
    base = tip + up * 6.0
    arrow = f'<path class="bbp-tip" d="M{end:.1f} {tip:.1f}l-3.4 {6.0 * up:.1f}h6.8z"/>'
    if not placed.arc.head:
        line = f"M{end:.1f} {top:.1f}V{base:.1f}"
        return f'<path d="{line}"/>{_target(placed, line)}{arrow}'
    start = placed.start
    side = 1.0 if end > start else -1.0
    radius = min(RADIUS, abs(end - start) / 2.0)
    turn = top - up * radius
    half = label_width(placed.arc.label) / 2.0
    middle = placed.middle
    first = (
        f"M{start:.1f} {foot:.1f}V{turn:.1f}"
        f"Q{start:.1f} {top:.1f} {start + side * radius:.1f} {top:.1f}"
    )
    last = f"H{end - side * radius:.1f}Q{end:.1f} {top:.1f} {end:.1f} {turn:.1f}V{base:.1f}"
    unbroken = first + last
    if half:
        line = f"{first}H{middle - side * half:.1f}M{middle + side * half:.1f} {top:.1f}{last}"
    else:
        line = unbroken
    return f'<path d="{line}"/>{_target(placed, unbroken)}{arrow}'


def _target(placed: PlacedArc, line: str) -> str:
    return f'<path class="bbp-target" d="{line}"/>' if placed.arc.tip else ""
