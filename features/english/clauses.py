"""Clauses: subjects and their verbs, speech, comparison, fronted phrases."""

from __future__ import annotations

from bbparse.factors import AnySentence, RuleFamily

from .words import NOMINAL, Rules, case, number, person

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

    def rules(self, s: AnySentence) -> Rules:
        for x in s.words():
            s.require(x.upos == "AUX", x.feats.has("VerbForm=Fin"))
            for v in x.heads:
                for m in v.modifiers:
                    s.require(m.upos.isin(NOMINAL), m != x)
                    order = (m < x, x < v, m < v)
                    yield [(v, m), (v, x)], [
                        (*order, number(x), person(x), number(m), m.upos),
                        (*order, x.lower, m.xpos),
                        (*order, number(x), case(m), v.upos),
                        (*order, v.upos, m.upos, m == x - 1),
                    ]


class Speech(RuleFamily):
    """It works, he said: what is said hangs from the verb if it follows, above it if not."""

    name = "speech"
    summary = "English: a verb of saying, its subject and the clause"

    def rules(self, s: AnySentence) -> Rules:
        for v in s.words():
            s.require(v.lemma.isin(_SPEECH), v.upos == "VERB")
            for m in v.modifiers:
                s.require(m.upos.isin(NOMINAL), m - v <= 4, v - m <= 4)
                before = s.word(s.smaller(m, v)) - 1
                last = s.word(s.larger(m, v))
                after = s.word(s.choose(last == s.n_words, last, last + 1))
                for x in v.heads:
                    with s.when(x == 0):
                        for c in v.modifiers:
                            s.require(c != m, c.upos.isin(("VERB", "ADJ", "NOUN")))
                            yield [(x, v), (v, m), (v, c)], [
                                ("above", v.lemma, c < v, m < v),
                                ("above", c < v, m < v, before.lower),
                            ]
                    s.require(x != 0)
                    mark = s.choose(x < v, before.lower, after.lower)
                    yield [(x, v), (v, m)], [
                        ("below", v.lemma, x < v, m < v),
                        ("below", x < v, m < v, mark),
                        ("below", x < v, v.lemma, mark, x.upos),
                    ]


class Comparison(RuleFamily):
    """As good as B, more than B, too late to B: the standard hangs from what is compared."""

    name = "comparison"
    summary = "English: a word of degree, what it compares, and the standard with its marker"

    def rules(self, s: AnySentence) -> Rules:
        for c in s.words():
            s.require(c.lower.isin(_STANDARD))
            for b in c.heads:
                s.require(b > c)
                for d in s.words(s.larger(1, c - 8), c):
                    kind = d.ask(degree, "lower", "xpos")
                    s.require(kind != "")
                    for h in b.heads:
                        s.require(h > 0, h < c)
                        with s.when(h == d):
                            for g in d.heads:
                                yield [(g, d), (d, b), (b, c)], [
                                    ("degree", kind, c.lower),
                                    ("degree", kind, c.lower, g.upos, b.upos),
                                ]
                        with s.when(h != d):
                            yield [(h, d), (h, b), (b, c)], [
                                ("compared", kind, c.lower),
                                ("compared", kind, c.lower, h.upos, b.upos),
                                ("compared", d < h, kind, c.lower),
                            ]


class Fronted(RuleFamily):
    """In A, B does: what stands before the subject, with its comma."""

    name = "fronted"
    summary = "English: a phrase before the subject and its comma"

    def rules(self, s: AnySentence) -> Rules:
        for comma in s.words():
            s.require(comma.lower == ",")
            for v in comma.heads:
                with s.when(v < comma):  # the comma hangs from what is fronted
                    for h in v.heads:
                        s.require(h > comma)
                        for m in h.modifiers:
                            s.require(comma < m, m < h, m.upos.isin(NOMINAL))
                            yield [(h, v), (v, comma), (h, m)], [
                                ("own", v.upos, h.upos, m.upos),
                                ("own", s.word(s.root + 1).lower, v.upos),
                            ]
                s.require(v > comma)
                for f in v.modifiers:
                    s.require(f < comma)
                    for m in v.modifiers:
                        s.require(comma < m, m < v, m.upos.isin(NOMINAL))
                        yield [(v, f), (v, comma), (v, m)], [
                            ("head's", f.upos, v.upos, m.upos),
                            ("head's", f.upos, f == comma - 1, m.xpos),
                        ]
