"""What each arc is worth, and what the score of the best tree is made of."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from bbparse.explain.losses import MAX_MARGINALS
from bbparse.explain.sections.terms import term_name, term_table
from bbparse.explain.terms import PARTS, Term
from bbparse.explain.words import count, number, signed, word
from bbparse.show.svg import markup

if TYPE_CHECKING:
    from bbparse.explain.explanation import Explanation
    from bbparse.explain.losses import ArcLoss

#: Features and terms that are listed of each, and for sentences of more words than this.
_FEATURES, _TERMS = 6, 12
_LONG, _FEW_FEATURES, _FEW_TERMS = 60, 3, 6


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
        f"{term_table(e, terms, most, features=features)}</div></details>"
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
            f'<details><summary><span class="id num"></span><span>{markup(term_name(kind))}'
            f'</span><span class="label">{len(terms):,} fired</span>'
            f'<span class="loss bar{" minus" * (totals[kind] < 0)}">'
            f'<i style="width:{60 * abs(totals[kind]) / longest:.1f}%"></i>'
            f'<span class="num">{signed(totals[kind])}</span></span>'
            f'<span class="instead soft num">{both}</span></summary><div class="why">'
            f"<p>Scored by {by}. The weightiest:</p>"
            f"{term_table(e, terms, _TERMS, features=3, kinds=False)}</div></details>"
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
