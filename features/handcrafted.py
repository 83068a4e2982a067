"""Handcrafted families: a regular mistake of the parser, and the arcs that would be right.

QL13 §4.3 wrote thirteen of them for English, one for each of the commonest errors of their parser.
`RatherThan` is the one they show (figure 3), and the pattern for others:

1. find the words, first those that few sentences have;
2. for each analysis, yield its arcs. Arcs that are no candidates need no test; features tell the
   analyses apart and say what else may matter, from coarse to fine.
"""

from __future__ import annotations

from bbparse.factors import AnySentence, RuleFamily

from .english.words import Rules


class RatherThan(RuleFamily):
    """A rather than B, where A and B are alike: "through action rather than through silence".

    The example is the paper's case, in which A and B are the same preposition; two nouns, verbs or
    adjectives are joined in the same way. Treebanks differ about the arcs, so both analyses are
    proposed, and the weights learn which one the treebank has:

    * Penn Treebank, as in the paper: A → than, than → rather, than → B;
    * Universal Dependencies: A → B, B → rather, rather → than.
    """

    name = "rather-than"
    summary = "A rather than B with A and B alike (QL13 figure 3)"

    def rules(self, s: AnySentence) -> Rules:
        for rather in s.words(2):
            than = rather + 1
            s.require(rather.lower == "rather", than.lower == "than", than < s.n_words)
            for a in s.words(1, rather):
                for b in s.words(than + 1):
                    s.require(a.upos == b.upos)
                    same = s.choose(a.lower == b.lower, "same word", "same tag")
                    for analysis, arcs in (
                        ("penn", [(a, than), (than, rather), (than, b)]),
                        ("ud", [(a, b), (b, rather), (rather, than)]),
                    ):
                        yield arcs, [analysis, (analysis, a.upos), (analysis, same, a.upos)]
