"""Coordination: which words are joined, and how alike they are."""

from __future__ import annotations

from collections.abc import Iterator

from bbparse.factors import FactorFamily, FactorView

from .words import Proposed, introduced, words_with

_FUNCTION = frozenset(("ADP", "SCONJ", "PART", "DET", "AUX", "PRON", "PUNCT", "ADV"))

#: The conjunction that a correlative announces.
_PARTNERS = {
    "both": "and",
    "either": "or",
    "neither": "nor",
    "not": "but",
    "only": "but",
    "whether": "or",
    "between": "and",
}


def joined(view: FactorView) -> Iterator[tuple[int, int, int]]:
    """Conjunction, possible later conjunct and first one."""
    return introduced(view, words_with(view.upos, ("CCONJ",)))


class Conjuncts(FactorFamily):
    """A and B: the first conjunct is most often the nearest word before *and* that is like B."""

    name = "conjuncts"
    summary = "English: similarity and distance of two conjuncts and their conjunction"

    def factors(self, view: FactorView) -> Proposed:
        forms, lower, lemmas = view.forms, view.lower, view.lemmas
        upos, xpos, feats = view.upos, view.xpos, view.feats
        for cc, b, a in joined(view):
            same = "xpos" if xpos[a] == xpos[b] else "upos" if upos[a] == upos[b] else "other"
            nearer = min(upos[a + 1 : cc].count(upos[b]), 3)
            exact = min(xpos[a + 1 : cc].count(xpos[b]), 2)
            starts = lower[a - 1] == lower[cc + 1] and cc + 1 < b
            yield (
                [(a, b), (b, cc)],
                [
                    (same, nearer, exact),
                    (same, xpos[b] in xpos[1:cc], exact),
                    (upos[a], upos[b], nearer, exact),
                    (xpos[a], xpos[b], exact),
                    (lower[cc], upos[a], upos[b], same),
                    ("feats", feats[a] == feats[b], upos[a], nearer),
                    ("suffix", lower[a][-2:] == lower[b][-2:], same),
                    ("capitals", forms[a][:1].isupper(), forms[b][:1].isupper(), same),
                    ("next", a == cc - 1, b == cc + 1, same),
                    ("comma", lower[cc - 1] == ",", upos[a], upos[b], nearer),
                    ("same start" if starts else "-", upos[cc + 1], upos[a], upos[b]),
                    ("lemma", lemmas[a], lemmas[b]),
                ],
            )


class ParallelConjuncts(FactorFamily):
    """In A and in B: a function word that B brings, and whether A has one like it."""

    name = "parallel-conjuncts"
    summary = "English: function words of conjuncts, repeated or shared"

    def factors(self, view: FactorView) -> Proposed:
        if "CCONJ" not in view.upos:
            return
        upos, lower = view.upos, view.lower
        function = set(words_with(upos, _FUNCTION))
        for cc, b, a in joined(view):
            brought = [y for y in view.modifiers_of(b) if cc < y < b and y in function]
            if not brought:
                continue
            own = [x for x in view.modifiers_of(a) if x < a and x in function]
            base, tag_a, tag_b = [(a, b), (b, cc)], upos[a], upos[b]
            for y in brought:
                tag, word = upos[y], lower[y]
                yield (
                    [*base, (b, y)],
                    [("brings", tag, tag_a, tag_b), ("brings", word, tag_a, tag_b)],
                )
                for x in own:
                    if upos[x] == tag or lower[x] == word:
                        same = "word" if lower[x] == word else "tag"
                        yield (
                            [*base, (b, y), (a, x)],
                            [(same, tag), (same, tag, tag_a, tag_b), (same, word)],
                        )


class Series(FactorFamily):
    """A, B and C: all later conjuncts hang from the first."""

    name = "series"
    summary = "English: three conjuncts with a comma and a conjunction"

    def factors(self, view: FactorView) -> Proposed:
        upos, xpos, lower = view.upos, view.xpos, view.lower
        if "CCONJ" not in upos or "," not in lower:
            return
        commas_of: dict[int, list[int]] = {}  # those before a word that may hang from it
        for comma in words_with(lower, (",",)):
            for b in view.heads_of(comma):
                if b > comma:
                    commas_of.setdefault(b, []).append(comma)
        later = list(joined(view))
        for cc, c, a in later if commas_of else ():
            for b in view.modifiers_of(a):
                for comma in commas_of.get(b, ()) if a < b < cc else ():
                    if a < comma:
                        fine = xpos[a] == xpos[b] == xpos[c]
                        like = (upos[a] == upos[b], upos[b] == upos[c], fine)
                        yield (
                            [(a, c), (c, cc), (a, b), (b, comma)],
                            [
                                like,
                                (like, upos[a]),
                                (upos[a], upos[b], upos[c]),
                                ("comma", like, lower[cc - 1] == ","),
                            ],
                        )
        for cc, c, b in later:
            for a in view.heads_of(b):
                # one below the other, which UD has for nested coordination only
                if 0 < a < b and "," in lower[a + 1 : b]:
                    fine = xpos[a] == xpos[b] == xpos[c]
                    yield (
                        [(a, b), (b, c), (c, cc)],
                        [
                            "nested",
                            ("nested", upos[a], upos[b], upos[c]),
                            ("nested", fine, lower[cc - 1] == ","),
                        ],
                    )


class Correlatives(FactorFamily):
    """Both A and B, either A or B, not (only) A but B."""

    name = "correlatives"
    summary = "English: both … and, either … or, not only … but"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower = view.upos, view.lower
        announcing = words_with(lower, _PARTNERS)
        for cc, b, a in joined(view) if announcing else ():
            for x in announcing:
                for head in view.heads_of(x) if x < cc and _PARTNERS[lower[x]] == lower[cc] else ():
                    side = "before" if head < x else "after"
                    place = "first" if head == a else "second" if head == b else side
                    yield (
                        [(a, b), (b, cc), (head, x)],
                        [
                            (lower[x], place),
                            (lower[x], place, upos[a], upos[b], upos[x + 1] == upos[cc + 1]),
                        ],
                    )
