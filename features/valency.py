"""Valency and OR: how many modifiers a word has on each side, of all kinds or of one (QL13 §5.1).

`Valency` counts all modifiers on a side, `ModifiersOfKind` those of one class of tags: whether a
verb has a nominal on its left (an OR of arcs), whether a noun has a second determiner. Both are
count factors, each number of modifiers having features of its own; four and more are one.
"""

from __future__ import annotations

from collections.abc import Sequence

from bbparse.factors import FactorFamily, FactorView

from .english.words import Counts

#: Numbers from here on are one.
MOST = 4

#: Tags that are counted together; each tag is in one class at most.
CLASSES = (
    ("NOUN", "PROPN", "PRON", "NUM"),
    ("VERB",),
    ("AUX",),
    ("ADP",),
    ("DET",),
    ("ADJ",),
    ("ADV",),
    ("CCONJ", "CONJ"),
    ("SCONJ",),
    ("PART",),
    ("PUNCT",),
    ("INTJ", "SYM", "X"),
)

#: Attributes of the head that features read.
_HEAD = ("upos", "xpos", "lexpos", "lemma", "verbform")


def _counted(view: FactorView, kind: str, is_counted: Sequence[bool]) -> Counts:
    """Yield the arcs from each word to the counted words on each side of it."""
    for head in range(1, view.n_words + 1):
        mods = [mod for mod in view.modifiers_of(head) if is_counted[mod]]
        values = [f"head.{name}={view.attribute(head, name)}" for name in _HEAD]
        for side in ("left", "right"):
            arcs = [(head, mod) for mod in mods if (mod < head) == (side == "left")]
            if arcs:
                numbers = [*map(str, range(1, MOST)), f"{MOST} or more"]
                yield (
                    arcs,
                    [
                        [f"{kind}: {number} on the {side}, {value}" for value in values]
                        for number in numbers
                    ],
                )


class Valency(FactorFamily):
    """The number of modifiers that a word has on either side."""

    name = "valency"
    summary = "number of modifiers on each side of a word (QL13 valency)"

    def counts(self, view: FactorView) -> Counts:
        yield from _counted(view, "modifiers", [True] * (view.n_words + 1))


class ModifiersOfKind(FactorFamily):
    """The number of modifiers of one class of tags that a word has on either side."""

    name = "modifiers-of-kind"
    summary = "presence and number of modifiers of one kind on each side (QL13 OR)"

    def counts(self, view: FactorView) -> Counts:
        for tags in CLASSES:
            is_counted = [tag in tags for tag in view.upos]
            if any(is_counted):
                yield from _counted(view, "/".join(tags), is_counted)
