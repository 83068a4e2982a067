"""Nominals: names and compounds, and one nominal that explains another."""

from __future__ import annotations

from collections.abc import Iterator

from bbparse.factors import Arc, FactorView, Feature, RuleFamily

__all__ = ["Appositions", "Compounds"]

Factors = Iterator[tuple[list[Arc], list[Feature]]]

_PARTS = frozenset(("NOUN", "PROPN", "NUM", "SYM", "X", "ADJ"))
_NOUNS = frozenset(("NOUN", "PROPN", "NUM", "PRON"))


def kind(form: str, tag: str) -> str:
    """Tag, and how the word is written."""
    written = "A" if form.isupper() else "Aa" if form[:1].isupper() else "a"
    return tag + ("0" if form[:1].isdigit() else written)


class Compounds(RuleFamily):
    """World Trade Center, May 5, 2003: two neighbours side by side, or one below the other."""

    name = "compounds"
    summary = "English: neighbours in a name or compound, beside or below one another"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos, forms = view.upos, view.forms
        for b in range(2, view.n_words + 1):
            a = b - 1
            if upos[a] not in _PARTS or upos[b] not in _PARTS:
                continue
            last = b == view.n_words or upos[b + 1] not in _PARTS
            first = upos[a - 1] not in _PARTS
            pair = (kind(forms[a], upos[a]), kind(forms[b], upos[b]))
            for h in view.heads_of(a):
                if h == b or not view.has_arc(h, b):
                    continue
                near = "next" if h == b + 1 else "right" if h > b else "left"
                yield [(h, a), (h, b)], [
                    ("beside", near, *pair, first, last),
                    ("beside", near, upos[a], upos[b], kind(forms[h], upos[h])),
                    ("beside", near, view.lemmas[a], view.lemmas[b]),
                ]
            for low, high in ((a, b), (b, a)):
                if not view.has_arc(high, low):
                    continue
                for h in view.heads_of(high):
                    near = "next" if abs(h - high) == 1 else "right" if h > b else "left"
                    yield [(h, high), (high, low)], [
                        ("below", low < high, near, *pair, first, last),
                        ("below", low < high, near, upos[a], upos[b], kind(forms[h], upos[h])),
                        ("below", low < high, view.lemmas[low], view.lemmas[high]),
                    ]


class Appositions(RuleFamily):
    """Bob, the boss: a nominal after a comma or bracket that no conjunction joins."""

    name = "appositions"
    summary = "English: a nominal, a comma or bracket, and a nominal that modifies it"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos, lower, forms = view.upos, view.lower, view.forms
        for mark, form in enumerate(lower):
            if form not in (",", "(", "-", "--", ":", "–"):
                continue
            for b in view.heads_of(mark):
                if b < mark or upos[b] not in _NOUNS:
                    continue
                for a in view.heads_of(b):
                    if not 0 < a < mark or upos[a] not in _NOUNS:
                        continue
                    joined = any(tag == "CCONJ" for tag in upos[b + 1 : b + 7])
                    between = sum(tag in _NOUNS for tag in upos[a + 1 : mark])
                    yield [(a, b), (b, mark)], [
                        (form, kind(forms[a], upos[a]), kind(forms[b], upos[b]), joined),
                        (form, min(between, 2), joined),
                        (form, upos[a], upos[b], min(between, 2), upos[mark + 1]),
                        (form, a == mark - 1, upos[mark + 1], joined),
                    ]
