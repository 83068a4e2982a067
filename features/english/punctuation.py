"""Punctuation marks that belong together, or to the root."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from bbparse.factors import AnySentence, Arc, FactorFamily, FactorView, Feature, RuleFamily

from .words import MATCHING, Rules

_CLOSERS = frozenset(".!?")
_QUOTES = frozenset((")", '"', "''", "'", "”"))
_DASHES = frozenset((",", "-", "--", "–", "—"))


def pairs(view: FactorView) -> Iterator[tuple[int, int]]:
    """Opening and closing bracket or quotation mark, the nearest partner that is free."""
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


class Brackets(RuleFamily):
    """Brackets and quotation marks of a pair have one head, most often the one inside."""

    name = "brackets"
    summary = "English: a pair of brackets or quotation marks and what it holds"

    def rules(self, s: AnySentence) -> Rules:
        for i, j in s.tuples(pairs, 2):
            for h in i.heads:
                inside = (i < h) & (h < j)
                for k in j.heads:
                    with s.when(h != k):
                        yield [(h, i), (k, j)], [
                            "apart",
                            ("apart", i.form),
                            ("apart", inside, (i < k) & (k < j)),
                            ("apart", i.form, h.upos, k.upos),
                        ]
                s.require(s.has_arc(h, j))
                yield [(h, i), (h, j)], [
                    ("pair", inside),
                    ("pair", i.form, inside),
                    ("pair", i.form, inside, h.upos),
                    ("pair", inside, j - i == 2, h.upos),
                ]
                s.require(inside)
                for g in h.heads:
                    s.require((g < i) | (g > j))
                    yield [(g, h), (h, i), (h, j)], [
                        ("under", i.form, g < i, g.upos, h.upos),
                        ("under", g < i, g.upos, g == i - 1),
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


class BracketSpans(FactorFamily):
    """What stands in brackets or quotation marks has one head; little outside hangs from it."""

    name = "bracket-spans"
    summary = "English: how many arcs lead into brackets or quotation marks, and out of them"

    def counts(self, view: FactorView) -> Counts:
        for i, j in pairs(view):
            kind = view.forms[i]
            ends = (i == 1, j >= view.n_words - 1)
            into = arcs_into(view, i + 1, j - 1)
            out = [
                (x, y)
                for x in range(i + 1, j)
                for y in view.modifiers_of(x)
                if not i <= y <= j
            ]
            for way, arcs in (("in", into), ("out", out)):
                yield arcs, [
                    [(way, k), (way, k, kind), (way, k, kind, ends)] for k in (1, 2, 3)
                ]


class Segments(FactorFamily):
    """A stretch without punctuation marks has mostly one head."""

    name = "segments"
    summary = "English: how many arcs lead into a stretch between punctuation marks"

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

    def rules(self, s: AnySentence) -> Rules:
        for i in s.words():
            s.require(i.lower.isin(_DASHES))
            for j in s.words(i + 1):
                s.require(j.lower.isin(_DASHES))
                between = s.count(lambda word: word.lower.isin(_DASHES), i + 1, j)
                s.require(between < 3)
                for h in i.heads:
                    s.require(s.has_arc(h, j))
                    inside = (i < h) & (h < j)
                    side = s.choose(h < i, "left", "right")
                    place = s.choose(inside, "inside", side)
                    yield [(h, i), (h, j)], [
                        (place, between),
                        (place, i.lower, j.lower, h.upos, between),
                    ]
                    s.require(inside)
                    for g in h.heads:
                        s.require((g < i) | (g > j))
                        yield [(g, h), (h, i), (h, j)], [
                            ("under", g < i, g.upos, h.upos),
                            ("under", g < i, g == i - 1, h.upos, between),
                        ]


def _closer(form: str) -> str:
    return form if form in _CLOSERS else "other"


class FinalStop(RuleFamily):
    """The last full stop hangs from the root's modifier."""

    name = "final-stop"
    summary = "English: the final punctuation mark and the root"

    def rules(self, s: AnySentence) -> Rules:
        first: Any = s.root + 1
        for last in s.words():
            s.require(last.upos == "PUNCT", (last == 1) | ~last.form.isin(_QUOTES))
            rest = s.count(lambda word: ~word.form.isin(_QUOTES), last + 1, s.n_words + 1)
            s.require(rest == 0)
            kind = last.ask(_closer, "form")
            for x in last.heads:
                for r in s.root.modifiers:
                    with s.when(r == x):
                        yield [(s.root, r), (r, last)], [
                            ("root", kind),
                            ("root", kind, r.upos, first.upos),
                            ("root", kind, r.xpos, first.lower),
                        ]
                    with s.when(r != x, r != last):
                        yield [(s.root, r), (x, last)], [
                            ("apart", kind),
                            ("apart", kind, r.upos, x.upos),
                            ("apart", kind, r < x),
                        ]
