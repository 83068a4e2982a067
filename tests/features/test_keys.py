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

from bbparse.factors import FactorTable, FactorView, alive_factors, available, load_families
from bbparse.treebank import Sentence
from tests import toy
from tests.models.factors.helpers import all_arcs, scored

WORDS = (
    "in/ADP", "in/ADP", "with/ADP", "and/CCONJ", "and/CCONJ", "or/CCONJ", ",/PUNCT", ",/PUNCT",
    "(/PUNCT", ")/PUNCT", '"/PUNCT', "./PUNCT", "–/PUNCT", "-/PUNCT", "May/PROPN", "USA/PROPN",
    "2003/NUM", "cats/NOUN", "cats/NOUN", "Dog/NOUN", "old/ADJ", "red/ADJ", "as/ADV", "as/SCONJ",
    "more/ADJ", "than/SCONJ", "says/VERB", "runs/VERB", "runs/VERB", "is/AUX", "are/AUX",
    "he/PRON", "Him/PRON", "who/PRON", "that/SCONJ", "to/PART", "both/CCONJ", "not/PART",
    "rather/ADV", "if/SCONJ", "the/DET", "naïve/ADJ",
)  # fmt: skip
FEATS = {
    "is": "Number=Sing|Person=3|VerbForm=Fin", "are": "Number=Plur|VerbForm=Fin",
    "he": "Case=Nom|Number=Sing", "him": "Case=Acc|Number=Sing", "cats": "Number=Plur",
}  # fmt: skip
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
    "agreement": (557, "9f7683c1601077f1"),
    "appositions": (25, "96c40193d01507e1"),
    "bracket-spans": (13, "09d0a63dca529977"),
    "brackets": (288, "dd749fc55336cad8"),
    "combs": (3812, "3ed519b813be5f0b"),
    "comparison": (485, "2f3383591f4a21b9"),
    "compounds": (870, "2567f31e62f55d61"),
    "conjuncts": (427, "6e8d4f4dad777613"),
    "correlatives": (121, "794fe377102d1c00"),
    "final-stop": (2006, "a72434ae0e305fc2"),
    "fronted": (119, "1bf7001205999031"),
    "grandchildren": (27907, "7e212f818ff0e573"),
    "great-grandchildren": (68326, "717b652c9e53e891"),
    "markers": (1123, "b49cd68c99c0116d"),
    "modifiers-of-kind": (6049, "6ef5dc16f5da7b03"),
    "nephews": (92853, "c7a41abb6c867f43"),
    "paired-commas": (356, "49797590dc72028c"),
    "parallel-conjuncts": (209, "3c1f5a4083acccee"),
    "parallel-labels": (5981, "866f006d0905503e"),
    "prepositional-phrases": (897, "2f78d1777079703c"),
    "rather-than": (12, "da1be4cbe301f599"),
    "relative-clauses": (367, "15e7b702688fba32"),
    "same-preposition": (168, "78d1c7394c8ee248"),
    "segments": (232, "10fc0abad399c2b3"),
    "series": (37, "44cf41eda76855e6"),
    "sibling-labels": (19673, "077a81dafc09242d"),
    "siblings": (19673, "3992d46a49e44795"),
    "speech": (222, "812b47fa0d0f1451"),
    "tri-siblings": (29536, "0c42f1d5e34fbcd7"),
    "valency": (2405, "a145be37eba81341"),
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
            (batch.feat_ptr, np.int64), (batch.feat_keys, np.uint64), (batch.gates, np.uint64),
        ):  # fmt: skip
            digest.update(array.astype(dtype).tobytes())
    assert (n_sets, digest.hexdigest()) == DIGESTS[name]


@pytest.mark.parametrize("names", [*zip(DIGESTS), ("brackets", "valency", "series")])
def test_scores_are_those_of_what_is_proposed(names: tuple[str, ...]) -> None:
    """In the order of the families, and whatever was asked before."""
    families, some, rng = load_families(names), views()[::3], np.random.default_rng(35)
    plain = [[family.propose(view) for family in families] for view in some]
    flat = [batch for row in plain for batch in row]
    keys, first = np.unique(np.concatenate([b.feat_keys for b in flat]), return_index=True)
    gates = np.concatenate([np.repeat(b.gates, np.diff(b.feat_ptr)) for b in flat])[first]
    known = rng.random(len(keys)) < 0.4
    table = FactorTable(keys[known], gates[known], rng.normal(size=known.sum()))
    for _ in range(2):
        for batches, factors in zip(plain, alive_factors(families, some, table)):
            expected = [scored(batch, table) for batch in batches]
            for own, parts in zip(factors[1:], zip(*(part[1:] for part in expected))):
                whole = np.concatenate(parts)
                assert own.dtype == whole.dtype
                assert own.tolist() == pytest.approx(whole.tolist(), rel=1e-12, abs=1e-12)
            sizes = np.concatenate([np.diff(part.ptr) for part in expected])
            assert np.diff(factors.ptr).tolist() == sizes.tolist()
        table.weights[:] = rng.integers(-3, 4, len(table))


def test_every_family_is_here() -> None:
    assert set(available()) == set(DIGESTS)
