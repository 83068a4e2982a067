"""Siblings: pairs and triples of modifiers of one head, on both sides, adjacent or not.

QL13 §4.3, "all siblings" and "all tri-siblings" (figure 2). The pairs are what helped English
most there: brackets or quotation marks that belong together are siblings, and their head may lie
between them, where no adjacent-sibling part reaches.

All pairs are proposed, those that a backbone may also score as adjacent siblings among them:
whether two siblings are adjacent depends on the tree, and a factor is a set of arcs whatever the
rest of the tree is. The backbone then learns what adjacency adds.
"""

from __future__ import annotations

from typing import ClassVar

from bbparse.factors import TemplateFamily

#: Lower limits of the classes of distances after 1: 2, 3, 4, 5-7, 8-12, more.
LENGTHS = (2, 3, 4, 5, 8, 13)


class AllSiblings(TemplateFamily):
    """All pairs of arcs with a common head."""

    name = "siblings"
    summary = "all pairs of arcs with one head, on both sides (QL13 all siblings)"
    arcs = ("h m1", "h m2")
    common = "m1.upos m2.upos"
    templates = (
        "",
        "h.upos",
        "h.upos distance",
        "h.xpos m1.xpos m2.xpos",
        "h.upos m1.lexpos m2.lexpos",
        "h.upos m1.case m1.verbform m2.case m2.verbform",
        "m1.lower m2.lower",
        "h.lemma",
        "h.upos m1.lemma",
        "h.upos m2.lemma",
        "h.lemma m1.lexpos m2.lexpos",
        "h.upos m1.lexpos m1-1.lexpos m2.lexpos m2-1.lexpos",
    )
    order: ClassVar = {"m1 h": 1, "m2 h": 1}
    distance: ClassVar = {"m1 m2": LENGTHS}


class SiblingLabels(TemplateFamily):
    """All pairs of arcs with a common head, by the labels that the network would give them.

    A verb takes one subject, and conjuncts that another conjunct separates have still the head of
    the first: adjacent parts see neither. The network's label is known before there is a tree.
    """

    name = "sibling-labels"
    summary = "all pairs of arcs with one head, by their likely labels"
    arcs = ("h m1", "h m2")
    templates = (
        "@m1 @m2",
        "@m1 @m2 distance",
        "@m1 @m2 h.upos",
        "@m1 @m2 h.xpos",
        "@m1 @m2 h.lemma",
        "@m1 @m2 h.verbform m1.upos m2.upos",
        "@m1 @m2 m1.lexpos m2.lexpos",
        "@m1 m2.lemma",
        "@m2 m1.lemma",
    )
    order: ClassVar = {"m1 h": 1, "m2 h": 1}
    distance: ClassVar = {"m1 m2": LENGTHS}


class TriSiblings(TemplateFamily):
    """All triples of arcs with a common head."""

    name = "tri-siblings"
    summary = "all triples of arcs with one head (QL13 all tri-siblings)"
    arcs = ("h m1", "h m2", "h m3")
    common = "h.upos m1.upos m2.upos m3.upos"
    templates = (
        "",
        "distance",
        "h.xpos m1.xpos m2.xpos m3.xpos",
        "m1.lexpos m2.lexpos m3.lexpos",
        "h.lexpos m1.lexpos m2.lexpos m3.lexpos",
        "h.lemma",
        "m1.lower m3.lower",
        "m2.lemma",
    )
    order: ClassVar = {"m1 h": 1, "m2 h": 1, "m3 h": 1}
    distance: ClassVar = {"m1 m3": LENGTHS}
