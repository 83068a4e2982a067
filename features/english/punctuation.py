"""Punctuation marks that belong together, or to the root."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from bbparse.factors import Arc, FactorFamily, FactorView, Feature, RuleFamily

from .words import MATCHING

__all__ = ["BracketSpans", "Brackets", "FinalStop", "PairedCommas", "Segments"]

Factors = Iterator[tuple[list[Arc], list[Feature]]]

_CLOSERS = frozenset(".!?")
_DASHES = frozenset((",", "-", "--", "–", "—"))


def partner(form: str) -> str:
    """What closes a bracket or quotation mark; "" for other words."""
    return MATCHING.get(form, "")


def pairs(view: FactorView) -> Iterator[tuple[int, int]]:
    """Opening and closing bracket or quotation mark, the nearest partner that is free."""
    taken: set[int] = set()
    for i, form in enumerate(view.forms):
        if partner(form) == "" or i in taken or view.upos[i] != "PUNCT":
            continue
        for j in range(i + 2, view.n_words + 1):
            if view.forms[j] == partner(form) and view.upos[j] == "PUNCT":
                taken.add(j)
                yield i, j
                break


class Brackets(RuleFamily):
    """Brackets and quotation marks of a pair have one head, most often the one inside."""

    name = "brackets"
    summary = "English: a pair of brackets or quotation marks and what it holds"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos = view.upos
        for i, j in pairs(view):
            kind = view.forms[i]
            for h in view.heads_of(i):
                inside = i < h < j
                for k in view.heads_of(j):
                    if h != k:
                        yield [(h, i), (k, j)], [
                            "apart",
                            ("apart", kind),
                            ("apart", inside, i < k < j),
                            ("apart", kind, upos[h], upos[k]),
                        ]
                        continue
                    yield [(h, i), (h, j)], [
                        ("pair", inside),
                        ("pair", kind, inside),
                        ("pair", kind, inside, upos[h]),
                        ("pair", inside, j - i == 2, upos[h]),
                    ]
                    if not inside:
                        continue
                    for g in view.heads_of(h):
                        if g < i or g > j:
                            yield [(g, h), (h, i), (h, j)], [
                                ("under", kind, g < i, upos[g], upos[h]),
                                ("under", g < i, upos[g], g == i - 1),
                            ]


Counts = Iterator[tuple[list[Arc], list[list[Feature]]]]


def arcs_into(view: FactorView, left: int, right: int) -> list[Arc]:
    """Candidate arcs into the words left..right from outside."""
    return [
        (g, x)
        for x in range(left, right + 1)
        for g in view.heads_of(x)
        if not left <= g <= right
    ]


def arcs_out_of(view: FactorView, left: int, right: int) -> list[Arc]:
    """Candidate arcs from the words left..right to others."""
    return [
        (x, y)
        for x in range(left, right + 1)
        for y in view.modifiers_of(x)
        if not left <= y <= right
    ]


class BracketSpans(FactorFamily):
    """What stands in brackets or quotation marks has one head; little outside hangs from it."""

    name = "bracket-spans"
    summary = "English: how many arcs lead into brackets or quotation marks, and out of them"

    def counts(self, view: FactorView) -> Counts:
        """See `FactorFamily.counts`."""
        for i, j in pairs(view):
            kind = view.forms[i]
            ends = (i == 1, j >= view.n_words - 1)
            into = arcs_into(view, i + 1, j - 1)
            out = [arc for arc in arcs_out_of(view, i + 1, j - 1) if arc[1] not in (i, j)]
            for way, arcs in (("in", into), ("out", out)):
                yield arcs, [
                    [(way, k), (way, k, kind), (way, k, kind, ends)] for k in (1, 2, 3)
                ]


class Segments(FactorFamily):
    """A stretch without punctuation marks has mostly one head."""

    name = "segments"
    summary = "English: how many arcs lead into a stretch between punctuation marks"

    def counts(self, view: FactorView) -> Counts:
        """See `FactorFamily.counts`."""
        upos = view.upos
        marks = [0, *(i for i, tag in enumerate(upos) if tag == "PUNCT"), view.n_words + 1]
        if len(marks) == 2:
            return
        lower = [*view.lower, "</s>"]
        for left, right in pairwise(marks):
            if right - left < 3:
                continue
            into = arcs_into(view, left + 1, right - 1)
            size = min((right - left - 1) // 3, 3)
            verb = "VERB" in upos[left + 1 : right]
            yield into, [
                [
                    (k, lower[left], lower[right]),
                    (k, lower[left], upos[left + 1], verb),
                    (k, lower[right], upos[left + 1], size),
                    (k, verb, size),
                ]
                for k in (1, 2, 3)
            ]


class PairedCommas(RuleFamily):
    """A, B, C: what stands between two commas and hangs from a word outside."""

    name = "paired-commas"
    summary = "English: a phrase between two commas or dashes that both hang from it"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos = view.upos
        for i, form in enumerate(view.lower):
            if form not in _DASHES:
                continue
            between = -1
            for j in range(i + 1, view.n_words + 1):
                if view.lower[j] not in _DASHES:
                    continue
                between += 1
                if between == 3:
                    break
                for h in view.heads_of(i):
                    if not view.has_arc(h, j):
                        continue
                    place = "left" if h < i else "inside" if h < j else "right"
                    yield [(h, i), (h, j)], [
                        (place, between),
                        (place, view.lower[i], view.lower[j], upos[h], between),
                    ]
                    if place != "inside":
                        continue
                    for g in view.heads_of(h):
                        if g < i or g > j:
                            yield [(g, h), (h, i), (h, j)], [
                                ("under", g < i, upos[g], upos[h]),
                                ("under", g < i, g == i - 1, upos[h], between),
                            ]


class FinalStop(RuleFamily):
    """The last full stop hangs from the root's modifier."""

    name = "final-stop"
    summary = "English: the final punctuation mark and the root"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        n, upos = view.n_words, view.upos
        last = n
        while last > 1 and view.forms[last] in (")", '"', "''", "'", "”"):
            last -= 1
        if upos[last] != "PUNCT":
            return
        form = view.forms[last]
        kind = form if form in _CLOSERS else "other"
        for x in view.heads_of(last):
            for r in view.modifiers_of(0):
                if r == x:
                    yield [(0, r), (r, last)], [
                        ("root", kind),
                        ("root", kind, upos[r], view.upos[1]),
                        ("root", kind, view.xpos[r], view.lower[1]),
                    ]
                elif r != last:
                    yield [(0, r), (x, last)], [
                        ("apart", kind),
                        ("apart", kind, upos[r], upos[x]),
                        ("apart", kind, r < x),
                    ]
