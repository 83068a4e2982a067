"""Siblings, triples and chains: every kernel against plain Python, every key against its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from bbparse.factors import (
    FactorBatch,
    FactorCounter,
    FactorTable,
    FactorView,
    TemplateFamily,
    check_family,
    load_families,
)
from bbparse.runtime.errors import FactorError
from bbparse.treebank import Sentence
from bbparse.treebank.encode import attribute_values
from bbparse_families.grandchildren import AllGrandchildren, GreatGrandchildren
from bbparse_families.nephews import Nephews
from bbparse_families.siblings import AllSiblings, SiblingLabels, TriSiblings
from tests.features import plain
from tests.models.factors.helpers import (
    random_arcs,
    random_sentence,
    random_tree,
    view_of,
)

Arc = tuple[int, int]
Factor = tuple[Arc, ...]

ENUMERATE: dict[type[TemplateFamily], Callable[[list[Arc]], list[Factor]]] = {
    AllSiblings: partial(plain.siblings, size=2),
    SiblingLabels: partial(plain.siblings, size=2),
    TriSiblings: partial(plain.siblings, size=3),
    AllGrandchildren: partial(plain.chains, size=2),
    GreatGrandchildren: partial(plain.chains, size=3),
    Nephews: plain.nephews,
}

NAMES = ("siblings", "tri-siblings", "grandchildren", "great-grandchildren", "combs", "rather-than")

dense = pytest.mark.parametrize("cls", list(ENUMERATE))


def factors_of(batch: FactorBatch, view: FactorView) -> list[Factor]:
    """The arcs of each factor, as the batch orders them."""
    return [
        tuple(
            (int(view.arc_head[a]), int(view.arc_mod[a]))
            for a in batch.arcs[batch.ptr[f] : batch.ptr[f + 1]]
        )
        for f in range(len(batch))
    ]


@dense
@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
def test_a_kernel_enumerates_what_the_definition_says(
    cls: type[TemplateFamily], share: float
) -> None:
    rng = np.random.default_rng(5)
    family = cls()
    for n_words in (1, 2, 3, 5, 8):
        sentence = random_sentence(rng, n_words)
        arcs = random_arcs(rng, n_words, share)
        view = view_of(sentence, arcs)
        found = factors_of(family.propose(view), view)
        expected = ENUMERATE[cls](arcs)
        assert Counter(map(frozenset, found)) == Counter(map(frozenset, expected))


def order_and_distance(cls: type[TemplateFamily], factor: Factor) -> tuple[object, object]:
    """The classes a factor is in, in plain Python."""
    if cls in (AllSiblings, SiblingLabels, TriSiblings):
        mods = [m for _, m in factor]
        return sum(m < h for h, m in factor), plain.seven(max(mods) - min(mods))
    if cls is Nephews:
        (h, sibling), (_, m), (_, c) = factor
        return (h < sibling, h < m, m < c, sibling < m), plain.four(abs(sibling - m))
    buckets = plain.four if cls is AllGrandchildren else plain.three
    return tuple(h < m for h, m in factor), tuple(buckets(abs(h - m)) for h, m in factor)


def word_text(sentence: Sentence, place: int, attribute: str) -> str:
    if place < 1 or place > sentence.n_words:
        return f"outside {min(place, 0)} {max(place - sentence.n_words, 0)}"
    columns = (sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats)
    return attribute_values(*(column[place - 1] for column in columns))[attribute]


def template_text(
    family: TemplateFamily, template: str, view: FactorView, factor: Factor
) -> tuple[object, ...]:
    """What a template reads from a factor, in words."""
    sentence = view.sentence
    order, distance = order_and_distance(type(family), factor)
    words = dict(zip(family.words, [factor[0][0], *(mod for _, mod in factor)]))
    text: list[object] = [template, order]
    for term in sorted({*template.split(), *family.common.split()}):
        if term == "distance":
            text.append(distance)
            continue
        if term.startswith("@"):
            arc = factor[family.words.index(term[1:]) - 1]
            text.append((term, view.label_name(*arc)))
            continue
        place, attribute = term.split(".")
        role, _, offset = place.partition("-")
        text.append((term, word_text(sentence, words[role] - int(offset or 0), attribute)))
    return tuple(text)


@dense
def test_keys_are_equal_exactly_where_templates_read_the_same(cls: type[TemplateFamily]) -> None:
    rng = np.random.default_rng(6)
    family = cls()
    size = len(family.templates)
    text_of: dict[int, tuple[object, ...]] = {}
    key_of: dict[tuple[object, ...], int] = {}
    shared = 0
    for n_words in (1, 4, 16, 18, *[7] * 8):
        sentence = random_sentence(rng, n_words)
        view = view_of(sentence, random_arcs(rng, n_words, 0.7 if n_words < 9 else 0.12))
        view.arc_labels[:] = rng.integers(1, 5, view.n_arcs)
        batch = family.propose(view)
        assert batch.feat_ptr.tolist() == [size * f for f in range(len(batch) + 1)]
        for f, factor in enumerate(factors_of(batch, view)):
            keys = batch.feat_keys[size * f : size * f + size].tolist()
            for template, key in zip(family.templates, keys):
                text = template_text(family, template, view, factor)
                shared += text in key_of
                assert key_of.setdefault(text, key) == key
                assert text_of.setdefault(key, text) == text
    assert len(key_of) == len(text_of)
    assert shared > 100


def trained(rng: np.random.Generator, names: tuple[str, ...] = NAMES) -> FactorTable:
    """A table of features of some random trees, with weights some of which are 0."""
    families = load_families(names)
    counter = FactorCounter()
    for n_words in rng.integers(2, 14, 120):
        sentence = random_sentence(rng, int(n_words))
        tree = FactorView.of_tree(sentence, [-1, *sentence.heads])
        counter.add(family.propose(tree) for family in families)
    table = counter.table(1)
    weights = rng.integers(-2, 3, len(table))
    return FactorTable(table.keys, weights)


@pytest.mark.parametrize("name", NAMES)
def test_what_fires_in_a_tree_is_what_is_proposed_for_its_arcs(name: str) -> None:
    rng = np.random.default_rng(9)
    (family,) = load_families([name])
    fired = 0
    for n_words in (1, 2, 3, 5, 8, 13):
        for share in (0.0, 0.5, 1.0):
            sentence = random_sentence(rng, n_words)
            heads = random_tree(rng, n_words)
            fired += check_family(family, sentence, heads, random_arcs(rng, n_words, share))
    assert fired > 0 or name in ("rather-than", "combs")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"templates": ("h.upos", "x.upos")}, "unknown role 'x' in 'x.upos'; roles are h, m1, m2"),
        ({"templates": ("h.color",)}, "unknown attribute 'color' in 'h.color'; attributes are "),
        ({"templates": ("h",)}, "'h' is not an atom: expected role.attribute or @name"),
        ({"templates": ("m1-4.upos",)}, r"offset of 'm1-4.upos' is -4, expected -3 to"),
        ({"templates": ("h.upos m1.xpos", "m1.xpos h.upos")}, "'m1.xpos h.upos' is given twice"),
        ({"templates": ("@h",)}, "unknown atom @h, expected one of @distance, @m1, @m2"),
        ({"templates": ("@x",)}, "unknown atom @x"),
        ({"templates": ("@m1 h.upos", "h.upos @m1")}, "'h.upos @m1' is given twice"),
        ({"templates": ()}, "the class has no templates"),
        ({"arcs": ()}, "the class has no arcs"),
        ({"arcs": ("h m1", "m2 m3")}, "no word 'm2'"),
        ({"arcs": ("h m1", "h m2", "h m1")}, "arcs that are not connected"),
        ({"arcs": ("h m1", "m2 m3", "h m2")}, "arcs that are not connected"),
        ({"order": {"m1 x": 1}}, "no word 'x'"),
    ],
)
def test_mistakes_in_templates_are_explained(attributes: dict[str, object], message: str) -> None:
    odd = type("Odd", (AllSiblings,), {"name": "odd", **attributes})
    with pytest.raises(FactorError, match=f"factor family 'odd'.*{message}"):
        odd()
