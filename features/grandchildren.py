"""Grandchildren and great-grandchildren: chains of two and of three arcs (QL13 §4.3).

Chains of two are what a grandchild or grand-sibling backbone scores by itself; as factors they are
for the backbones that do not, and for their templates. Of the chains, those are proposed that some
projective tree holds.
"""

from __future__ import annotations

from bbparse.factors import TemplateFamily

from .enumerate import chains_of_three, chains_of_two

__all__ = ["AllGrandchildren", "GreatGrandchildren"]


class AllGrandchildren(TemplateFamily):
    """All chains g → h → m."""

    name = "grandchildren"
    summary = "all chains of two arcs (QL13 all grandchildren)"
    roles = (("g", 0, "head"), ("h", 0, "mod"), ("m", 1, "mod"))
    gate = "g.upos h.upos m.upos"
    templates = (
        "",
        "distance",
        "g.xpos h.xpos m.xpos",
        "g.lexpos h.lexpos m.lexpos",
        "g.lexpos h.lexpos m.lexpos distance",
        "g.lemma",
        "h.lemma",
        "m.lemma",
        "h.lemma m.lexpos",
        "g.lemma m.lexpos",
        "g.lemma m.lemma",
        "g.verbform h.verbform h.case m.case",
    )
    n_orders = 4
    n_distances = 16
    kernel = staticmethod(chains_of_two)


class GreatGrandchildren(TemplateFamily):
    """All chains a → b → c → d."""

    name = "great-grandchildren"
    summary = "all chains of three arcs (QL13 all great-grandchildren)"
    roles = (("a", 0, "head"), ("b", 0, "mod"), ("c", 1, "mod"), ("d", 2, "mod"))
    gate = "a.upos b.upos c.upos d.upos"
    templates = (
        "",
        "distance",
        "a.xpos b.xpos c.xpos d.xpos",
        "a.lexpos b.lexpos c.lexpos d.lexpos",
        "a.lemma d.lexpos",
        "b.lemma d.lexpos",
        "c.lemma d.lexpos",
        "d.lemma",
    )
    n_orders = 8
    n_distances = 27
    kernel = staticmethod(chains_of_three)
