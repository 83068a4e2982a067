"""Attachment of prepositional phrases and clauses, of which several words may be the head."""

from __future__ import annotations

from collections.abc import Iterator

from bbparse.factors import Arc, FactorView, Feature, RuleFamily

from .words import NOMINAL, between, feature

__all__ = ["Markers", "PrepositionalPhrases", "RelativeClauses", "SamePreposition"]

Factors = Iterator[tuple[list[Arc], list[Feature]]]

_NOUNS = frozenset(("NOUN", "PROPN", "PRON"))
_VERBS = frozenset(("VERB",))
_GOVERNORS = frozenset(("VERB", "ADJ", "NOUN"))
_RELATIVE = frozenset(("who", "which", "that", "whom", "whose", "where", "when", "why"))


class PrepositionalPhrases(RuleFamily):
    """Eats pizza with a fork: verb, object, preposition and noun decide together."""

    name = "prepositional-phrases"
    summary = "English: verb, object, preposition and noun"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos, lower, lemmas = view.upos, view.lower, view.lemmas
        for p, tag in enumerate(upos):
            if tag != "ADP":
                continue
            word = lower[p]
            for n in view.heads_of(p):
                if n < p:
                    continue
                for h in view.heads_of(n):
                    if not 0 < h < p:
                        continue
                    verbs = between(view, h, p, _VERBS)
                    nouns = between(view, h, p, _NOUNS)
                    yield [(h, n), (n, p)], [
                        (word, upos[h], upos[n], verbs, nouns),
                        (word, upos[h], verbs, nouns, lower[p - 1] == ","),
                        (lemmas[h], word, nouns),
                        (upos[h], word, lemmas[n]),
                    ]
                    if upos[h] in NOMINAL:
                        for v in view.heads_of(h):
                            if v and upos[v] in _GOVERNORS:
                                side = v < h
                                yield [(v, h), (h, n), (n, p)], [
                                    ("low", side, upos[v], word, upos[n]),
                                    ("low", side, lemmas[v], word),
                                    ("low", side, upos[v], lemmas[h], word),
                                ]
                    for o in view.modifiers_of(h):
                        if h < o < p and upos[o] in NOMINAL:
                            yield [(h, o), (h, n), (n, p)], [
                                ("high", upos[h], upos[o], word, nouns, o == p - 1),
                                ("high", lemmas[h], upos[o], word),
                                ("high", upos[h], lemmas[o], word),
                            ]


class SamePreposition(RuleFamily):
    """In A in B: one head seldom has two phrases with one preposition."""

    name = "same-preposition"
    summary = "English: two phrases with one preposition, at one head or one below the other"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos, lower = view.upos, view.lower
        for p, tag in enumerate(upos):
            if tag != "ADP":
                continue
            word = lower[p]
            for q in range(p + 1, view.n_words + 1):
                if upos[q] != "ADP" or lower[q] != word:
                    continue
                for n in view.heads_of(p):
                    for m in view.heads_of(q):
                        if n < p or m < q or n >= q:
                            continue
                        for h in view.heads_of(m):
                            if h == n:
                                yield [(n, m), (m, q), (n, p)], [
                                    "below", ("below", word), ("below", upos[n], upos[m])
                                ]
                            elif view.has_arc(h, n):
                                yield [(h, n), (h, m), (n, p), (m, q)], [
                                    "beside", ("beside", word), ("beside", word, upos[h]),
                                    ("beside", upos[h], h < n),
                                ]


class Markers(RuleFamily):
    """Clauses with a marker: how far up the clause hangs, by its marker."""

    name = "markers"
    summary = "English: a clause, its marker and its head, with what lies between"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos, lower, lemmas = view.upos, view.lower, view.lemmas
        for c, tag in enumerate(upos):
            if tag not in ("SCONJ", "PART") or (tag == "PART" and lower[c] != "to"):
                continue
            word = lower[c]
            for v in view.heads_of(c):
                if v < c:
                    continue
                for h in view.heads_of(v):
                    if h == 0:
                        yield [(0, v), (v, c)], [("root", word, upos[v])]
                        continue
                    if c < h < v:
                        continue
                    left, right = (h, c) if h < c else (v, h)
                    verbs = between(view, left, right, _VERBS)
                    nouns = between(view, left, right, _NOUNS)
                    comma = "," in lower[left + 1 : right]
                    yield [(h, v), (v, c)], [
                        (word, h < v, upos[h], verbs, nouns),
                        (word, h < v, upos[h], comma, verbs),
                        (word, h < v, upos[h], upos[v], verbs, lower[c - 1] == ","),
                        (word, h < v, lemmas[h], verbs),
                        (word, h < v, upos[h], lemmas[v]),
                        (word, h < v, lower[c - 1], upos[h]),
                    ]


class RelativeClauses(RuleFamily):
    """The man of the city who lives: the verb agrees with the noun, most often the nearest."""

    name = "relative-clauses"
    summary = "English: noun, relative pronoun and verb, with agreement and subject"

    def factors(self, view: FactorView) -> Factors:
        """See `FactorFamily.factors`."""
        upos, lower, feats = view.upos, view.lower, view.feats
        for r, word in enumerate(lower):
            if word not in _RELATIVE:
                continue
            for v in view.heads_of(r):
                if v < r:
                    continue
                for n in view.heads_of(v):
                    if not 0 < n < r:
                        continue
                    nouns = between(view, n, r, _NOUNS)
                    comma = lower[r - 1] == ","
                    number = feature(feats[n], "Number")
                    tag = view.xpos[r]
                    base = [(n, v), (v, r)]
                    yield base, [
                        (word, tag, upos[n], nouns),
                        (word, tag, upos[n], nouns, comma),
                        (word, view.lemmas[n]),
                        (word, upos[n], number, view.xpos[v], nouns),
                    ]
                    for x in view.modifiers_of(v):
                        if not r < x < v:
                            continue
                        if upos[x] == "AUX":
                            its = feature(feats[x], "Number")
                            yield [*base, (v, x)], [("agrees", number, its, lower[x], r + 1 == x)]
                        elif upos[x] in NOMINAL:
                            yield [*base, (v, x)], [
                                ("subject", word, upos[n], upos[x]),
                                ("subject", word, nouns, view.xpos[v]),
                            ]
