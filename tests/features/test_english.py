"""Families for English, and coordinations that are alike."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.factors import FactorFamily, FactorView, check_family
from bbparse.treebank import Sentence
from bbparse_families.english.attachment import (
    Markers,
    PrepositionalPhrases,
    RelativeClauses,
    SamePreposition,
)
from bbparse_families.english.clauses import Agreement, Comparison, Fronted, Speech
from bbparse_families.english.coordination import Conjuncts, Correlatives, ParallelConjuncts, Series
from bbparse_families.english.nominals import Appositions, Compounds
from bbparse_families.english.punctuation import (
    Brackets,
    BracketSpans,
    FinalStop,
    PairedCommas,
    Segments,
)
from bbparse_families.parallel import ParallelLabels
from tests import toy
from tests.features import plain
from tests.models.factors.helpers import random_arcs, random_sentence, random_tree

FAMILIES: tuple[type[FactorFamily], ...] = (
    Conjuncts,
    ParallelConjuncts,
    Series,
    Correlatives,
    PrepositionalPhrases,
    SamePreposition,
    Markers,
    RelativeClauses,
    Brackets,
    PairedCommas,
    FinalStop,
    Agreement,
    Speech,
    Comparison,
    Fronted,
    Compounds,
    Appositions,
    BracketSpans,
    Segments,
)


def sentence(text: str) -> Sentence:
    """Words as form/UPOS/head; AUX are finite and singular."""
    rows = [word.rsplit("/", 2) for word in text.split()]
    forms = [form for form, _, _ in rows]
    return Sentence.from_words(
        forms,
        lemmas=[form.lower().removesuffix("s") for form in forms],
        upos=[tag for _, tag, _ in rows],
        feats=["Number=Sing|VerbForm=Fin" if tag == "AUX" else "_" for _, tag, _ in rows],
        heads=[int(head) for _, _, head in rows],
    )


CASES: list[tuple[type[FactorFamily], str, int]] = [
    (Conjuncts, "cats/NOUN/0 and/CCONJ/3 dogs/NOUN/1", 1),
    (Conjuncts, "cats/NOUN/0 and/CCONJ/1 dogs/NOUN/1", 0),
    (ParallelConjuncts, "in/ADP/2 May/PROPN/0 or/CCONJ/5 in/ADP/5 June/PROPN/2", 2),
    (Series, "red/ADJ/0 ,/PUNCT/3 old/ADJ/1 and/CCONJ/5 big/ADJ/1", 1),
    (Series, "red/ADJ/0 ,/PUNCT/3 old/ADJ/1 and/CCONJ/5 big/ADJ/3", 1),  # nested
    (Correlatives, "both/CCONJ/2 cats/NOUN/0 and/CCONJ/4 dogs/NOUN/2", 1),
    (PrepositionalPhrases, "eats/VERB/0 pizza/NOUN/1 with/ADP/4 forks/NOUN/1", 2),
    (PrepositionalPhrases, "eats/VERB/0 pizza/NOUN/1 with/ADP/4 cheese/NOUN/2", 2),
    (SamePreposition, "is/VERB/0 in/ADP/3 May/PROPN/1 in/ADP/5 Rome/PROPN/1", 1),
    (SamePreposition, "is/VERB/0 in/ADP/3 streets/NOUN/1 in/ADP/5 Rome/PROPN/3", 1),
    (Markers, "sings/VERB/0 if/SCONJ/4 he/PRON/4 walks/VERB/1", 1),
    (RelativeClauses, "men/NOUN/0 who/PRON/4 have/AUX/4 sung/VERB/1", 2),
    (Brackets, "cats/NOUN/0 (/PUNCT/3 old/ADJ/1 )/PUNCT/3", 2),
    (Brackets, "cats/NOUN/0 (/PUNCT/1 old/ADJ/1 )/PUNCT/3", 1),  # apart
    (BracketSpans, "cats/NOUN/0 (/PUNCT/3 old/ADJ/1 )/PUNCT/3", 1),
    (BracketSpans, "cats/NOUN/0 (/PUNCT/3 old/ADJ/1 )/PUNCT/3 here/ADV/3", 2),
    (Segments, "sing/VERB/0 well/ADV/1 ,/PUNCT/1 my/PRON/5 cats/NOUN/1", 2),
    (PairedCommas, "Bob/PROPN/6 ,/PUNCT/4 the/DET/4 boss/NOUN/1 ,/PUNCT/4 sings/VERB/0", 2),
    (FinalStop, "sings/VERB/0 !/PUNCT/1", 1),
    (FinalStop, "sings/VERB/0 he/PRON/1 !/PUNCT/2", 1),  # apart
    (FinalStop, "sings/VERB/0 he/PRON/1", 0),
    (Agreement, "he/PRON/3 is/AUX/3 singing/VERB/0", 1),
    (Speech, "sing/VERB/0 ,/PUNCT/4 they/PRON/4 say/VERB/1", 1),
    (Speech, "they/PRON/2 say/VERB/0 he/PRON/4 sings/VERB/2", 1),
    (Comparison, "as/ADV/2 old/ADJ/0 as/ADP/4 Rome/PROPN/2", 1),
    (Comparison, "more/ADJ/0 than/ADP/3 Rome/PROPN/1", 1),
    (Compounds, "New/PROPN/3 York/PROPN/3 Times/PROPN/0", 2),
    (Compounds, "sees/VERB/0 New/PROPN/1 York/PROPN/2", 1),
    (Appositions, "Bob/PROPN/0 ,/PUNCT/4 the/DET/4 boss/NOUN/1", 1),
    (Fronted, "Here/ADV/4 ,/PUNCT/4 he/PRON/4 sings/VERB/0", 1),
    (Fronted, "called/VERB/4 ,/PUNCT/1 he/PRON/4 sings/VERB/0", 1),
]


@pytest.mark.parametrize(("cls", "text", "fires"), CASES)
def test_where_a_family_fires(cls: type[FactorFamily], text: str, fires: int) -> None:
    s = sentence(text)
    assert check_family(cls(), s) == fires
    assert {case[0] for case in CASES} == set(FAMILIES)


@pytest.mark.parametrize("cls", FAMILIES)
def test_the_contract_in_real_sentences_and_odd_trees(cls: type[FactorFamily]) -> None:
    rng = np.random.default_rng(7)
    family = cls()
    for s in toy.sentences()[:60:3]:
        if s.n_words > 25:
            continue
        check_family(family, s)
        odd = random_tree(rng, s.n_words)
        gold = set(zip(s.heads, range(1, s.n_words + 1)))
        check_family(family, s, odd, gold)


def factors_of(view: FactorView) -> list[tuple[tuple[int, int], ...]]:
    batch = ParallelLabels().propose(view)
    return [
        tuple((int(view.arc_head[a]), int(view.arc_mod[a])) for a in batch.arcs[start:end])
        for start, end in zip(batch.ptr, batch.ptr[1:])
    ]


@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
def test_two_words_that_are_joined_and_a_modifier_of_each(share: float) -> None:
    rng, some, names = np.random.default_rng(1), 0, ("conj", "nsubj", "obj", "parataxis")
    for n_words in (1, 2, 4, 6, *[9] * round(3 / share)):
        arcs = sorted(random_arcs(rng, n_words, share))
        labels = rng.integers(0, len(names) + 1, len(arcs)).astype(np.int32)  # 0 is none
        head, mod = np.array(arcs, np.int32).reshape(-1, 2).T
        view = FactorView(random_sentence(rng, n_words), head, mod, None, labels, names)
        label = dict(zip(arcs, labels.tolist()))
        expected = [
            (joined, one, other)
            for one, joined, other in plain.nephews(arcs)
            if one[0] and label[joined] in (1, 4) and label[one] == label[other]
        ]
        found = factors_of(view)
        assert len(found) == len(set(found)) and set(found) == set(expected)
        some += len(found)
    assert some > 3
