"""Compiled families propose what their Python would, and errors are those of Python."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import bbparse.factors.rule_words as rule_words
from bbparse.errors import FactorError
from bbparse.factors import (
    FactorBatch,
    FactorFamily,
    FactorTable,
    FactorView,
    RuleFamily,
    alive_factors,
)
from bbparse.factors.blake2b import blake2b_64
from bbparse.factors.rules import RuleSet
from bbparse.treebank import Sentence
from bbparse_families.english import attachment, clauses, coordination, nominals, punctuation
from bbparse_families.handcrafted import RatherThan
from tests.factors.helpers import all_arcs, random_arcs, random_sentence, view_of

MODULES = (attachment, clauses, coordination, nominals, punctuation)
SHIPPED = [RatherThan] + [
    getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if inspect.isclass(getattr(module, name)) and issubclass(getattr(module, name), RuleFamily)
]
Proposals = Iterator[tuple[list[tuple[int, int]], list[Any]]]

WORDS = (
    "in/ADP", "and/CCONJ", "or/CCONJ", ",/PUNCT", "(/PUNCT", ")/PUNCT", '"/PUNCT', "./PUNCT",
    "May/PROPN", "2003/NUM", "cats/NOUN", "Dog/NOUN", "old/ADJ", "as/ADV", "more/ADJ", "than/SCONJ",
    "says/VERB", "runs/VERB", "is/AUX", "he/PRON", "who/PRON", "to/PART", "both/CCONJ", "not/PART",
    "rather/ADV", "-/PUNCT", "if/SCONJ", "naïve/ADJ",
)  # fmt: skip


def sentence_of(rng: np.random.Generator, n_words: int) -> Sentence:
    rows = [WORDS[i].rsplit("/", 1) for i in rng.integers(0, len(WORDS), n_words)]
    forms, tags = [form for form, _ in rows], [tag for _, tag in rows]
    return Sentence.from_words(
        forms, upos=tags, xpos=["JJR" if form == "more" else tag[:2] for form, tag in rows],
        lemmas=[form.lower().removesuffix("s") for form in forms],
        feats=["Number=Sing|VerbForm=Fin" if tag == "AUX" else "_" for tag in tags],
    )  # fmt: skip


def same(a: FactorBatch, b: FactorBatch) -> bool:
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("ptr", "arcs", "feat_ptr", "feat_keys", "gates")
    )


@pytest.mark.parametrize("family", SHIPPED, ids=lambda family: family.name)
def test_shipped_families_propose_what_their_python_does(family: type[RuleFamily]) -> None:
    rng = np.random.default_rng(4)
    compiled, n_factors = family(), 0
    for _ in range(60):
        n = int(rng.integers(1, 18))
        view = view_of(sentence_of(rng, n), random_arcs(rng, n, 0.9))
        plain = FactorFamily.propose(compiled, view)
        assert same(compiled.propose(view), plain)
        n_factors += len(plain)
    assert n_factors > 0 or family is RatherThan


def ending(word: str) -> str:
    return word[-2:]


def counted(view: FactorView, low: int, high: int) -> int:
    found = sum(tag == "NOUN" for tag in view.upos[low:high])
    return min(found, 3)


def neighbours(view: FactorView) -> Iterator[tuple[int, int]]:
    for i in range(1, view.n_words):
        if view.upos[i] == "PUNCT":
            continue
        yield i, i + 1


class Everything(RuleFamily):
    """Each thing that may be compiled, once or more."""

    name = "everything"

    def factors(self, view: FactorView) -> Proposals:
        upos, lower = view.upos, view.lower
        n = view.n_words
        seen: set[int] = set()
        last = n
        while last > 1 and upos[last] == "PUNCT":
            last -= 1
        for i, tag in enumerate(upos):
            if tag in ("PUNCT", "ADP") or lower[i] == "he":
                continue
            if i not in seen:
                seen.add(i)
            place = i // 2 - 3
            for h in view.heads_of(i):
                if h == 0 or not view.has_arc(0, h):
                    continue
                side, far = ("left", abs(h - i) > 2) if h < i else ("right", not h - i < 3)
                for m in view.modifiers_of(i):
                    if m in seen and m == last:
                        break
                    yield [(h, i), (i, m), (h, i)], [
                        "plain", (side, far, place), (tag, ("in", (upos[m],), ending(lower[m]))),
                        ("noun" if upos[m] == "NOUN" else lower[m - 1], 1 < m <= last),
                        (any(word == "and" for word in lower[1:m]), counted(view, i, m)),
                        (upos[h] in upos[1:i], "and" in lower, max(i, m) - min(i, m), -1),
                        (lower[0], lower[-1], upos[h] == upos[i] == upos[m]),
                    ]
        for a, b in neighbours(view):
            for low, high in ((a, b), (b, a)):
                for h in view.heads_of(high):
                    yield [(h, high), (high, low)], [("next", low < high, lower[low])]


def test_all_that_may_be_compiled_means_what_it_does_in_python() -> None:
    rng = np.random.default_rng(8)
    family, n_factors = Everything(), 0
    for _ in range(200):
        n = int(rng.integers(1, 10))
        view = view_of(sentence_of(rng, n), random_arcs(rng, n, 0.7))
        plain = FactorFamily.propose(family, view)
        assert same(family.propose(view), plain)
        n_factors += len(plain)
    assert n_factors > 2000


def test_scores_are_those_of_python_in_the_order_of_the_families() -> None:
    rng = np.random.default_rng(15)
    families: list[FactorFamily] = [Everything(), *(family() for family in SHIPPED)]
    sentences = [sentence_of(rng, 9) for _ in range(20)]
    views = [view_of(sentence, all_arcs(9)) for sentence in sentences]
    keys = np.unique(
        np.concatenate([FactorFamily.propose(f, v).feat_keys for f in families for v in views])
    )
    keys = keys[rng.random(len(keys)) < 0.4]
    table = FactorTable(keys, weights=rng.integers(-3, 4, len(keys)).astype(float))
    for view in views:
        found = alive_factors(families, view, table)
        plain = [table.alive(FactorFamily.propose(family, view)) for family in families]
        assert len(found) == sum(map(len, plain)) > 0
        np.testing.assert_array_equal(found.arcs, np.concatenate([p.arcs for p in plain]))
        np.testing.assert_array_equal(found.scores, np.concatenate([p.scores for p in plain]))
        np.testing.assert_array_equal(
            np.diff(found.ptr), np.concatenate([np.diff(p.ptr) for p in plain])
        )


def test_words_may_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_words, "_MAX_WORDS", 5)
    rng = np.random.default_rng(16)
    family = Everything()
    for _ in range(30):
        view = view_of(sentence_of(rng, 6), all_arcs(6))
        assert same(family.propose(view), FactorFamily.propose(family, view))


class TooFar(RuleFamily):
    name = "too-far"

    def factors(self, view: FactorView) -> Proposals:
        for m in range(1, view.n_words + 1):
            for h in view.heads_of(m):
                yield [(h, m), (m, view.n_words + 2)], [view.upos[m]]


class Beyond(RuleFamily):
    name = "beyond"

    def factors(self, view: FactorView) -> Proposals:
        for m in range(1, view.n_words + 1):
            if view.upos[m + 1] == "NOUN":
                yield [(0, m), (m, m + 1)], ["next"]


class OneArc(RuleFamily):
    name = "one-arc"

    def factors(self, view: FactorView) -> Proposals:
        for m in range(1, view.n_words + 1):
            for h in view.heads_of(m):
                yield [(h, m), (h, m)], ["twice"]


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (TooFar(), "'too-far', sentence #0: arc 1 → 6: expected a head in 0..4"),
        (Beyond(), "'beyond', sentence #0: IndexError: list index out of range"),
        (OneArc(), "'one-arc', sentence #0: a factor has two or more arcs, found"),
    ],
)
def test_errors_are_those_of_python(family: RuleFamily, message: str) -> None:
    view = view_of(random_sentence(np.random.default_rng(1), 4), all_arcs(4))
    table = FactorTable(np.zeros(0, np.uint64))
    with pytest.raises(FactorError) as plain:
        FactorFamily.propose(family, view)
    for call in (lambda: family.propose(view), lambda: alive_factors([family], view, table)):
        with pytest.raises(FactorError) as compiled:
            call()
        assert str(compiled.value) == str(plain.value)
    assert message.split(": ")[1][:8] in str(plain.value)


class Dictionary(RuleFamily):
    name = "dictionary"

    def factors(self, view: FactorView) -> Proposals:
        places = {word: i for i, word in enumerate(view.lower)}
        yield [(0, 1), (1, places["x"])], ["x"]


class StaleName(RuleFamily):
    """What a name stands for is looked at after the word has changed."""

    name = "stale-name"

    def factors(self, view: FactorView) -> Proposals:
        for m in range(2, view.n_words + 1):
            if view.upos[m] == "VERB":
                continue
            word = view.lower[m]
            before = view.lower[m - 1]
        yield [(0, 1), (1, 2)], [(word, before)]


def test_what_is_beyond_the_compiler_is_named() -> None:
    view = view_of(random_sentence(np.random.default_rng(1), 4), all_arcs(4))
    with pytest.raises(FactorError, match=r"'dictionary', line \d+: cannot compile dictcomp"):
        Dictionary().propose(view)


def test_a_name_keeps_what_it_stood_for() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        sentence = random_sentence(rng, 6)
        if set(sentence.upos[1:]) != {"VERB"}:
            view = view_of(sentence, all_arcs(6))
            assert same(StaleName().propose(view), FactorFamily.propose(StaleName(), view))


def test_a_family_without_source_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_source(function: object) -> str:
        raise OSError("no source")

    monkeypatch.setattr(inspect, "getsource", no_source)
    family = Everything()
    view = view_of(sentence_of(np.random.default_rng(2), 6), all_arcs(6))
    assert RuleSet([family]).program is None
    assert len(family.propose(view)) == len(FactorFamily.propose(family, view)) > 0


def test_blake2b_is_that_of_the_standard_library() -> None:
    rng = np.random.default_rng(7)
    memory = np.zeros(2048, np.uint8)
    for size in (0, 1, 8, 127, 128, 129, 255, 256, 257, 1500):
        text = rng.integers(0, 256, size, np.uint8)
        memory[:size] = text
        digest = hashlib.blake2b(text.tobytes(), digest_size=8).digest()
        assert int(blake2b_64(memory, size, memory.view(np.uint64))) == int.from_bytes(
            digest, "little"
        )
