"""Grandchildren and great-grandchildren: chains of two and of three arcs (QL13 §4.3).

Chains of two are what a grandchild or grand-sibling backbone scores by itself; as factors they are
for the backbones that do not, and for their templates. Of the chains, those are proposed that some
projective tree holds.
"""

from __future__ import annotations

from typing import ClassVar

from bbparse.factors import TemplateFamily


class AllGrandchildren(TemplateFamily):
    """All chains g → h → m."""

    name = "grandchildren"
    summary = "all chains of two arcs (QL13 all grandchildren)"
    arcs = ("g h", "h m")
    common = "g.upos h.upos m.upos"
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
    order: ClassVar = {"g h": 2, "h m": 1}
    distance: ClassVar = {"g h": (2, 3, 7), "h m": (2, 3, 7)}


class GreatGrandchildren(TemplateFamily):
    """All chains a → b → c → d."""

    name = "great-grandchildren"
    summary = "all chains of three arcs (QL13 all great-grandchildren)"
    arcs = ("a b", "b c", "c d")
    common = "a.upos b.upos c.upos d.upos"
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
    order: ClassVar = {"a b": 4, "b c": 2, "c d": 1}
    distance: ClassVar = {"a b": (2, 5), "b c": (2, 5), "c d": (2, 5)}
