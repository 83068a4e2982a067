"""Nominals: names and compounds, and one nominal that explains another."""

from __future__ import annotations

from typing import Any

from bbparse.factors import AnySentence, AnyValue, AnyWord, RuleFamily

from .words import Rules, between

_PARTS = frozenset(("NOUN", "PROPN", "NUM", "SYM", "X", "ADJ"))
_NOUNS = frozenset(("NOUN", "PROPN", "NUM", "PRON"))


_CONJUNCTION = frozenset(("CCONJ",))
_MARKS = frozenset((",", "(", "-", "--", ":", "–"))


def _kind(form: str, tag: str) -> str:
    written = "A" if form.isupper() else "Aa" if form[:1].isupper() else "a"
    return tag + ("0" if form[:1].isdigit() else written)


def kind(word: AnyWord) -> AnyValue:
    """Tag, and how the word is written."""
    return word.ask(_kind, "form", "upos")


class Compounds(RuleFamily):
    """World Trade Center, May 5, 2003: two neighbours side by side, or one below the other."""

    name = "compounds"
    summary = "English: neighbours in a name or compound, beside or below one another"

    def rules(self, s: AnySentence) -> Rules:
        for b in s.words(2):
            a: Any = b - 1
            s.require(b.upos.isin(_PARTS), a.upos.isin(_PARTS))
            last = ~(b + 1).upos.isin(_PARTS)
            first = ~(a - 1).upos.isin(_PARTS)
            pair = (kind(a), kind(b))
            for h in a.heads:
                s.require(h != b)
                far = s.choose(h > b, "right", "left")
                near = s.choose(h == b + 1, "next", far)
                yield [(h, a), (h, b)], [
                    ("beside", near, *pair, first, last),
                    ("beside", near, a.upos, b.upos, kind(h)),
                    ("beside", near, a.lemma, b.lemma),
                ]
            for low, high in ((a, b), (b, a)):
                with s.when(s.has_arc(high, low)):
                    for h in high.heads:
                        far = s.choose(h > b, "right", "left")
                        touches = (h == high - 1) | (h == high + 1)
                        near = s.choose(touches, "next", far)
                        yield [(h, high), (high, low)], [
                            ("below", low < high, near, *pair, first, last),
                            ("below", low < high, near, a.upos, b.upos, kind(h)),
                            ("below", low < high, low.lemma, high.lemma),
                        ]


class Appositions(RuleFamily):
    """Bob, the boss: a nominal after a comma or bracket that no conjunction joins."""

    name = "appositions"
    summary = "English: a nominal, a comma or bracket, and a nominal that modifies it"

    def rules(self, s: AnySentence) -> Rules:
        for mark in s.words():
            s.require(mark.lower.isin(_MARKS))
            after = mark + 1
            for b in mark.heads:
                s.require(b > mark, b.upos.isin(_NOUNS))
                joined = between(s, b, b + 7, _CONJUNCTION, 1) > 0
                for a in b.heads:
                    s.require(a > 0, a < mark, a.upos.isin(_NOUNS))
                    nouns = between(s, a, mark, _NOUNS)
                    yield [(a, b), (b, mark)], [
                        (mark.lower, kind(a), kind(b), joined),
                        (mark.lower, nouns, joined),
                        (mark.lower, a.upos, b.upos, nouns, after.upos),
                        (mark.lower, a == mark - 1, after.upos, joined),
                    ]
