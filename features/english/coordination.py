"""Coordination: which words are joined, and how alike they are."""

from __future__ import annotations

from collections.abc import Iterator

from bbparse.factors import Arc, FactorView, Feature, RuleFamily

__all__ = ["Conjuncts", "Correlatives", "ParallelConjuncts", "Series"]

Factors = Iterator[tuple[list[Arc], list[Feature]]]

_FUNCTION = frozenset(("ADP", "SCONJ", "PART", "DET", "AUX", "PRON", "PUNCT", "ADV"))

_PARTNERS = {
    "both": "and", "either": "or", "neither": "nor", "not": "but", "only": "but",
    "whether": "or", "between": "and",
}  # fmt: skip


def partner(word: str) -> str:
    """The conjunction that a correlative announces, "" for other words."""
    return _PARTNERS.get(word, "")


def ending(word: str) -> str:
    """The last two characters."""
    return word[-2:]


def capital(word: str) -> bool:
    """Whether it begins with a capital."""
    return word[:1].isupper()


def joined(view: FactorView) -> Iterator[tuple[int, int, int]]:
    """Possible first conjunct, later conjunct and its conjunction."""
    for cc, tag in enumerate(view.upos):
        if tag != "CCONJ":
            continue
        for later in view.heads_of(cc):
            if later < cc:
                continue
            for first in view.heads_of(later):
                if 0 < first < cc:
                    yield first, later, cc


class Conjuncts(RuleFamily):
    """A and B: the first conjunct is most often the nearest word before *and* that is like B."""

    name = "conjuncts"
    summary = "English: two conjuncts and their conjunction, how alike and how near"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos, xpos, lower, feats = view.upos, view.xpos, view.lower, view.feats
        for a, b, cc in joined(view):
            same = (
                "xpos" if xpos[a] == xpos[b] else "upos" if upos[a] == upos[b] else "other"
            )
            nearer = sum(tag == upos[b] for tag in upos[a + 1 : cc])
            nearer_exact = sum(tag == xpos[b] for tag in xpos[a + 1 : cc])
            near = (min(nearer, 3), min(nearer_exact, 2))
            any_like = xpos[b] in xpos[1:cc]
            start = "same start" if lower[a - 1] == lower[cc + 1] and cc + 1 < b else "-"
            yield [(a, b), (b, cc)], [
                (same, *near),
                (same, any_like, near[1]),
                (upos[a], upos[b], *near),
                (xpos[a], xpos[b], near[1]),
                (lower[cc], upos[a], upos[b], same),
                ("feats", feats[a] == feats[b], upos[a], near[0]),
                ("suffix", ending(lower[a]) == ending(lower[b]), same),
                ("capitals", capital(view.forms[a]), capital(view.forms[b]), same),
                ("next", a == cc - 1, b == cc + 1, same),
                ("comma", lower[cc - 1] == ",", upos[a], upos[b], near[0]),
                (start, upos[cc + 1], upos[a], upos[b]),
                ("lemma", view.lemmas[a], view.lemmas[b]),
            ]


class ParallelConjuncts(RuleFamily):
    """In A and in B: a function word that B brings, and whether A has one like it."""

    name = "parallel-conjuncts"
    summary = "English: function words that conjuncts have or share"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos, lower = view.upos, view.lower
        for a, b, cc in joined(view):
            for y in view.modifiers_of(b):
                if not cc < y < b or upos[y] not in _FUNCTION:
                    continue
                yield [(a, b), (b, cc), (b, y)], [
                    ("brings", upos[y], upos[a], upos[b]),
                    ("brings", lower[y], upos[a], upos[b]),
                ]
                for x in view.modifiers_of(a):
                    if x < a and upos[x] in _FUNCTION and (
                        upos[x] == upos[y] or lower[x] == lower[y]
                    ):
                        same = "word" if lower[x] == lower[y] else "tag"
                        yield [(a, b), (b, cc), (b, y), (a, x)], [
                            (same, upos[y]),
                            (same, upos[y], upos[a], upos[b]),
                            (same, lower[y]),
                        ]


class Series(RuleFamily):
    """A, B and C: all later conjuncts hang from the first."""

    name = "series"
    summary = "English: three conjuncts with a comma and a conjunction"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        if "," not in view.lower or "CCONJ" not in view.upos:
            return
        upos, xpos, lower = view.upos, view.xpos, view.lower
        for a, c, cc in joined(view):
            for b in view.modifiers_of(a):
                if not a < b < cc:
                    continue
                alike = (upos[a] == upos[b], upos[b] == upos[c], xpos[a] == xpos[b] == xpos[c])
                for comma in view.modifiers_of(b):
                    if lower[comma] == "," and a < comma < b:
                        yield [(a, c), (c, cc), (a, b), (b, comma)], [
                            alike,
                            (alike, upos[a]),
                            (upos[a], upos[b], upos[c]),
                            ("comma", alike, lower[cc - 1] == ","),
                        ]
        for b, c, cc in joined(view):
            for a in view.heads_of(b):
                if 0 < a < b and "," in lower[a + 1 : b]:
                    # one below the other, which UD has for nested coordination only
                    yield [(a, b), (b, c), (c, cc)], [
                        "nested",
                        ("nested", upos[a], upos[b], upos[c]),
                        ("nested", xpos[a] == xpos[b] == xpos[c], lower[cc - 1] == ","),
                    ]


class Correlatives(RuleFamily):
    """Both A and B, either A or B, not (only) A but B."""

    name = "correlatives"
    summary = "English: both … and, either … or, not only … but"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        lower, upos = view.lower, view.upos
        for a, b, cc in joined(view):
            for x in range(1, cc):
                if partner(lower[x]) != lower[cc]:
                    continue
                for head in view.heads_of(x):
                    place = (
                        "first" if head == a else "second" if head == b
                        else "before" if head < x else "after"
                    )  # fmt: skip
                    yield [(a, b), (b, cc), (head, x)], [
                        (lower[x], place),
                        (lower[x], place, upos[a], upos[b], upos[x + 1] == upos[cc + 1]),
                    ]
