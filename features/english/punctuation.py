"""Punctuation marks that belong together, or to the root."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from bbparse.factors import Arc, FactorFamily, FactorView

from .words import MATCHING, Counts, Proposed, words_with

_CLOSERS = frozenset(".!?")
_QUOTES = frozenset((")", '"', "''", "'", "”"))
_DASHES = frozenset((",", "-", "--", "–", "—"))


def pairs(view: FactorView) -> Iterator[tuple[int, int]]:
    """Return opening and closing brackets or quotation marks, the nearest free partners."""
    forms, upos = view.sentence.forms, view.sentence.upos
    if MATCHING.keys().isdisjoint(forms):
        return
    taken: set[int] = set()
    for i, form in enumerate(forms):
        if form not in MATCHING or i in taken or upos[i] != "PUNCT":
            continue
        for j in range(i + 2, len(forms)):
            if forms[j] == MATCHING[form] and upos[j] == "PUNCT":
                taken.add(j)
                yield i + 1, j + 1
                break


class Brackets(FactorFamily):
    """Brackets and quotation marks of a pair have one head, most often the one inside."""

    name = "brackets"
    summary = "English: a pair of brackets or quotation marks and its content"

    def factors(self, view: FactorView) -> Proposed:
        for i, j in pairs(view):
            form, upos = view.forms[i], view.upos
            for h in view.heads_of(i):
                inside = i < h < j
                for k in view.heads_of(j):
                    if h != k:
                        yield (
                            [(h, i), (k, j)],
                            [
                                "apart",
                                ("apart", form),
                                ("apart", inside, i < k < j),
                                ("apart", form, upos[h], upos[k]),
                            ],
                        )
                if not view.has_arc(h, j):
                    continue
                yield (
                    [(h, i), (h, j)],
                    [
                        ("pair", inside),
                        ("pair", form, inside),
                        ("pair", form, inside, upos[h]),
                        ("pair", inside, j - i == 2, upos[h]),
                    ],
                )
                for g in view.heads_of(h) if inside else ():
                    if not i <= g <= j:
                        yield (
                            [(g, h), (h, i), (h, j)],
                            [
                                ("under", form, g < i, upos[g], upos[h]),
                                ("under", g < i, upos[g], g == i - 1),
                            ],
                        )


def arcs_into(view: FactorView, left: int, right: int) -> list[Arc]:
    """Candidate arcs into the words left..right from outside."""
    return [
        (g, x) for x in range(left, right + 1) for g in view.heads_of(x) if not left <= g <= right
    ]


class BracketSpans(FactorFamily):
    """Words in brackets or quotation marks have one head; little outside hangs from them."""

    name = "bracket-spans"
    summary = "English: number of arcs into and out of brackets or quotation marks"

    def counts(self, view: FactorView) -> Counts:
        for i, j in pairs(view):
            kind = view.forms[i]
            ends = (i == 1, j >= view.n_words - 1)
            into = arcs_into(view, i + 1, j - 1)
            out = [(x, y) for x in range(i + 1, j) for y in view.modifiers_of(x) if not i <= y <= j]
            for way, arcs in (("in", into), ("out", out)):
                yield arcs, [[(way, k), (way, k, kind), (way, k, kind, ends)] for k in (1, 2, 3)]


class Segments(FactorFamily):
    """A stretch without punctuation marks has mostly one head."""

    name = "segments"
    summary = "English: number of arcs into a segment between punctuation marks"

    def counts(self, view: FactorView) -> Counts:
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
            yield (
                into,
                [
                    [
                        (k, lower[left], lower[right]),
                        (k, lower[left], upos[left + 1], verb),
                        (k, lower[right], upos[left + 1], size),
                        (k, verb, size),
                    ]
                    for k in (1, 2, 3)
                ],
            )


class PairedCommas(FactorFamily):
    """A, B, C: what stands between two commas and hangs from a word outside."""

    name = "paired-commas"
    summary = "English: a phrase between two commas or dashes that both attach to it"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower = view.upos, view.lower
        marks = words_with(lower, _DASHES)
        for place, i in enumerate(marks):
            for between, j in enumerate(marks[place + 1 : place + 4]):
                for h in view.heads_of(i):
                    if not view.has_arc(h, j):
                        continue
                    where = "inside" if i < h < j else "left" if h < i else "right"
                    yield (
                        [(h, i), (h, j)],
                        [(where, between), (where, lower[i], lower[j], upos[h], between)],
                    )
                    for g in view.heads_of(h) if where == "inside" else ():
                        if not i <= g <= j:
                            yield (
                                [(g, h), (h, i), (h, j)],
                                [
                                    ("under", g < i, upos[g], upos[h]),
                                    ("under", g < i, g == i - 1, upos[h], between),
                                ],
                            )


class FinalStop(FactorFamily):
    """The last full stop hangs from the root's modifier."""

    name = "final-stop"
    summary = "English: the final punctuation mark and the root"

    def factors(self, view: FactorView) -> Proposed:
        forms, upos, xpos = view.forms, view.upos, view.xpos
        last = view.n_words
        while last > 1 and forms[last] in _QUOTES:
            last -= 1
        if upos[last] != "PUNCT":
            return
        kind = forms[last] if forms[last] in _CLOSERS else "other"
        for x in view.heads_of(last):
            for r in view.modifiers_of(0):
                if r == x:
                    yield (
                        [(0, r), (r, last)],
                        [
                            ("root", kind),
                            ("root", kind, upos[r], upos[1]),
                            ("root", kind, xpos[r], view.lower[1]),
                        ],
                    )
                elif r != last:
                    yield (
                        [(0, r), (x, last)],
                        [
                            ("apart", kind),
                            ("apart", kind, upos[r], upos[x]),
                            ("apart", kind, r < x),
                        ],
                    )
