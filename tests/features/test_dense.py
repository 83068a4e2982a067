"""Siblings, triples and chains: every kernel against plain Python, every key against its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from bbparse.factors import FactorBatch, FactorView, TemplateFamily, check_family
from bbparse.models.factors.registry import load_families
from bbparse.runtime.errors import FactorError
from bbparse_families.grandchildren import AllGrandchildren, GreatGrandchildren
from bbparse_families.nephews import Nephews
from bbparse_families.siblings import AllSiblings, SiblingLabels, TriSiblings
from tests.features import plain
from tests.models.factors.helpers import random_arcs, random_sentence, random_tree, view_of

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
