"""Charts of a search as SVG: bounds over calls, the search tree, what was eliminated when.

They use classes and the colours of the page (`bbparse.explain.style`), so that one drawing serves
light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from bbparse.explain.words import arc_text, count, number
from bbparse.show.layout import text_width
from bbparse.show.svg import markup

if TYPE_CHECKING:
    from bbparse.explain.explanation import Explanation
    from bbparse.explain.trace import Point, TracedNode

__all__ = ["bound_curve", "elimination_grid", "shade", "stages", "tree_of_nodes"]

Scale: TypeAlias = "Callable[[float], float]"
"""From a value to a place in the image."""

#: Nodes of a search tree that are drawn.
MOST_NODES = 63


def _svg(width: float, height: float, label: str, body: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="group"'
        f' aria-label="{markup(label)}" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}">\n' + "\n".join(body) + "\n</svg>"
    )


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from low to high, at most so many steps apart."""
    span = high - low
    if span <= 0:
        return [low]
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(times for times in (1.0, 2.0, 5.0, 10.0) if span / (step * times) <= most)
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def bound_curve(curve: list[Point]) -> str:
    """Upper and lower bound on the best score over DP calls."""
    width, height = 660.0, 300.0
    left, right, top, bottom = 74.0, 24.0, 26.0, 44.0
    finite = [v for p in curve for v in (p.upper, p.lower) if math.isfinite(v)]
    low, high = min(finite), max(finite)
    room = (high - low) * 0.08 or abs(high) * 0.01 or 1.0
    low, high = low - room, high + room
    last = max(p.calls for p in curve)

    def x(calls: float) -> float:
        return left + (width - left - right) * calls / last

    def y(value: float) -> float:
        value = min(max(value, low), high)
        return top + (height - top - bottom) * (high - value) / (high - low)

    body = []
    values = ticks(low, high, 5)
    digits = max(0, 1 - math.floor(math.log10(values[1] - values[0]))) if len(values) > 1 else 2
    for value in values:
        body.append(
            f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(value):.1f}"'
            f' y2="{y(value):.1f}"/><text class="tick end" x="{left - 10}"'
            f' y="{y(value) + 4:.1f}">{number(value, min(digits, 4))}</text>'
        )
    for calls in ticks(0, last, 8):
        if calls == int(calls):
            body.append(
                f'<text class="tick" x="{x(calls):.1f}" y="{height - bottom + 20}">'
                f"{int(calls):,}</text>"
            )
    body.append(
        f'<text class="axis" x="{(left + width - right) / 2:.0f}" y="{height - 6}">'
        "dynamic-program calls</text>"
        f'<text class="axis start" x="{left - 64}" y="14">score</text>'
    )
    steps: dict[str, list[str]] = {"upper": [], "lower": []}
    for name, path in steps.items():
        before: float | None = None
        for p in curve:
            value = getattr(p, name)
            if not math.isfinite(value):
                continue
            if before is None:
                path.append(f"M{x(p.calls):.1f} {y(value):.1f}")
            else:
                path.append(f"H{x(p.calls):.1f}V{y(value):.1f}")
            before = value
    both = [p for p in curve if math.isfinite(p.upper) and math.isfinite(p.lower)]
    if len(both) > 1:
        body.append(f'<path class="between" d="{_area(both, x, y)}"/>')
    body.append(f'<path class="upper" d="{"".join(steps["upper"])}"/>')
    body.append(f'<path class="lower" d="{"".join(steps["lower"])}"/>')
    body += _dots(curve, x, y)
    met = curve[-1].upper <= curve[-1].lower
    label = (
        f"Upper and lower bound over {last:,} dynamic-program calls; "
        f"{'they meet at' if met else 'the upper bound ends at'} {number(curve[-1].upper, 4)}"
    )
    return _svg(width, height, label, body)


def _dots(curve: list[Point], x: Scale, y: Scale) -> list[str]:
    """A dot wherever a bound changed, and at the end of both; small ones if there are many."""
    dots = []
    for name, meaning in (("upper", "no tree scores more than"), ("lower", "a tree scores")):
        before = math.nan
        for p in curve:
            value = getattr(p, name)
            if math.isfinite(value) and (value != before or p is curve[-1]):
                tip = f"After {count(p.calls, 'DP call')}: {meaning} {number(value, 4)}"
                dots.append((f'class="{name} dot" cx="{x(p.calls):.1f}" cy="{y(value):.1f}"', tip))
            before = value
    few = len(dots) <= 40
    focus = ' tabindex="0"' if few else ""
    return [
        f'<circle {place} r="{4 if few else 2.4}" role="img" aria-label="{tip}"'
        f' data-tip="{tip}"{focus}/>'
        for place, tip in dots
    ]


def _area(points: list[Point], x: Scale, y: Scale) -> str:
    first = points[0]
    path = f"M{x(first.calls):.1f} {y(first.upper):.1f}"
    for p in points[1:]:
        path += f"H{x(p.calls):.1f}V{y(p.upper):.1f}"
    path += f"V{y(points[-1].lower):.1f}"
    for p, before in zip(reversed(points[1:]), list(reversed(points))[1:]):
        path += f"V{y(p.lower):.1f}V{y(before.lower):.1f}H{x(before.calls):.1f}"
    return path + "Z"


def tree_of_nodes(explanation: Explanation) -> str:
    """The search tree: each node with the arc that it has or has not, its bound and its fate."""
    nodes = explanation.trace.nodes[:MOST_NODES]
    children: dict[int, list[TracedNode]] = {}
    for node in nodes:
        children.setdefault(node.parent, []).append(node)
    names = {node.number: _node_name(explanation, node) for node in nodes}
    box = max(124.0, max(text_width(name, 11.5) for name in names.values()) + 22.0)
    tall, level = 44.0, 82.0
    place = _tidy(nodes[0].number, {k: [c.number for c in v] for k, v in children.items()})
    first = min(place.values())
    across = {n: 4.0 + box / 2.0 + (x - first) * (box + 18.0) for n, x in place.items()}
    width = max(across.values()) + box / 2.0 + 4.0
    height = max(node.depth for node in nodes) * level + tall + 8.0
    body = []
    at = {node.number: node for node in nodes}
    for node in nodes[1:]:
        parent = at[node.parent]
        x1, y1 = across[parent.number], 4.0 + parent.depth * level + tall
        x2, y2 = across[node.number], 4.0 + node.depth * level
        half = (y1 + y2) / 2.0
        body.append(
            f'<path class="edge" d="M{x1:.1f} {y1:.1f}C{x1:.1f} {half:.1f} {x2:.1f}'
            f' {half:.1f} {x2:.1f} {y2:.1f}"/>'
        )
    for node in nodes:
        state, line, story = _fate(explanation, node, node.number in children)
        x, y = across[node.number], 4.0 + node.depth * level
        tip = markup(f"Node {node.number}, {names[node.number]}: {story}")
        body.append(
            f'<g class="node {state}" tabindex="0" role="img" aria-label="{tip}" data-tip="{tip}">'
            f'<rect x="{x - box / 2.0:.1f}" y="{y:.1f}" width="{box:.1f}" height="{tall}" rx="9"/>'
            f'<text class="name" x="{x:.1f}" y="{y + 18:.1f}">{markup(names[node.number])}</text>'
            f'<text x="{x:.1f}" y="{y + 34:.1f}">{line}</text></g>'
        )
    return _svg(width, height, f"Search tree, {count(len(nodes), 'node')}", body)


def _node_name(explanation: Explanation, node: TracedNode) -> str:
    if node.arc is None:
        return "all trees"
    return f"{'with' if node.present else 'without'} {_short(explanation, node.arc)}"


def _fate(explanation: Explanation, node: TracedNode, split: bool) -> tuple[str, str, str]:
    """Class, short and long text of what became of a node."""
    trace = explanation.trace
    first = f"bound {number(node.steps[0].bound, 4)} after its first call"
    if node.closed:
        return "closed", "nothing better", f"{first}; closed, none of its trees beats the best"
    end = f"{first}, {number(node.bound, 4)} in the end"
    bound = f"≤ {number(node.bound)}"
    if split or node.branched is not None:
        return "split", bound, f"{end}; split in two"
    if node.bound <= trace.lower or trace.upper <= trace.lower:
        return "closed", f"{bound}, not needed", f"{end}, which a tree found later beats"
    return "open", f"{bound}, open", f"{end}; still open when the search stopped"


def _tidy(root: int, children: dict[int, list[int]]) -> dict[int, float]:
    """Places of nodes from left to right, subtrees as close as they go (Reingold & Tilford 1981).

    Two nodes of one depth are at least 1 apart, and parents are over the middle of their children.
    """
    shift: dict[int, float] = {}

    def contours(node: int) -> tuple[list[float], list[float]]:
        """Left and right edge of a subtree at each depth, its root at 0."""
        left: list[float] = []
        right: list[float] = []
        places: list[float] = []
        for child in children.get(node, []):
            inner_left, inner_right = contours(child)
            apart = max((r - a + 1.0 for r, a in zip(right, inner_left)), default=0.0)
            places.append(apart)
            moved_left = [a + apart for a in inner_left]
            moved_right = [r + apart for r in inner_right]
            left = left + moved_left[len(left) :]
            right = moved_right + right[len(moved_right) :]
        middle = (places[0] + places[-1]) / 2.0 if places else 0.0
        for child, x in zip(children.get(node, []), places):
            shift[child] = x - middle
        return [0.0, *(a - middle for a in left)], [0.0, *(r - middle for r in right)]

    contours(root)
    place = {root: 0.0}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for child in children.get(node, []):
            place[child] = place[node] + shift[child]
            waiting.append(child)
    return place


def _short(explanation: Explanation, arc: tuple[int, int]) -> str:
    """An arc in a few letters."""
    names = ["root" if w == 0 else explanation.sentence.forms[w - 1] for w in arc]
    names = [name if len(name) <= 9 else name[:8] + "…" for name in names]
    return f"{names[1]} ← {names[0]}"


def stages(explanation: Explanation) -> list[int]:
    """DP calls after which arcs were eliminated, ascending; 0 stands for presolve."""
    return sorted(set(explanation.eliminated.values()))


def shade(when: list[int], calls: int) -> int:
    """Shade 0 to 5 of a stage: the later, the darker."""
    if calls == 0:
        return 0
    later = [c for c in when if c]
    return 1 + round(4.0 * (later.index(calls) + 1) / (len(later) + 1))


def elimination_grid(explanation: Explanation) -> str:
    """A cell for each arc: when it was eliminated, or that it is in the best tree."""
    e = explanation
    n = e.sentence.n_words
    size = 15.0 if n <= 25 else 13.0
    forms = ["root", *e.sentence.forms]
    shown = [form if len(form) <= 14 else form[:13] + "…" for form in forms]
    left = max(text_width(form, 11.0) for form in shown) + 14.0
    top = max(text_width(form, 11.0) for form in shown[1:]) + 14.0
    width, height = left + n * size + 8.0, top + (n + 1) * size + 8.0
    body = [
        f'<rect class="field" x="{left}" y="{top}" width="{n * size}"'
        f' height="{(n + 1) * size}"/>'
    ]
    for h, form in enumerate(shown):
        body.append(
            f'<text class="tick end" x="{left - 7:.1f}" y="{top + (h + 0.75) * size:.1f}">'
            f"{markup(form)}</text>"
        )
    for m, form in enumerate(shown[1:]):
        x = left + (m + 0.72) * size
        body.append(
            f'<text class="tick start" transform="translate({x:.1f} {top - 7:.1f})'
            f' rotate(-90)">{markup(form)}</text>'
        )
    when, gone = stages(e), e.eliminated
    best = {(head, m) for m, head in enumerate(e.best.heads, start=1)}
    for head, mod in sorted(set(zip(e.problem.arc_head.tolist(), e.problem.arc_mod.tolist()))):
        arc = (head, mod)
        if arc in best:
            kind, story = "kept", "in the best tree"
        elif arc in gone:
            calls = gone[arc]
            kind = f"s{shade(when, calls)}"
            story = f"eliminated after {calls:,} DP calls" if calls else "in no tree at all"
        else:
            kind, story = "alive", "never eliminated: settled by listing or branching"
        tip = markup(f"{arc_text(e, head, mod)}: {story}")
        x, y = left + (mod - 1) * size, top + head * size
        body.append(
            f'<rect class="cell {kind}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{size - 2}"'
            f' height="{size - 2}" rx="2" data-tip="{tip}"><title>{tip}</title></rect>'
        )
    label = f"Candidate arcs of {n} words: heads down, modifiers across"
    return _svg(width, height, label, body)
