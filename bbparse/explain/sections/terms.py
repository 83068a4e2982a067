"""Terms of the score as tables: what fired, and the features that spoke for it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bbparse.explain.terms import PARTS, Term
from bbparse.explain.words import count, signed
from bbparse.show.svg import markup

if TYPE_CHECKING:
    from bbparse.explain.explanation import Explanation


def term_name(kind: str) -> str:
    """What readers call a kind of term; families are called by their names."""
    return PARTS.get(kind, kind)


def term_table(
    e: Explanation, terms: Iterable[Term], most: int, *, features: int = 2, kinds: bool = True
) -> str:
    """Terms with the largest magnitudes first."""
    ordered = sorted(terms, key=lambda t: (-abs(t.value), t.kind, t.words))
    if not ordered:
        return '<p class="soft">Nothing.</p>'
    rows = []
    for term in ordered[:most]:
        kind = f'<span class="soft">{markup(term_name(term.kind))}</span><br>' if kinds else ""
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
