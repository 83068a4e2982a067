"""Attachment of prepositional phrases and clauses, of which several words may be the head."""

from __future__ import annotations

from bbparse.factors import AnySentence, RuleFamily

from .words import NOMINAL, Rules, between, number

_NOUNS = frozenset(("NOUN", "PROPN", "PRON"))
_VERBS = frozenset(("VERB",))
_GOVERNORS = frozenset(("VERB", "ADJ", "NOUN"))
_RELATIVE = frozenset(("who", "which", "that", "whom", "whose", "where", "when", "why"))


class PrepositionalPhrases(RuleFamily):
    """Eats pizza with a fork: verb, object, preposition and noun decide together."""

    name = "prepositional-phrases"
    summary = "English: verb, object, preposition and noun"

    def rules(self, s: AnySentence) -> Rules:
        for p in s.words():
            s.require(p.upos == "ADP")
            for n in p.heads:
                s.require(n > p)
                for h in n.heads:
                    s.require(h > 0, h < p)
                    verbs, nouns = between(s, h, p, _VERBS), between(s, h, p, _NOUNS)
                    yield [(h, n), (n, p)], [
                        (p.lower, h.upos, n.upos, verbs, nouns),
                        (p.lower, h.upos, verbs, nouns, (p - 1).lower == ","),
                        (h.lemma, p.lower, nouns),
                        (h.upos, p.lower, n.lemma),
                    ]
                    with s.when(h.upos.isin(NOMINAL)):
                        for v in h.heads:
                            s.require(v != 0, v.upos.isin(_GOVERNORS))
                            yield [(v, h), (h, n), (n, p)], [
                                ("low", v < h, v.upos, p.lower, n.upos),
                                ("low", v < h, v.lemma, p.lower),
                                ("low", v < h, v.upos, h.lemma, p.lower),
                            ]
                    for o in h.modifiers:
                        s.require(h < o, o < p, o.upos.isin(NOMINAL))
                        yield [(h, o), (h, n), (n, p)], [
                            ("high", h.upos, o.upos, p.lower, nouns, o == p - 1),
                            ("high", h.lemma, o.upos, p.lower),
                            ("high", h.upos, o.lemma, p.lower),
                        ]


class SamePreposition(RuleFamily):
    """In A in B: one head seldom has two phrases with one preposition."""

    name = "same-preposition"
    summary = "English: two phrases with one preposition, at one head or one below the other"

    def rules(self, s: AnySentence) -> Rules:
        for p in s.words():
            s.require(p.upos == "ADP")
            for q in s.words(p + 1):
                s.require(q.upos == "ADP", q.lower == p.lower)
                for n in p.heads:
                    s.require(n > p, n < q)
                    for m in q.heads:
                        s.require(m > q)
                        for h in m.heads:
                            with s.when(h == n):
                                yield [(n, m), (m, q), (n, p)], [
                                    "below", ("below", p.lower), ("below", n.upos, m.upos)
                                ]
                            with s.when(h != n):
                                yield [(h, n), (h, m), (n, p), (m, q)], [
                                    "beside", ("beside", p.lower), ("beside", p.lower, h.upos),
                                    ("beside", h.upos, h < n),
                                ]


class Markers(RuleFamily):
    """Clauses with a marker: how far up the clause hangs, by its marker."""

    name = "markers"
    summary = "English: a clause, its marker and its head, with what lies between"

    def rules(self, s: AnySentence) -> Rules:
        for c in s.words():
            s.require(c.upos.isin(("SCONJ", "PART")), (c.upos != "PART") | (c.lower == "to"))
            for v in c.heads:
                s.require(v > c)
                for h in v.heads:
                    with s.when(h == 0):
                        yield [(h, v), (v, c)], [("root", c.lower, v.upos)]
                    s.require(h != 0, (h <= c) | (h > v))
                    left, right = s.choose(h < c, h, v), s.choose(h < c, c, h)
                    verbs = between(s, left, right, _VERBS)
                    nouns = between(s, left, right, _NOUNS)
                    comma = s.count(lambda word: word.lower == ",", left + 1, right) > 0
                    yield [(h, v), (v, c)], [
                        (c.lower, h < v, h.upos, verbs, nouns),
                        (c.lower, h < v, h.upos, comma, verbs),
                        (c.lower, h < v, h.upos, v.upos, verbs, (c - 1).lower == ","),
                        (c.lower, h < v, h.lemma, verbs),
                        (c.lower, h < v, h.upos, v.lemma),
                        (c.lower, h < v, (c - 1).lower, h.upos),
                    ]


class RelativeClauses(RuleFamily):
    """The man of the city who lives: the verb agrees with the noun, most often the nearest."""

    name = "relative-clauses"
    summary = "English: noun, relative pronoun and verb, with agreement and subject"

    def rules(self, s: AnySentence) -> Rules:
        for r in s.words():
            s.require(r.lower.isin(_RELATIVE))
            for v in r.heads:
                s.require(v > r)
                for n in v.heads:
                    s.require(n > 0, n < r)
                    nouns = between(s, n, r, _NOUNS)
                    base = [(n, v), (v, r)]
                    yield base, [
                        (r.lower, r.xpos, n.upos, nouns),
                        (r.lower, r.xpos, n.upos, nouns, (r - 1).lower == ","),
                        (r.lower, n.lemma),
                        (r.lower, n.upos, number(n), v.xpos, nouns),
                    ]
                    for x in v.modifiers:
                        s.require(r < x, x < v)
                        with s.when(x.upos == "AUX"):
                            yield [*base, (v, x)], [
                                ("agrees", number(n), number(x), x.lower, r + 1 == x)
                            ]
                        with s.when(x.upos.isin(NOMINAL)):
                            yield [*base, (v, x)], [
                                ("subject", r.lower, n.upos, x.upos),
                                ("subject", r.lower, nouns, v.xpos),
                            ]
