"""Nephews: a word, its sibling, and a modifier of the word.

What a grand-sibling backbone cannot see: of a head's two modifiers, what hangs from one while the
other is there. In "eats pizza with a fork" the choice of *with* lies in the four words eats →
pizza, eats → fork, fork → with; conjuncts that both have a preposition, or a verb's clause with its
marker beside another clause, have this shape too.
"""

from __future__ import annotations

from bbparse.factors import TemplateFamily

from .enumerate import nephews

__all__ = ["Nephews"]


class Nephews(TemplateFamily):
    """All sets h → s, h → m, m → c."""

    name = "nephews"
    summary = "two modifiers of a head and a modifier of one of them"
    roles = (("h", 0, "head"), ("s", 0, "mod"), ("m", 1, "mod"), ("c", 2, "mod"))
    gate = "h.upos s.upos m.upos c.upos"
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
    n_orders = 16
    n_distances = 4
    kernel = staticmethod(nephews)
