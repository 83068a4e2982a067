"""Clauses: subjects and their verbs, speech, comparison, fronted phrases."""

from __future__ import annotations

from bbparse.factors import FactorFamily, FactorView

from .words import NOMINAL, Proposed, feature, words_with

_SPEECH = frozenset(
    "say tell think ask know believe guess hope mean see write add note explain reply report "
    "suggest suppose claim argue feel wonder let thank".split()
)
_STANDARD = frozenset(("than", "as", "that", "to", "for"))
_DEGREE = frozenset("as so too more less such enough most least very rather other same".split())


def degree(word: str, tag: str) -> str:
    """Classify the comparison that a word makes: itself, the tag of a comparative, "" for none."""
    return word if word in _DEGREE else tag if tag in ("JJR", "RBR") else ""


class Agreement(FactorFamily):
    """The subject agrees with the finite auxiliary or copula of its predicate."""

    name = "agreement"
    summary = "English: subject and auxiliary of one predicate"

    def factors(self, view: FactorView) -> Proposed:
        upos, xpos, lower, feats = view.upos, view.xpos, view.lower, view.feats
        for x in words_with(upos, ("AUX",)):
            if "VerbForm=Fin" not in feats[x]:
                continue
            number, person = feature(feats[x], "Number"), feature(feats[x], "Person")
            for v in view.heads_of(x):
                for m in view.modifiers_of(v):
                    if upos[m] in NOMINAL and m != x:
                        order = (m < x, x < v, m < v)
                        yield (
                            [(v, m), (v, x)],
                            [
                                (*order, number, person, feature(feats[m], "Number"), upos[m]),
                                (*order, lower[x], xpos[m]),
                                (*order, number, feature(feats[m], "Case"), upos[v]),
                                (*order, upos[v], upos[m], m == x - 1),
                            ],
                        )


class Speech(FactorFamily):
    """It works, he said: what is said hangs from the verb if it follows, above it if not."""

    name = "speech"
    summary = "English: a verb of saying, its subject and the clause"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower, lemmas = view.upos, view.lower, view.lemmas
        for v in words_with(lemmas, _SPEECH):
            for m in view.modifiers_of(v) if upos[v] == "VERB" else ():
                if upos[m] not in NOMINAL or abs(m - v) > 4:
                    continue
                before, after = lower[min(m, v) - 1], lower[min(max(m, v) + 1, view.n_words)]
                for x in view.heads_of(v):
                    if x == 0:
                        for c in view.modifiers_of(v):
                            if c != m and upos[c] in ("VERB", "ADJ", "NOUN"):
                                yield (
                                    [(x, v), (v, m), (v, c)],
                                    [
                                        ("above", lemmas[v], c < v, m < v),
                                        ("above", c < v, m < v, before),
                                    ],
                                )
                        continue
                    mark = before if x < v else after
                    yield (
                        [(x, v), (v, m)],
                        [
                            ("below", lemmas[v], x < v, m < v),
                            ("below", x < v, m < v, mark),
                            ("below", x < v, lemmas[v], mark, upos[x]),
                        ],
                    )


class Comparison(FactorFamily):
    """As good as B, more than B, too late to B: the standard hangs from what is compared."""

    name = "comparison"
    summary = "English: a degree word, its head, and the standard of comparison"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower = view.upos, view.lower
        for c in words_with(lower, _STANDARD):
            kinds = [(d, degree(lower[d], view.xpos[d])) for d in range(max(1, c - 8), c)]
            compared = [(d, kind) for d, kind in kinds if kind]
            for b in view.heads_of(c) if compared else ():
                heads = [h for h in view.heads_of(b) if 0 < h < c < b]
                for d, kind in compared:
                    for h in heads:
                        if h == d:
                            for g in view.heads_of(d):
                                yield (
                                    [(g, d), (d, b), (b, c)],
                                    [
                                        ("degree", kind, lower[c]),
                                        ("degree", kind, lower[c], upos[g], upos[b]),
                                    ],
                                )
                        else:
                            yield (
                                [(h, d), (h, b), (b, c)],
                                [
                                    ("compared", kind, lower[c]),
                                    ("compared", kind, lower[c], upos[h], upos[b]),
                                    ("compared", d < h, kind, lower[c]),
                                ],
                            )


class Fronted(FactorFamily):
    """In A, B does: what stands before the subject, with its comma."""

    name = "fronted"
    summary = "English: a phrase before the subject and its comma"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower = view.upos, view.lower
        for comma in words_with(lower, (",",)):

            def subjects(verb: int, comma: int = comma) -> list[int]:
                mods = view.modifiers_of(verb)
                return [m for m in mods if comma < m < verb and upos[m] in NOMINAL]

            for v in view.heads_of(comma):
                if v < comma:  # the comma hangs from what is fronted
                    for h in view.heads_of(v):
                        for m in subjects(h):
                            yield (
                                [(h, v), (v, comma), (h, m)],
                                [("own", upos[v], upos[h], upos[m]), ("own", lower[1], upos[v])],
                            )
                    continue
                own = subjects(v)
                for f in view.modifiers_of(v) if own else ():
                    for m in own if f < comma else ():
                        yield (
                            [(v, f), (v, comma), (v, m)],
                            [
                                ("head's", upos[f], upos[v], upos[m]),
                                ("head's", upos[f], f == comma - 1, view.xpos[m]),
                            ],
                        )
