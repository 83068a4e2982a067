"""Families that speak of labels: what goes together among the modifiers of a word, and below it.

They are for parsers in which the best labels of every candidate arc are arcs of their own
(``[labels] mode = "arcs"``). Labels are those of Universal Dependencies; subtypes (``nsubj:pass``)
are told apart in some features and not in others.
"""

from __future__ import annotations

from collections.abc import Iterator

from bbparse.factors import Feature, LabelledArc, LabelledFamily, LabelledView

__all__ = ["FunctionWords", "LabelPairs"]

#: Relations that a predicate has once, or whose number says something about its other modifiers.
CORE = frozenset(
    ("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp", "expl", "cop", "det", "case", "mark")
)
#: Relations of words that have no modifiers, or next to none.
FUNCTION = frozenset(("case", "mark", "cc", "det", "aux", "cop", "punct", "clf", "discourse"))


def _main(label: str) -> str:
    """The label without its subtype."""
    return label.partition(":")[0]


class LabelPairs(LabelledFamily):
    """Two modifiers of one word with relations that a word has once: "at most one nsubj"."""

    name = "label-pairs"
    summary = "two modifiers of one head with core labels: at most one subject, and the like"

    def labelled_factors(
        self, view: LabelledView
    ) -> Iterator[tuple[list[LabelledArc], list[Feature]]]:
        """See `LabelledFamily.labelled_factors`."""
        for head in range(view.n_words + 1):
            arcs = [
                (head, mod, label)
                for mod in view.modifiers_of(head)
                for label in view.labels_of(head, mod)
                if _main(label) in CORE
            ]
            for i, first in enumerate(arcs):
                for second in arcs[i + 1 :]:
                    if first[1] == second[1]:
                        continue
                    pair = (_main(first[2]), _main(second[2]))
                    side = "across" if first[1] < head < second[1] else "beside"
                    features: list[Feature] = [
                        pair, (pair, side), (pair, view.upos[head]), (first[2], second[2]),
                        (pair, view.upos[first[1]], view.upos[second[1]]),
                    ]  # fmt: skip
                    if pair[0] == pair[1]:
                        features.append("twice")
                    yield [first, second], features


class FunctionWords(LabelledFamily):
    """A function word with a modifier of its own: "a case marker has no modifiers"."""

    name = "function-words"
    summary = "a case marker, determiner, … with a modifier of its own"

    def labelled_factors(
        self, view: LabelledView
    ) -> Iterator[tuple[list[LabelledArc], list[Feature]]]:
        """See `LabelledFamily.labelled_factors`."""
        for word in range(1, view.n_words + 1):
            below = view.modifiers_of(word)
            if not below:
                continue
            above = [
                (head, word, label)
                for head in view.heads_of(word)
                for label in view.labels_of(head, word)
                if _main(label) in FUNCTION
            ]
            for arc in above:
                for mod in below:
                    if mod == arc[0]:
                        continue
                    for label in view.labels_of(word, mod):
                        own = _main(arc[2])
                        yield [arc, (word, mod, label)], [
                            own, (own, _main(label)), (own, _main(label), view.lower[word]),
                            (own, view.upos[word], view.upos[mod]),
                        ]  # fmt: skip
