"""The sections of the page, as HTML. Every text that comes from outside goes through `markup`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bbparse.explain.charts import (
    MOST_NODES,
    bound_curve,
    elimination_grid,
    shade,
    stages,
    tree_of_nodes,
)
from bbparse.explain.losses import MAX_MARGINALS, NO_OTHER
from bbparse.explain.terms import PARTS, Term
from bbparse.explain.words import (
    arc_text,
    changes,
    count,
    number,
    ordinal,
    signed,
    word,
)
from bbparse.show.svg import Arc, describe_tree, draw_arcs, markup

if TYPE_CHECKING:
    from bbparse.explain.explanation import Explanation
    from bbparse.explain.losses import ArcLoss

__all__ = ["best_tree", "elimination", "losses", "makeup", "runners_up", "search"]

#: Features and terms that are listed of each, and for sentences of more words than this.
_FEATURES, _TERMS, _TIPS = 6, 12, 8
_LONG, _FEW_FEATURES, _FEW_TERMS = 60, 3, 6
#: Candidate arcs that are drawn as cells, and arcs that are listed of a stage.
_CELLS, _LISTED = 4000, 400


def _box(inner: str, label: str) -> str:
    """A box that scrolls by itself, by keyboard, too."""
    return f'<div class="box" role="region" tabindex="0" aria-label="{markup(label)}">{inner}</div>'


def _loss_text(e: Explanation, loss: ArcLoss) -> str:
    """What happens without an arc, for its tooltip."""
    if loss.method == NO_OTHER:
        return "the only candidate that any tree can use"
    if not loss.heads:
        return "no tree without it was found within the limits"
    size = "" if loss.exact else "at most "
    others = loss.others_changed(e.best.heads)
    more = f", and {count(others, 'other arc')} would change" if others else ""
    return f"without it {size}{number(loss.loss)} lost: {word(e, loss.instead or 0)} instead{more}"


def best_tree(e: Explanation) -> str:
    """The best tree, with how sure each arc is."""
    close = e.close_calls
    arcs = []
    for loss in e.losses:
        label = e.best.labels[loss.mod - 1] if e.best.labels else ""
        kind = "close" if loss.mod in close else "forced" if loss.method == NO_OTHER else ""
        name = f"{arc_text(e, loss.head, loss.mod)}{f', {label}' if label else ''}"
        arcs.append(Arc(loss.head, loss.mod, label, kind, f"{name}: {_loss_text(e, loss)}"))
    image = draw_arcs(
        e.sentence.forms, arcs, e.sentence.upos, title="The best tree",
        description=describe_tree(e.sentence.forms, e.best.heads, e.best.labels),
        interactive=True,
    )  # fmt: skip
    key = []
    if close:
        key.append(
            '<li><i class="rule" style="color:var(--doubt)"></i>close call: its loss is below'
            " a quarter of the median</li>"
        )
    if any(loss.method == NO_OTHER for loss in e.losses):
        key.append(
            '<li><i class="rule" style="color:var(--soft);opacity:.6"></i>the only candidate that'
            " any tree can use</li>"
        )
    shown = f'<ul class="key">{"".join(key)}</ul>' if key else ""
    return f"""<section><h2>The best tree</h2>
<p class="soft">Point at an arc, tap it, or go through the arcs with the Tab key to see what the
tree would lose without it.</p>
{_box(image, "The best tree")}{shown}</section>"""


def runners_up(e: Explanation) -> str:
    """The other trees, and what decides against them."""
    if len(e.trees) < 2:
        return ""
    blocks = []
    for k in range(1, len(e.trees)):
        tree = e.trees[k]
        changed = set(e.changed(k))
        arcs = []
        for m, head in enumerate(tree.heads, start=1):
            label = tree.labels[m - 1] if tree.labels else ""
            tip = f"{arc_text(e, head, m)}: the best tree has {word(e, e.best.heads[m - 1])}"
            other = m in changed
            arcs.append(Arc(head, m, label, "other" if other else "", tip if other else ""))
        for m in sorted(changed):
            label = e.best.labels[m - 1] if e.best.labels else ""
            head = e.best.heads[m - 1]
            tip = f"{arc_text(e, head, m)}: only in the best tree"
            arcs.append(Arc(head, m, label, "gone", tip, below=True))
        image = draw_arcs(
            e.sentence.forms, arcs, e.sentence.upos, title=f"The {ordinal(k + 1)} best tree",
            description=describe_tree(e.sentence.forms, tree.heads, tree.labels),
            interactive=True,
        )  # fmt: skip
        less = e.best.score - tree.score
        proof = "" if tree.proved else " (not proved to be the tree of this rank)"
        title = f"{ordinal(k + 1)} best, {number(less, 4)} less" if less > 0 else "Just as good"
        blocks.append(
            f"<h3>{title}{proof}</h3><p>{changes(e, k)}</p>"
            f"{_box(image, f'The {ordinal(k + 1)} best tree')}"
            f'<details class="more"{" open" if k == 1 else ""}><summary>What tips the balance'
            f"</summary>{_balance(e, k)}</details>"
        )
    return f"""<section><h2>The runners-up</h2>
<p class="soft">Arcs that the best tree does not have stand out; what they replace is drawn dashed
below the words.</p>
<ul class="key"><li><i class="rule" style="color:var(--doubt)"></i>only in this tree</li>
<li><i class="rule" style="border-top-style:dashed"></i>only in the best tree</li></ul>
{"".join(blocks)}</section>"""


def _balance(e: Explanation, k: int) -> str:
    """The features whose weights make the difference between the best tree and tree k."""
    nets = e.feature_balance(k)
    sides = []
    for title, sign in (("For the best tree", 1.0), (f"For the {ordinal(k + 1)}", -1.0)):
        chosen = [(name, sign * net) for name, net in nets if sign * net > 0]
        total = math.fsum(net for _, net in chosen)
        rows = "".join(
            f'<tr><td class="r">{number(net, 3)}</td><td class="wide"><span class="feature">'
            f'{markup(text)}</span><br><span class="soft">{markup(_term_name(kind))}</span></td>'
            "</tr>"
            for (kind, text), net in chosen[:_TIPS]
        )
        rest = chosen[_TIPS:]
        if rest:
            rows += (
                f'<tr><td class="r">{number(math.fsum(net for _, net in rest), 3)}</td>'
                f'<td class="soft">{count(len(rest), "other feature")}</td></tr>'
            )
        sides.append(
            f'<div><h3>{title} <span class="num">{number(total, 3)}</span></h3>'
            f"<table><tbody>{rows}</tbody></table></div>"
        )
    return (
        '<p class="soft">What both trees score cancels out. These features are worth more in one'
        " of the two; they are the whole difference.</p>"
        f'<div class="two">{"".join(sides)}</div>'
    )


def _term_name(kind: str) -> str:
    return PARTS.get(kind, kind)


def _term_words(e: Explanation, term: Term) -> str:
    """The words of a term, as its kind reads them."""
    form = ["root", *e.sentence.forms]
    if term.kind == "arc":
        return f"{form[term.words[0]]} → {form[term.words[1]]}"
    if term.kind in ("gc", "ogc"):
        return " → ".join(form[w] for w in term.words)
    if term.kind in ("sib", "gsib"):
        *above, inner, outer = term.words
        chain = " → ".join(form[w] for w in above if w >= 0)
        beside = f"{form[inner]}, " if inner >= 0 else "nearest: "
        return f"{chain} → {beside}{form[outer]}"
    return ", ".join(f"{form[h]} → {form[m]}" for h, m in term.arcs)


def _features(term: Term, most: int) -> str:
    if not term.features:
        return ""
    shown = "".join(
        f'<br><span class="num {"pro" if f.weight > 0 else "con"}">{signed(f.weight, 3)}</span> '
        f"{markup(f.text)}"
        for f in term.features[:most]
    )
    rest = term.features[most:]
    if rest:
        total = math.fsum(f.weight for f in rest)
        shown += f"<br>{signed(total, 3)} from {count(len(rest), 'other feature')}"
    return f'<span class="feature">{shown.removeprefix("<br>")}</span>'


def _term_table(
    e: Explanation, terms: Iterable[Term], most: int, *, features: int = 2, kinds: bool = True
) -> str:
    """Terms with the largest magnitudes first."""
    ordered = sorted(terms, key=lambda t: (-abs(t.value), t.kind, t.words))
    if not ordered:
        return '<p class="soft">Nothing.</p>'
    rows = []
    for term in ordered[:most]:
        kind = f'<span class="soft">{markup(_term_name(term.kind))}</span><br>' if kinds else ""
        rows.append(
            f'<tr><td class="r">{signed(term.value)}</td><td class="wide">{kind}'
            f"{markup(_term_words(e, term))}<br>{_features(term, features)}</td></tr>"
        )
    rest = ordered[most:]
    if rest:
        total = math.fsum(t.value for t in rest)
        rows.append(
            f'<tr><td class="r">{signed(total)}</td><td class="soft">'
            f"{count(len(rest), 'other term')}</td></tr>"
        )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def losses(e: Explanation) -> str:
    """Arc by arc: what would be lost, what would come instead, and why."""
    finite = [loss.loss for loss in e.losses if math.isfinite(loss.loss)]
    longest = max(finite, default=1.0) or 1.0
    close = e.close_calls
    by_word: dict[int, list[Term]] = defaultdict(list)
    for term in e.terms[0]:
        # a term belongs to the last arc that it needs, which is the one of its modifier
        for _, mod in term.arcs if term.kind not in PARTS else term.arcs[-1:]:
            by_word[mod].append(term)
    rows = []
    for loss in e.losses:
        rows.append(_loss_row(e, loss, longest, loss.mod in close, by_word[loss.mod]))
    how = {loss.method for loss in e.losses}
    if MAX_MARGINALS in how:
        method = "one inside-outside pass over the dynamic program (max-marginals), exactly"
    else:
        method = "solving the sentence anew with the arc forbidden"
        exact = all(loss.exact for loss in e.losses)
        method += ", exactly" if exact else "; where a limit was reached, only bounds are known"
    return f"""<section><h2>What each arc is worth</h2>
<p class="soft">The loss is the score of the best tree less that of the best tree without the arc,
found by {method}. Open a row to see what speaks for the arc.</p>
<div class="rows"><div class="head"><span></span><span>word ← head</span><span>label</span>
<span>lost without it</span><span>instead</span></div>{"".join(rows)}</div></section>"""


def _loss_row(e: Explanation, loss: ArcLoss, longest: float, close: bool, terms: list[Term]) -> str:
    form = markup(e.sentence.forms[loss.mod - 1])
    head = markup(e.sentence.forms[loss.head - 1]) if loss.head else "root"
    label = markup(e.best.labels[loss.mod - 1]) if e.best.labels else ""
    if math.isfinite(loss.loss):
        share = max(0.0, min(1.0, loss.loss / longest))
        amount = ("" if loss.exact else "≤ ") + number(loss.loss)
        bar = (
            f'<i style="width:{72 * share:.1f}%"></i><span class="num">{amount}</span>'
        )  # fmt: skip
        other = markup(word(e, loss.instead or 0))
        more = loss.others_changed(e.best.heads)
        instead = other + (f', <span class="soft">{count(more, "more change")}</span>' * bool(more))
    else:
        bar = '<span class="soft">no tree without it</span>' if loss.exact else "not known"
        instead = '<span class="soft never">—</span>'
    own = math.fsum(t.value for t in terms)
    long = e.sentence.n_words > _LONG
    most, features = (_FEW_TERMS, _FEW_FEATURES) if long else (_TERMS, _FEATURES)
    return (
        f'<details><summary><span class="id num">{loss.mod}</span>'
        f'<span>{form} <span class="from">← {head}</span></span><span class="label">{label}</span>'
        f'<span class="loss bar{" close" * close}">{bar}</span>'
        f'<span class="instead{" other" * bool(loss.heads)}">{instead}</span></summary>'
        '<div class="why">'
        f"<p>What the tree scores for this arc and what it is part of: {signed(own)}.</p>"
        f"{_term_table(e, terms, most, features=features)}</div></details>"
    )


def makeup(e: Explanation) -> str:
    """What the score is made of, by kind."""
    groups: dict[str, list[Term]] = defaultdict(list)
    for term in e.terms[0]:
        groups[term.kind].append(term)
    order = [*PARTS, *e.families, "factor", "count factor"]
    kinds = sorted(groups, key=lambda k: order.index(k) if k in order else len(order))
    totals = {kind: math.fsum(t.value for t in groups[kind]) for kind in kinds}
    longest = max(map(abs, totals.values())) or 1.0
    rows = []
    for kind in kinds:
        terms = groups[kind]
        up = math.fsum(t.value for t in terms if t.value > 0)
        down = math.fsum(t.value for t in terms if t.value < 0)
        both = (
            f"{signed(up) if up else 'nothing'} for,"
            f" {number(down) if down else 'nothing'} against"
        )
        by = "the dynamic program" if kind in PARTS else "factors"
        rows.append(
            f'<details><summary><span class="id num"></span><span>{markup(_term_name(kind))}'
            f'</span><span class="label">{len(terms):,} fired</span>'
            f'<span class="loss bar{" minus" * (totals[kind] < 0)}">'
            f'<i style="width:{60 * abs(totals[kind]) / longest:.1f}%"></i>'
            f'<span class="num">{signed(totals[kind])}</span></span>'
            f'<span class="instead soft num">{both}</span></summary><div class="why">'
            f"<p>Scored by {by}. The weightiest:</p>"
            f"{_term_table(e, terms, _TERMS, features=3, kinds=False)}</div></details>"
        )
    silent = [name for name in e.families if name not in groups]
    note = (
        f'<p class="soft">Families with nothing to say here: {markup(", ".join(silent))}.</p>'
        if silent
        else ""
    )
    total = math.fsum(t.value for t in e.terms[0])
    return f"""<section><h2>What the score is made of</h2>
<p class="soft">Everything that fired in the best tree adds up to {number(total, 4)}. Arcs and parts
are scored by the dynamic program; factors are sets of arcs of any shape, which the search brings in
through bounds. Open a row to see the weightiest of a kind.</p>
<div class="rows">{"".join(rows)}</div>{note}</section>"""


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
</ul>{_box(bound_curve(trace.curve), "Bounds over dynamic-program calls")}"""
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
{_box(tree_of_nodes(e), "Search tree")}"""
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
        _box(elimination_grid(e), "Candidate arcs")
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
{_box(table, "What was left after each call")}</div></div>
{more if e.eliminated else ""}</section>"""


def _listed(e: Explanation, calls: int) -> str:
    """The arcs eliminated after so many calls."""
    gone = sorted((m, h) for (h, m), c in e.eliminated.items() if c == calls)
    title = f"After {count(calls, 'call')}" if calls else "In no tree at all"
    arcs = "; ".join(arc_text(e, h, m) for m, h in gone[:_LISTED])
    rest = len(gone) - _LISTED
    more = f"; and {rest:,} more" if rest > 0 else ""
    return f"<p><b>{title}:</b> {markup(arcs)}{more}.</p>"
