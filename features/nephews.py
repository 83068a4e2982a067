"""Nephews: a word, its sibling, and a modifier of the word.

What a grand-sibling backbone cannot see: of a head's two modifiers, what hangs from one while the
other is there. In "eats pizza with a fork" the choice of *with* lies in the four words eats →
pizza, eats → fork, fork → with; conjuncts that both have a preposition, or a verb's clause with its
marker beside another clause, have this shape too.
"""

from __future__ import annotations

from typing import ClassVar

from bbparse.factors import TemplateFamily


class Nephews(TemplateFamily):
    """All sets h → s, h → m, m → c."""

    name = "nephews"
    summary = "two modifiers of a head and a modifier of one of them"
    arcs = ("h s", "h m", "m c")
    common = "h.upos s.upos m.upos c.upos"
    templates = (
        "",
        "distance",
        "h.xpos s.xpos m.xpos c.xpos",
        "s.lexpos m.lexpos c.lexpos",
        "h.lexpos s.lexpos m.lexpos c.lexpos",
        "s.lexpos c.lexpos distance",
        "h.lemma c.lexpos",
        "s.lemma c.lexpos",
        "m.lemma c.lexpos",
        "h.lemma s.lexpos c.lexpos",
        "h.verbform m.verbform s.lexpos c.lexpos",
    )
    order: ClassVar = {"h s": 8, "h m": 4, "m c": 2, "s m": 1}
    distance: ClassVar = {"s m": (2, 3, 7)}
