"""`ParallelLabels`: the arcs its definition names, and features that read labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bbparse.factors import FactorView
from bbparse.treebank import Sentence
from bbparse_families.parallel import ParallelLabels
from tests.factors.helpers import all_arcs, random_arcs, random_sentence

NAMES = ("conj", "nsubj", "obj", "parataxis")
Factor = tuple[tuple[int, int], ...]


def labelled_view(
    rng: np.random.Generator, n_words: int, share: float = 1.0, names: tuple[str, ...] = NAMES
) -> FactorView:
    """Random arcs with random labels; 0 is none."""
    arcs = all_arcs(n_words) if share == 1.0 else random_arcs(rng, n_words, share)
    head, mod = np.array(sorted(arcs), np.int32).reshape(-1, 2).T
    labels = rng.integers(0, len(NAMES) + 1, len(head)).astype(np.int32)
    return FactorView(random_sentence(rng, n_words), head, mod, None, labels, names)


def factors_of(view: FactorView) -> list[Factor]:
    batch = ParallelLabels().propose(view)
    return [
        tuple((int(view.arc_head[a]), int(view.arc_mod[a])) for a in batch.arcs[start:end])
        for start, end in zip(batch.ptr, batch.ptr[1:])
    ]


def defined(view: FactorView) -> set[Factor]:
    """Straight from the definition: h → m, h → s, m → c that a projective tree may hold."""
    arcs = list(zip(view.arc_head.tolist(), view.arc_mod.tolist()))
    found = set()
    for (h, m), (g, s), (k, c) in product(arcs, repeat=3):
        if h == 0 or g != h or k != m or len({h, m, s, c}) < 4:
            continue
        low, high = min(m, c), max(m, c)
        if low < h < high or low < s < high:
            continue
        if view.label_name(h, m) not in ("conj", "parataxis"):
            continue
        if view.label_name(h, s) == view.label_name(m, c):
            found.add(((h, m), (h, s), (m, c)))
    return found


@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
def test_it_proposes_what_the_definition_says(share: float) -> None:
    rng = np.random.default_rng(1)
    some = 0
    for n_words in (1, 2, 4, 6, *[9] * round(3 / share)):
        view = labelled_view(rng, n_words, share)
        found = factors_of(view)
        assert len(found) == len(set(found))
        assert set(found) == defined(view)
        some += len(found)
    assert some > 3


def test_nothing_is_joined_where_labels_are_not_known() -> None:
    rng = np.random.default_rng(2)
    assert factors_of(labelled_view(rng, 7, names=())) == []
    assert factors_of(labelled_view(rng, 7, names=("nsubj", "obj", "aux", "cop"))) == []
    plain = FactorView.of_tree(Sentence.from_words(["a", "b", "c"]), [-1, 2, 0, 2])
    assert factors_of(plain) == []


def test_he_came_and_he_saw() -> None:
    """The features by name; one word on both sides is told from two."""
    names = ("conj", "nsubj", "cc", "root")
    heads = np.array([-1, 2, 0, 5, 5, 2])
    labels = np.array([2, 4, 3, 2, 1], np.int32)  # of words 1..5
    views = [
        FactorView.of_tree(
            Sentence.from_words(["he", "came", "and", second, "saw"], upos=tags),
            heads, None, labels, names,
        )
        for second in ("he", "she")
        for tags in (["PRON", "VERB", "CCONJ", "PRON", "VERB"],)
    ]  # fmt: skip
    keys = []
    for view in views:
        assert factors_of(view) == [((2, 5), (2, 1), (5, 4))]
        keys.append(ParallelLabels().propose(view).feat_keys)
        texts = set(ParallelLabels().name_features(view).values())
        assert {"@m=conj", "@m=conj @s=nsubj"} <= texts
    assert not np.isin(*keys).any()  # the order class is in all of them
