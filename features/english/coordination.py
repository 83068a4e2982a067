"""Coordination: which words are joined, and how alike they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bbparse.factors import AnySentence, AnyValue, AnyWord, RuleFamily

from .words import Rules

_FUNCTION = frozenset(("ADP", "SCONJ", "PART", "DET", "AUX", "PRON", "PUNCT", "ADV"))

_PARTNERS = {
    "both": "and", "either": "or", "neither": "nor", "not": "but", "only": "but",
    "whether": "or", "between": "and",
}  # fmt: skip


def partner(word: str) -> str:
    """The conjunction that a correlative announces, "" for other words."""
    return _PARTNERS.get(word, "")


def ending(word: str) -> str:
    return word[-2:]


def capital(word: str) -> bool:
    return word[:1].isupper()


def joined(s: AnySentence) -> Iterator[tuple[AnyWord, AnyWord, AnyWord]]:
    """Possible first conjunct, later conjunct and its conjunction."""
    for cc in s.words():
        s.require(cc.upos == "CCONJ")
        for later in cc.heads:
            s.require(later > cc)
            for first in later.heads:
                s.require(first > 0, first < cc)
                yield first, later, cc


def alike(s: AnySentence, a: AnyWord, b: AnyWord) -> AnyValue:
    """The finest tag that two words share."""
    coarse = s.choose(a.upos == b.upos, "upos", "other")
    return s.choose(a.xpos == b.xpos, "xpos", coarse)


def how_many(s: AnySentence, attribute: str, word: AnyWord, low: Any, high: Any) -> AnyValue:
    """How many words from `low` to `high - 1` have what a word has."""
    wanted = getattr(word, attribute)
    return s.count(lambda other: getattr(other, attribute) == wanted, low, high)


class Conjuncts(RuleFamily):
    """A and B: the first conjunct is most often the nearest word before *and* that is like B."""

    name = "conjuncts"
    summary = "English: two conjuncts and their conjunction, how alike and how near"

    def rules(self, s: AnySentence) -> Rules:
        for a, b, cc in joined(s):
            same, after = alike(s, a, b), cc + 1
            nearer = s.smaller(how_many(s, "upos", b, a + 1, cc), 3)
            exact = s.smaller(how_many(s, "xpos", b, a + 1, cc), 2)
            any_like = how_many(s, "xpos", b, 1, cc) > 0
            starts: Any = ((a - 1).lower == after.lower) & (after < b)
            yield [(a, b), (b, cc)], [
                (same, nearer, exact),
                (same, any_like, exact),
                (a.upos, b.upos, nearer, exact),
                (a.xpos, b.xpos, exact),
                (cc.lower, a.upos, b.upos, same),
                ("feats", a.feats == b.feats, a.upos, nearer),
                ("suffix", a.ask(ending, "lower") == b.ask(ending, "lower"), same),
                ("capitals", a.ask(capital, "form"), b.ask(capital, "form"), same),
                ("next", a == cc - 1, b == after, same),
                ("comma", (cc - 1).lower == ",", a.upos, b.upos, nearer),
                (s.choose(starts, "same start", "-"), after.upos, a.upos, b.upos),
                ("lemma", a.lemma, b.lemma),
            ]


class ParallelConjuncts(RuleFamily):
    """In A and in B: a function word that B brings, and whether A has one like it."""

    name = "parallel-conjuncts"
    summary = "English: function words that conjuncts have or share"

    def rules(self, s: AnySentence) -> Rules:
        for a, b, cc in joined(s):
            for y in b.modifiers:
                s.require(cc < y, y < b, y.upos.isin(_FUNCTION))
                yield [(a, b), (b, cc), (b, y)], [
                    ("brings", y.upos, a.upos, b.upos),
                    ("brings", y.lower, a.upos, b.upos),
                ]
                for x in a.modifiers:
                    s.require(x < a, x.upos.isin(_FUNCTION))
                    s.require((x.upos == y.upos) | (x.lower == y.lower))
                    same = s.choose(x.lower == y.lower, "word", "tag")
                    yield [(a, b), (b, cc), (b, y), (a, x)], [
                        (same, y.upos),
                        (same, y.upos, a.upos, b.upos),
                        (same, y.lower),
                    ]


class Series(RuleFamily):
    """A, B and C: all later conjuncts hang from the first."""

    name = "series"
    summary = "English: three conjuncts with a comma and a conjunction"

    def rules(self, s: AnySentence) -> Rules:
        for a, c, cc in joined(s):
            for b in a.modifiers:
                s.require(a < b, b < cc)
                fine = (a.xpos == b.xpos) & (b.xpos == c.xpos)
                like = (a.upos == b.upos, b.upos == c.upos, fine)
                for comma in b.modifiers:
                    s.require(comma.lower == ",", a < comma, comma < b)
                    yield [(a, c), (c, cc), (a, b), (b, comma)], [
                        like,
                        (like, a.upos),
                        (a.upos, b.upos, c.upos),
                        ("comma", like, (cc - 1).lower == ","),
                    ]
        for b, c, cc in joined(s):
            for a in b.heads:
                s.require(a > 0, a < b)
                s.require(s.count(lambda word: word.lower == ",", a + 1, b) > 0)
                # one below the other, which UD has for nested coordination only
                fine = (a.xpos == b.xpos) & (b.xpos == c.xpos)
                yield [(a, b), (b, c), (c, cc)], [
                    "nested",
                    ("nested", a.upos, b.upos, c.upos),
                    ("nested", fine, (cc - 1).lower == ","),
                ]


class Correlatives(RuleFamily):
    """Both A and B, either A or B, not (only) A but B."""

    name = "correlatives"
    summary = "English: both … and, either … or, not only … but"

    def rules(self, s: AnySentence) -> Rules:
        for a, b, cc in joined(s):
            for x in s.words(1, cc):
                s.require(x.ask(partner, "lower") == cc.lower)
                for head in x.heads:
                    side = s.choose(head < x, "before", "after")
                    place = s.choose(head == a, "first", s.choose(head == b, "second", side))
                    yield [(a, b), (b, cc), (head, x)], [
                        (x.lower, place),
                        (x.lower, place, a.upos, b.upos, (x + 1).upos == (cc + 1).upos),
                    ]
