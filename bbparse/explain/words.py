"""Words for numbers, arcs and what a search found: the sentences of the page, as HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bbparse.show.svg import markup

if TYPE_CHECKING:
    from bbparse.explain.explanation import Explanation

__all__ = ["arc_text", "count", "number", "ordinal", "signed", "verdict", "word"]

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def number(value: float, digits: int = 2) -> str:
    """A number with a real minus sign; more digits where it would look like 0."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}"
    if value and not text.strip("-0.,"):
        text = f"{value:.1g}" if abs(value) >= 1e-4 else f"{value:.1e}"
    return text.replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign."""
    return ("+" if value >= 0 else "") + number(value, digits)


def count(n: int, noun: str, *, spell: bool = False) -> str:
    """A number of things, with its noun in the plural where it should be."""
    amount = _SMALL[n] if spell and n < len(_SMALL) else f"{n:,}"
    return f"{amount} {noun}{'s' * (n != 1)}"


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, …"""
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def word(explanation: Explanation, index: int) -> str:
    """A word with its number, or the root; plain text."""
    if index <= 0:
        return "the root" if index == 0 else "—"
    return f"{explanation.sentence.forms[index - 1]} ({index})"


def arc_text(explanation: Explanation, head: int, mod: int) -> str:
    """An arc as text: modifier ← head."""
    return f"{word(explanation, mod)} ← {word(explanation, head)}"


def _em(explanation: Explanation, index: int) -> str:
    return f"<em>“{markup(explanation.sentence.forms[index - 1])}”</em>" if index else "the root"


def changes(explanation: Explanation, k: int) -> str:
    """What tree k (from 0) does differently, in one sentence."""
    changed = explanation.changed(k)
    tree, best = explanation.trees[k], explanation.best
    pieces = [
        f"{_em(explanation, m)} hangs from {_em(explanation, tree.heads[m - 1])}"
        f" instead of {_em(explanation, best.heads[m - 1])}"
        for m in changed[:3]
    ]
    rest = len(changed) - len(pieces)
    text = "; ".join(pieces)
    more = f"; and {count(rest, 'more change', spell=True)}" if rest else ""
    return f"{text}{more}."


def verdict(explanation: Explanation) -> str:
    """Why the best tree is the best, in plain words."""
    e = explanation
    trace = e.trace
    nodes = count(len(trace.nodes), "search node", spell=True)
    calls = count(trace.dp_calls, "dynamic-program call", spell=True)
    if trace.status == "optimal":
        text = (
            f"<strong>No tree scores more than {number(e.best.score, 4)}.</strong> The tree below"
            " scores exactly that, so it is the best of all projective trees over"
            f" {count(e.n_candidates, 'candidate arc')}. Proved after {calls} in {nodes}."
        )
    else:
        limit = "time" if trace.status == "time_limit" else "node"
        text = (
            f"<strong>The search stopped at its {limit} limit.</strong> The best tree found scores"
            f" {number(e.best.score, 4)}; after {calls} in {nodes} all that is proved is that no"
            f" tree scores more than {number(trace.upper, 4)}."
        )
    if len(e.trees) > 1:
        less = number(e.best.score - e.trees[1].score, 4)
        text += (
            f" The runner-up scores {less} less: {changes(e, 1)}"
            if e.best.score > e.trees[1].score
            else f" Another tree scores just as much: {changes(e, 1)}"
        )
    elif trace.status == "optimal" and len(e.trees) < 2:
        only = all(math.isinf(loss.loss) for loss in e.losses)
        if only:
            text += " It is the only tree that these arcs allow."
    return text


def scope(explanation: Explanation) -> str:
    """What the proof does not say."""
    e = explanation
    n = e.sentence.n_words
    every = n * n
    arcs = e.n_candidates
    if arcs == every:
        return "All arcs were candidates, so nothing is left out of the comparison."
    return (
        f"A fast pruner chose {count(arcs, 'candidate')} of the {every:,} arcs that"
        f" {count(n, 'word')} allow; trees with other arcs were not looked at."
    )
