"""How the search proved the best tree, and what it eliminated on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bbparse.explain.charts import (
    MOST_NODES,
    bound_curve,
    elimination_grid,
    shade,
    stages,
    tree_of_nodes,
)
from bbparse.explain.sections.boxes import box
from bbparse.explain.words import arc_text, count, number
from bbparse.show.svg import markup

if TYPE_CHECKING:
    from bbparse.explain.explanation import Explanation

#: Candidate arcs that are drawn as cells, and arcs that are listed of a stage.
_CELLS, _LISTED = 4000, 400


def search(e: Explanation) -> str:
    """The bounds over the calls, and the search tree."""
    trace = e.trace
    nodes = len(trace.nodes)
    if not trace.nodes:
        return ""
    first = trace.nodes[0]
    if len(trace.curve) > 1:
        start = trace.curve[0]
        begin = "the first call" if start.calls == 1 else count(start.calls, "call")
        curve = f"""<p>After {begin} no tree could score more than
<span class="num">{number(start.upper, 4)}</span>, and the best one known scored
<span class="num">{number(start.lower, 4)}</span>. {_ending(e)}</p>
<ul class="key"><li><i class="rule" style="color:var(--upper)"></i>upper bound: no tree scores
more</li><li><i class="rule" style="color:var(--lower)"></i>lower bound: the best tree so far</li>
</ul>{box(bound_curve(trace.curve), "Bounds over dynamic-program calls")}"""
    else:
        curve = """<p>The first bound settled it: the best tree of the dynamic program scores as
much as its bound, so there was nothing left to search.</p>"""
    if nodes == 1:
        tree = (
            "<p>The search ended at its first node, which holds all trees: no arc had to be"
            " branched on.</p>"
            if first.closed
            else "<p>The search stopped after its first node, which holds all trees.</p>"
        )
    else:
        shown = f" The first {MOST_NODES} of them are drawn." if nodes > MOST_NODES else ""
        tree = f"""<h3>The search tree</h3><p>Where the bounds of a node would not meet, its trees
were split into those with an arc and those without it: {count(nodes, "node")} in all.{shown}</p>
{box(tree_of_nodes(e), "Search tree")}"""
    return f"<section><h2>How it was proved</h2>{curve}{tree}</section>"


def _ending(e: Explanation) -> str:
    trace = e.trace
    if trace.upper <= trace.lower:
        return f"After {count(trace.dp_calls, 'call')} the two met, which is the proof."
    return (
        f"When the search stopped after {count(trace.dp_calls, 'call')},"
        f' <span class="num">{number(trace.upper - trace.lower, 4)}</span> were left between them.'
    )


def elimination(e: Explanation) -> str:
    """What was eliminated and when."""
    trace = e.trace
    if not trace.nodes:
        return ""
    when = stages(e)
    rows = [
        f'<tr><td>before the search</td><td class="r">{trace.candidates:,}</td>'
        f'<td class="r">{trace.edges:,}</td><td class="r">{trace.factors:,}</td></tr>'
    ]
    before = (trace.candidates, trace.edges, trace.factors)
    for step in trace.nodes[0].steps:
        now = (step.arcs, step.edges, step.factors)
        if now == before:
            continue
        before = now
        rows.append(
            f"<tr><td>after {count(step.calls, 'call')}</td>"
            + "".join(f'<td class="r">{value:,}</td>' for value in now)
            + "</tr>"
        )
    key = []
    for calls in when:
        n = sum(c == calls for c in e.eliminated.values())
        text = f"after {count(calls, 'call')}" if calls else "in no tree"
        key.append(f'<li><i class="s{shade(when, calls)}"></i>{text}: {count(n, "arc")}</li>')
    alive = trace.left - {(h, m) for m, h in enumerate(e.best.heads, start=1)}
    if alive:
        key.append(f'<li><i class="alive"></i>never: {count(len(alive), "arc")}</li>')
    key.append(f'<li><i class="kept"></i>in the best tree: {count(len(e.losses), "arc")}</li>')
    lists = "".join(_listed(e, calls) for calls in when)
    table = f"""<table><thead><tr><th>at the first node</th><th class="r">arcs</th>
<th class="r">hyperedges</th><th class="r">factors</th></tr></thead>
<tbody>{"".join(rows)}</tbody></table>"""
    grid = (
        box(elimination_grid(e), "Candidate arcs")
        if e.n_candidates <= _CELLS
        else f"<p>The {e.n_candidates:,} candidate arcs are too many to draw.</p>"
    )
    more = f'<details class="more"><summary>The arcs as a list</summary>{lists}</details>'
    return f"""<section><h2>What was eliminated, and when</h2>
<p class="soft">Each call bounds, for every arc at once, the best tree that has it. An arc whose
bound lies below a tree already found is in no better tree: it goes, and with it every part and
factor that needs it. A cell is a candidate arc, its head to the left and its modifier above.</p>
<div class="two uneven"><div>{grid}
<ul class="key">{"".join(key)}</ul></div><div>
{box(table, "What was left after each call")}</div></div>
{more if e.eliminated else ""}</section>"""


def _listed(e: Explanation, calls: int) -> str:
    """The arcs eliminated after so many calls."""
    gone = sorted((m, h) for (h, m), c in e.eliminated.items() if c == calls)
    title = f"After {count(calls, 'call')}" if calls else "In no tree at all"
    arcs = "; ".join(arc_text(e, h, m) for m, h in gone[:_LISTED])
    rest = len(gone) - _LISTED
    more = f"; and {rest:,} more" if rest > 0 else ""
    return f"<p><b>{title}:</b> {markup(arcs)}{more}.</p>"
