"""What every installed family proposes stays as it is: models are files of these keys.

A digest that changes means that models which were trained with the family lose its features. New
features belong into a family of another name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from random import Random

import numpy as np
import pytest

from bbparse.factors import FactorView
from bbparse.models.factors.registry import available
from bbparse.treebank import Sentence
from tests import toy
from tests.models.factors.helpers import all_arcs

WORDS = (
    "in/ADP",
    "in/ADP",
    "with/ADP",
    "and/CCONJ",
    "and/CCONJ",
    "or/CCONJ",
    ",/PUNCT",
    ",/PUNCT",
    "(/PUNCT",
    ")/PUNCT",
    '"/PUNCT',
    "./PUNCT",
    "–/PUNCT",
    "-/PUNCT",
    "May/PROPN",
    "USA/PROPN",
    "2003/NUM",
    "cats/NOUN",
    "cats/NOUN",
    "Dog/NOUN",
    "old/ADJ",
    "red/ADJ",
    "as/ADV",
    "as/SCONJ",
    "more/ADJ",
    "than/SCONJ",
    "says/VERB",
    "runs/VERB",
    "runs/VERB",
    "is/AUX",
    "are/AUX",
    "he/PRON",
    "Him/PRON",
    "who/PRON",
    "that/SCONJ",
    "to/PART",
    "both/CCONJ",
    "not/PART",
    "rather/ADV",
    "if/SCONJ",
    "the/DET",
    "naïve/ADJ",
)
FEATS = {
    "is": "Number=Sing|Person=3|VerbForm=Fin",
    "are": "Number=Plur|VerbForm=Fin",
    "he": "Case=Nom|Number=Sing",
    "him": "Case=Acc|Number=Sing",
    "cats": "Number=Plur",
}
LABELS = ("conj", "nsubj", "punct", "list")
#: What chance hardly ever makes, with all arcs.
RARE = (
    "red/ADJ ,/PUNCT old/ADJ ,/PUNCT naïve/ADJ ,/PUNCT and/CCONJ more/ADJ",
    "not/PART cats/NOUN but/CCONJ both/CCONJ Dog/NOUN and/CCONJ cats/NOUN",
    'he/PRON says/VERB (/PUNCT of/ADP May/PROPN )/PUNCT "/PUNCT so/ADV "/PUNCT',
    "in/ADP USA/PROPN ,/PUNCT who/PRON are/AUX old/ADJ ,/PUNCT runs/VERB",
    "as/ADV old/ADJ in/ADP May/PROPN rather/ADV than/SCONJ in/ADP 2003/NUM",
)

#: Of the factors of each family, or count factors, and how many there are.
DIGESTS = {
    "agreement": (557, "44f94eb4a4295f85"),
    "appositions": (25, "3c47e02b17cc1d9e"),
    "bracket-spans": (13, "f734b11651bb4c0f"),
    "brackets": (288, "ee522513b7ec3354"),
    "combs": (3812, "3998dbde1879c5c8"),
    "comparison": (485, "713400f9b98a772d"),
    "compounds": (870, "e7069a741b56e92c"),
    "conjuncts": (427, "d1cbe459029df023"),
    "correlatives": (121, "6c07c8a6b5755bb4"),
    "final-stop": (2006, "e3fcb14798f62ea8"),
    "fronted": (119, "6223b9bde640ba43"),
    "grandchildren": (27907, "77c273253f3efb6e"),
    "great-grandchildren": (68326, "58cbc632032134b5"),
    "markers": (1123, "f151af237aeffb93"),
    "modifiers-of-kind": (6049, "646109b23cd17f9d"),
    "nephews": (92853, "9793b7c7377cd9cb"),
    "paired-commas": (356, "19776c03c87cbd05"),
    "parallel-conjuncts": (209, "431ab3a65101ee06"),
    "parallel-labels": (5981, "0213865bc5088a82"),
    "prepositional-phrases": (897, "d953fddbe31d74e4"),
    "rather-than": (12, "960d34fdb228a440"),
    "relative-clauses": (367, "d8867f81aa9b38ed"),
    "same-preposition": (168, "0bb6bee156275b14"),
    "segments": (232, "b3d528410f18e2c4"),
    "series": (37, "14f1e67ccbe53a60"),
    "sibling-labels": (19673, "ccbb2d8af0526eed"),
    "siblings": (19673, "c608664864e7d6f4"),
    "speech": (222, "04f88039a5269e68"),
    "tri-siblings": (29536, "204faa67a5668202"),
    "valency": (2405, "a8e6841fc7747300"),
}


def sentence_of(words: Sequence[str]) -> Sentence:
    """Words as form/UPOS; the rest is made of these."""
    rows = [word.rsplit("/", 1) for word in words]
    return Sentence.from_words(
        [form for form, _ in rows],
        lemmas=[form.lower().removesuffix("s") for form, _ in rows],
        upos=[tag for _, tag in rows],
        xpos=["JJR" if form == "more" else tag[:2] for form, tag in rows],
        feats=[FEATS.get(form.lower(), "_") for form, _ in rows],
    )


@cache
def views() -> list[FactorView]:
    """Of all arcs of short sentences, of some of longer ones; and trees of the small treebank."""
    rng = Random(33)
    sentences = [sentence_of(row.split()) for row in RARE]
    sentences += [sentence_of(rng.choices(WORDS, k=1 + i % 14)) for i in range(140)]
    sentences += toy.sentences()[:40]
    made = []
    for sentence in sentences:
        share = 1.0 if sentence.n_words < 10 else 4.5 / sentence.n_words
        arcs = [arc for arc in all_arcs(sentence.n_words) if rng.random() < share]
        made.append(FactorView(sentence, *map(list, zip(*arcs)), label_names=LABELS))
        if sentence.has_heads:
            made.append(FactorView.of_tree(sentence, [-1, *sentence.heads], label_names=LABELS))
    for view in made:
        view.arc_labels[:] = rng.choices(range(len(LABELS) + 1), k=view.n_arcs)
    return made


@pytest.mark.parametrize("name", DIGESTS)
def test_factors_stay(name: str) -> None:
    family, digest, n_sets = available()[name].load(), blake2b(digest_size=8), 0
    for view in views():
        batch = family.propose_all(view)
        n_sets += len(batch)
        for array, dtype in (
            (batch.ptr, np.int64),
            (batch.arcs, np.int32),
            (batch.cell_ptr, np.int64),
            (batch.feat_ptr, np.int64),
            (batch.feat_keys, np.uint64),
        ):
            digest.update(array.astype(dtype).tobytes())
    assert (n_sets, digest.hexdigest()) == DIGESTS[name]


def test_every_family_is_here() -> None:
    assert set(available()) == set(DIGESTS)
