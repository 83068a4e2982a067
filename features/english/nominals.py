"""Nominals: names, compounds and appositions."""

from __future__ import annotations

from itertools import pairwise

from bbparse.factors import FactorFamily, FactorView

from .words import Proposed, counter, introduced, words_with

_PARTS = frozenset(("NOUN", "PROPN", "NUM", "SYM", "X", "ADJ"))
_NOUNS = frozenset(("NOUN", "PROPN", "NUM", "PRON"))
_MARKS = frozenset((",", "(", "-", "--", ":", "–"))


def kind(view: FactorView, word: int) -> str:
    """Tag, and how a word is written."""
    form = view.forms[word]
    written = "A" if form.isupper() else "Aa" if form[:1].isupper() else "a"
    return view.upos[word] + ("0" if form[:1].isdigit() else written)


class Compounds(FactorFamily):
    """World Trade Center, May 5, 2003: two neighbours side by side, or one below the other."""

    name = "compounds"
    summary = "English: neighbours in a name or compound, siblings or nested"

    def factors(self, view: FactorView) -> Proposed:
        upos, lemmas = [*view.upos, ""], view.lemmas
        for a, b in pairwise(words_with(upos, _PARTS)):
            if b > a + 1:
                continue
            first, last = upos[a - 1] not in _PARTS, upos[b + 1] not in _PARTS
            pair = (kind(view, a), kind(view, b))
            for h in view.heads_of(a):
                if h != b:
                    near = "next" if h == b + 1 else "right" if h > b else "left"
                    yield (
                        [(h, a), (h, b)],
                        [
                            ("beside", near, *pair, first, last),
                            ("beside", near, upos[a], upos[b], kind(view, h)),
                            ("beside", near, lemmas[a], lemmas[b]),
                        ],
                    )
            for low, high in ((a, b), (b, a)):
                for h in view.heads_of(high) if view.has_arc(high, low) else ():
                    near = "next" if abs(h - high) == 1 else "right" if h > b else "left"
                    yield (
                        [(h, high), (high, low)],
                        [
                            ("below", low < high, near, *pair, first, last),
                            ("below", low < high, near, upos[a], upos[b], kind(view, h)),
                            ("below", low < high, lemmas[low], lemmas[high]),
                        ],
                    )


class Appositions(FactorFamily):
    """Bob, the boss: a nominal after a comma or bracket that no conjunction joins."""

    name = "appositions"
    summary = "English: a nominal with an apposition after a comma or bracket"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower = view.upos, view.lower
        marks = words_with(lower, _MARKS)
        if not marks:
            return
        nouns_between, joins = counter(upos, _NOUNS), counter(upos, ("CCONJ",))
        for mark, b, a in introduced(view, marks):
            if upos[a] in _NOUNS and upos[b] in _NOUNS:
                nouns, joined = nouns_between(a, mark), joins(b, b + 7) > 0
                yield (
                    [(a, b), (b, mark)],
                    [
                        (lower[mark], kind(view, a), kind(view, b), joined),
                        (lower[mark], nouns, joined),
                        (lower[mark], upos[a], upos[b], nouns, upos[mark + 1]),
                        (lower[mark], a == mark - 1, upos[mark + 1], joined),
                    ],
                )
