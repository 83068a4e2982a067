"""Tags that the parser can build on: of sequences that are nearly as good, the guide's choice.

A tagger sees a few words around each. Where it errs, another tag was often nearly as good, and with
that one the guide is much surer of the heads and labels of all words: *that* is a pronoun, or else
the clause has no subject. So the words whose next choice costs least are given it one after the
other, where that pays.
"""

from __future__ import annotations

from bbparse.scoring.candidates import LONG
from bbparse.scoring.problem_maker import ProblemMaker
from bbparse.tagging import Tagger
from bbparse.tagging.layer import LAYER_QUANTUM, Choice
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode

#: What 1 in the tagger's scores counts, in log-probabilities of the guide; other choices that are
#: looked at, and how far away they may be from the best sequence, in steps of `LAYER_QUANTUM`.
WEIGHT = 1.28
MOST, FURTHEST = 4, 150


def with_own_tags(sentence: Sentence, tagger: Tagger, maker: ProblemMaker) -> Sentence:
    """A copy of a sentence with the tags of words that tagger and guide like best together.

    Those of the tagger alone where there is no guide, `guide.tags` is not set, there is no other
    choice, or a sentence has more than `LONG` words.
    """
    forms = sentence.forms
    if maker.guide is None or not maker.config.guide.tags or len(forms) > LONG:
        return tagger(sentence)
    values = tagger.encode(forms)
    sequences = tagger.sequences(values, forms)
    tags, top = sequences.best()
    found = tagger.columns_with(values.copy(), forms, tags).of(sentence)
    others = sequences.near(MOST, FURTHEST)
    if not others:
        return found
    chosen: list[Choice] = []
    best = _certainty(found, maker)
    for choice in others:
        if any(choice.word == one.word for one in chosen):
            continue
        tags, total = sequences.best([*chosen, choice])
        other = tagger.columns_with(values.copy(), forms, tags).of(sentence)
        value = _certainty(other, maker) - WEIGHT * LAYER_QUANTUM * (top - total)
        if value > best:
            chosen.append(choice)
            found, best = other, value
    return found


def _certainty(sentence: Sentence, maker: ProblemMaker) -> float:
    """The guide's, among the candidate arcs."""
    assert maker.guide is not None
    values = encode(sentence)
    outside = None if maker.outside is None else maker.outside([sentence])[0]
    return maker.guide.certainty(values, *maker.pruner.candidates(values), outside)
