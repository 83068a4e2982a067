"""Attachment of prepositional phrases and clauses with several possible heads."""

from __future__ import annotations

from itertools import combinations

from bbparse.factors import FactorFamily, FactorView

from .words import NOMINAL, Proposed, counter, feature, introduced, words_with

_NOUNS = frozenset(("NOUN", "PROPN", "PRON"))
_GOVERNORS = frozenset(("VERB", "ADJ", "NOUN"))
_RELATIVE = frozenset(("who", "which", "that", "whom", "whose", "where", "when", "why"))


class PrepositionalPhrases(FactorFamily):
    """Eats pizza with a fork: verb, object, preposition and noun decide together."""

    name = "prepositional-phrases"
    summary = "English: verb, object, preposition and noun"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower, lemmas = view.upos, view.lower, view.lemmas
        if "ADP" not in upos:
            return
        verbs_between, nouns_between = counter(upos, ("VERB",)), counter(upos, _NOUNS)
        for p, n, h in introduced(view, words_with(upos, ("ADP",))):
            adp, verbs, nouns = lower[p], verbs_between(h, p), nouns_between(h, p)
            yield (
                [(h, n), (n, p)],
                [
                    (adp, upos[h], upos[n], verbs, nouns),
                    (adp, upos[h], verbs, nouns, lower[p - 1] == ","),
                    (lemmas[h], adp, nouns),
                    (upos[h], adp, lemmas[n]),
                ],
            )
            if upos[h] in NOMINAL:
                for v in view.heads_of(h):
                    if upos[v] in _GOVERNORS:
                        yield (
                            [(v, h), (h, n), (n, p)],
                            [
                                ("low", v < h, upos[v], adp, upos[n]),
                                ("low", v < h, lemmas[v], adp),
                                ("low", v < h, upos[v], lemmas[h], adp),
                            ],
                        )
            for o in view.modifiers_of(h):
                if h < o < p and upos[o] in NOMINAL:
                    yield (
                        [(h, o), (h, n), (n, p)],
                        [
                            ("high", upos[h], upos[o], adp, nouns, o == p - 1),
                            ("high", lemmas[h], upos[o], adp),
                            ("high", upos[h], lemmas[o], adp),
                        ],
                    )


class SamePreposition(FactorFamily):
    """In A in B: one head seldom has two phrases with one preposition."""

    name = "same-preposition"
    summary = "English: two phrases with the same preposition, side by side or nested"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower = view.upos, view.lower
        for p, q in combinations(words_with(upos, ("ADP",)), 2):
            if lower[p] != lower[q]:
                continue
            for n in view.heads_of(p):
                for m in view.heads_of(q) if p < n < q else ():
                    for h in view.heads_of(m) if m > q else ():
                        if h == n:
                            yield (
                                [(n, m), (m, q), (n, p)],
                                ["below", ("below", lower[p]), ("below", upos[n], upos[m])],
                            )
                        else:
                            yield (
                                [(h, n), (h, m), (n, p), (m, q)],
                                [
                                    "beside",
                                    ("beside", lower[p]),
                                    ("beside", lower[p], upos[h]),
                                    ("beside", upos[h], h < n),
                                ],
                            )


class Markers(FactorFamily):
    """Clauses with a marker: how far up the clause hangs, by its marker."""

    name = "markers"
    summary = "English: a clause, its marker and its head, and the words between"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower, lemmas = view.upos, view.lower, view.lemmas
        marks = [
            c for c in words_with(upos, ("SCONJ", "PART")) if upos[c] == "SCONJ" or lower[c] == "to"
        ]
        if not marks:
            return
        verbs_between, nouns_between = counter(upos, ("VERB",)), counter(upos, _NOUNS)
        commas_between = counter(lower, (",",))
        for c in marks:
            mark, before = lower[c], lower[c - 1]
            for v in view.heads_of(c):
                for h in view.heads_of(v) if v > c else ():
                    if h == 0:
                        yield [(h, v), (v, c)], [("root", mark, upos[v])]
                    elif h <= c or h > v:
                        left, right = (h, c) if h < c else (v, h)
                        verbs, comma = verbs_between(left, right), commas_between(left, right) > 0
                        yield (
                            [(h, v), (v, c)],
                            [
                                (mark, h < v, upos[h], verbs, nouns_between(left, right)),
                                (mark, h < v, upos[h], comma, verbs),
                                (mark, h < v, upos[h], upos[v], verbs, before == ","),
                                (mark, h < v, lemmas[h], verbs),
                                (mark, h < v, upos[h], lemmas[v]),
                                (mark, h < v, before, upos[h]),
                            ],
                        )


class RelativeClauses(FactorFamily):
    """The man of the city who lives: the verb agrees with the noun, most often the nearest."""

    name = "relative-clauses"
    summary = "English: noun, relative pronoun and verb, with agreement and subject"

    def factors(self, view: FactorView) -> Proposed:
        upos, xpos, lower, feats = view.upos, view.xpos, view.lower, view.feats
        pronouns = words_with(lower, _RELATIVE)
        if not pronouns:
            return
        nouns_between = counter(upos, _NOUNS)
        for r, v, n in introduced(view, pronouns):
            who, nouns, number = lower[r], nouns_between(n, r), feature(feats[n], "Number")
            base = [(n, v), (v, r)]
            yield (
                base,
                [
                    (who, xpos[r], upos[n], nouns),
                    (who, xpos[r], upos[n], nouns, lower[r - 1] == ","),
                    (who, view.lemmas[n]),
                    (who, upos[n], number, xpos[v], nouns),
                ],
            )
            for x in view.modifiers_of(v):
                if r < x < v and upos[x] == "AUX":
                    own = feature(feats[x], "Number")
                    yield [*base, (v, x)], [("agrees", number, own, lower[x], r + 1 == x)]
                elif r < x < v and upos[x] in NOMINAL:
                    yield (
                        [*base, (v, x)],
                        [("subject", who, upos[n], upos[x]), ("subject", who, nouns, xpos[v])],
                    )
