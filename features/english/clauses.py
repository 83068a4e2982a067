"""Clauses: subjects and their verbs, speech, comparison, fronted phrases."""

from __future__ import annotations

from collections.abc import Iterator

from bbparse.factors import Arc, FactorView, Feature, RuleFamily

from .words import NOMINAL, feature

__all__ = ["Agreement", "Comparison", "Fronted", "Speech"]

Factors = Iterator[tuple[list[Arc], list[Feature]]]

_SPEECH = frozenset(
    "say tell think ask know believe guess hope mean see write add note explain reply report "
    "suggest suppose claim argue feel wonder let thank".split()
)
_STANDARD = frozenset(("than", "as", "that", "to", "for"))
_DEGREE = frozenset("as so too more less such enough most least very rather other same".split())


def degree(word: str, tag: str) -> str:
    """What kind of comparison a word makes: itself, the tag of a comparative, "" for none."""
    return word if word in _DEGREE else tag if tag in ("JJR", "RBR") else ""


class Agreement(RuleFamily):
    """The subject agrees with the finite auxiliary or copula of its predicate."""

    name = "agreement"
    summary = "English: subject and auxiliary of one predicate"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos, feats, lower = view.upos, view.feats, view.lower
        for x, tag in enumerate(upos):
            if tag != "AUX" or "VerbForm=Fin" not in feats[x]:
                continue
            number, person = feature(feats[x], "Number"), feature(feats[x], "Person")
            for v in view.heads_of(x):
                for s in view.modifiers_of(v):
                    if upos[s] not in NOMINAL or s == x:
                        continue
                    order = (s < x, x < v, s < v)
                    yield [(v, s), (v, x)], [
                        (*order, number, person, feature(feats[s], "Number"), upos[s]),
                        (*order, lower[x], view.xpos[s]),
                        (*order, number, feature(feats[s], "Case"), upos[v]),
                        (*order, upos[v], upos[s], s == x - 1),
                    ]


class Speech(RuleFamily):
    """It works, he said: what is said hangs from the verb if it follows, above it if not."""

    name = "speech"
    summary = "English: a verb of saying, its subject and the clause"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        lemmas, upos, lower = view.lemmas, view.upos, view.lower
        for v, lemma in enumerate(lemmas):
            if lemma not in _SPEECH or upos[v] != "VERB":
                continue
            for s in view.modifiers_of(v):
                if upos[s] not in NOMINAL or abs(s - v) > 4:
                    continue
                for x in view.heads_of(v):
                    if x == 0:
                        for c in view.modifiers_of(v):
                            if c != s and upos[c] in ("VERB", "ADJ", "NOUN"):
                                yield [(0, v), (v, s), (v, c)], [
                                    ("above", lemma, c < v, s < v),
                                    ("above", c < v, s < v, lower[min(s, v) - 1]),
                                ]
                        continue
                    mark = lower[min(s, v) - 1] if x < v else lower[max(s, v) + 1 - (
                        max(s, v) == view.n_words)]
                    yield [(x, v), (v, s)], [
                        ("below", lemma, x < v, s < v),
                        ("below", x < v, s < v, mark),
                        ("below", x < v, lemma, mark, upos[x]),
                    ]


class Comparison(RuleFamily):
    """As good as B, more than B, too late to B: the standard hangs from what is compared."""

    name = "comparison"
    summary = "English: a word of degree, what it compares, and the standard with its marker"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        lower, upos = view.lower, view.upos
        for c, word in enumerate(lower):
            if word not in _STANDARD:
                continue
            for b in view.heads_of(c):
                if b < c:
                    continue
                for d in range(max(1, c - 8), c):
                    kind = degree(lower[d], view.xpos[d])
                    if kind == "":
                        continue
                    for h in view.heads_of(b):
                        if not 0 < h < c:
                            continue
                        if h == d:
                            for g in view.heads_of(d):
                                yield [(g, d), (d, b), (b, c)], [
                                    ("degree", kind, word),
                                    ("degree", kind, word, upos[g], upos[b]),
                                ]
                        elif view.has_arc(h, d):
                            yield [(h, d), (h, b), (b, c)], [
                                ("compared", kind, word),
                                ("compared", kind, word, upos[h], upos[b]),
                                ("compared", d < h, kind, word),
                            ]


class Fronted(RuleFamily):
    """In A, B does: what stands before the subject, with its comma."""

    name = "fronted"
    summary = "English: a phrase before the subject and its comma"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        lower, upos = view.lower, view.upos
        for comma, word in enumerate(lower):
            if word != ",":
                continue
            for v in view.heads_of(comma):
                if v < comma:
                    # the comma hangs from what is fronted
                    for h in view.heads_of(v):
                        if h > comma:
                            for s in view.modifiers_of(h):
                                if comma < s < h and upos[s] in NOMINAL:
                                    yield [(h, v), (v, comma), (h, s)], [
                                        ("own", upos[v], upos[h], upos[s]),
                                        ("own", lower[1], upos[v]),
                                    ]
                    continue
                for f in view.modifiers_of(v):
                    if f < comma:
                        for s in view.modifiers_of(v):
                            if comma < s < v and upos[s] in NOMINAL:
                                yield [(v, f), (v, comma), (v, s)], [
                                    ("head's", upos[f], upos[v], upos[s]),
                                    ("head's", upos[f], f == comma - 1, view.xpos[s]),
                                ]
