"""Handcrafted families: each targets a regular error of the parser.

QL13 §4.3 wrote thirteen of them for English, one for each of the commonest errors of their parser.
`RatherThan` is the one they show (figure 3), and the pattern for others:

1. find the words, first those that few sentences have;
2. for each analysis, yield its arcs. Arcs that are no candidates need no test; features tell the
   analyses apart and say what else may matter, from coarse to fine.
"""

from __future__ import annotations

from itertools import product

from bbparse.factors import FactorFamily, FactorView

from .english.words import Proposed, words_with


class RatherThan(FactorFamily):
    """A rather than B, where A and B are alike: "through action rather than through silence".

    The example is the paper's case, in which A and B are the same preposition; two nouns, verbs or
    adjectives are joined in the same way. Treebanks differ about the arcs, so both analyses are
    proposed, and the weights learn which one the treebank has:

    * Penn Treebank, as in the paper: A → than, than → rather, than → B;
    * Universal Dependencies: A → B, B → rather, rather → than.
    """

    name = "rather-than"
    summary = "A rather than B with A and B alike (QL13 figure 3)"

    def factors(self, view: FactorView) -> Proposed:
        upos, lower = view.upos, view.lower
        for rather in words_with(lower, ("rather",)):
            than = rather + 1
            if not (1 < rather < view.n_words - 1 and lower[than] == "than"):
                continue
            for a, b in product(range(1, rather), range(than + 1, view.n_words + 1)):
                if upos[a] == upos[b]:
                    same = "same word" if lower[a] == lower[b] else "same tag"
                    for analysis, arcs in (
                        ("penn", [(a, than), (than, rather), (than, b)]),
                        ("ud", [(a, b), (b, rather), (rather, than)]),
                    ):
                        yield arcs, [analysis, (analysis, upos[a]), (analysis, same, upos[a])]
