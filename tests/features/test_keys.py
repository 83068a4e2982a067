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

from bbparse.factors import FactorView, available
from bbparse.treebank import Sentence
from tests import toy
from tests.models.factors.helpers import all_arcs

WORDS = (
    "in/ADP", "in/ADP", "with/ADP", "and/CCONJ", "and/CCONJ", "or/CCONJ", ",/PUNCT", ",/PUNCT",
    "(/PUNCT", ")/PUNCT", '"/PUNCT', "./PUNCT", "–/PUNCT", "-/PUNCT", "May/PROPN", "USA/PROPN",
    "2003/NUM", "cats/NOUN", "cats/NOUN", "Dog/NOUN", "old/ADJ", "red/ADJ", "as/ADV", "as/SCONJ",
    "more/ADJ", "than/SCONJ", "says/VERB", "runs/VERB", "runs/VERB", "is/AUX", "are/AUX",
    "he/PRON", "Him/PRON", "who/PRON", "that/SCONJ", "to/PART", "both/CCONJ", "not/PART",
    "rather/ADV", "if/SCONJ", "the/DET", "naïve/ADJ",
)
FEATS = {
    "is": "Number=Sing|Person=3|VerbForm=Fin", "are": "Number=Plur|VerbForm=Fin",
    "he": "Case=Nom|Number=Sing", "him": "Case=Acc|Number=Sing", "cats": "Number=Plur",
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
    "agreement": (557, "9c894db98b1eb9f9"),
    "appositions": (25, "78991c26f2ea02c7"),
    "bracket-spans": (13, "3e32d4d15d3fd749"),
    "brackets": (288, "78cd4cdc07a8f912"),
    "combs": (3812, "3998dbde1879c5c8"),
    "comparison": (485, "d99f804779f8790d"),
    "compounds": (870, "d83997c81d658f14"),
    "conjuncts": (427, "f43f1d5e3f39ec5a"),
    "correlatives": (121, "199266092a1af7d3"),
    "final-stop": (2006, "70b3f8c212080b0e"),
    "fronted": (119, "94ed4eb1bac0b12a"),
    "grandchildren": (27907, "b2613972d5dc0ace"),
    "great-grandchildren": (68326, "7d256199cc6a0c7a"),
    "markers": (1123, "bd9d8f405f0dc4a2"),
    "modifiers-of-kind": (6049, "1b9c97cade2a4e62"),
    "nephews": (92853, "eeb51c235d961122"),
    "paired-commas": (356, "5c6342f8a3bad274"),
    "parallel-conjuncts": (209, "a4afa498119c8316"),
    "parallel-labels": (5981, "1dc9a0e070627525"),
    "prepositional-phrases": (897, "b47ec6c9e98a41d4"),
    "rather-than": (12, "e656248c583b102b"),
    "relative-clauses": (367, "d8a21ff6e2c9a992"),
    "same-preposition": (168, "deb98daefeaa1248"),
    "segments": (232, "810e8988dcab89d8"),
    "series": (37, "b28ef7c80ce5db22"),
    "sibling-labels": (19673, "03f8e525d02f161d"),
    "siblings": (19673, "5ceedbeef4a3c164"),
    "speech": (222, "af70b9c446acbd72"),
    "tri-siblings": (29536, "f8d632d9bca94839"),
    "valency": (2405, "70d3d6643ec4f97b"),
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
            (batch.ptr, np.int64), (batch.arcs, np.int32), (batch.cell_ptr, np.int64),
            (batch.feat_ptr, np.int64), (batch.feat_keys, np.uint64),
        ):
            digest.update(array.astype(dtype).tobytes())
    assert (n_sets, digest.hexdigest()) == DIGESTS[name]


def test_every_family_is_here() -> None:
    assert set(available()) == set(DIGESTS)
