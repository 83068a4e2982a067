"""Rules propose what the same thing written in Python would, and say where they are none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import bbparse.factors.rules as rules
from bbparse.errors import FactorError
from bbparse.factors import (
    AnySentence,
    FactorBatch,
    FactorFamily,
    FactorTable,
    FactorView,
    RuleFamily,
)
from bbparse.treebank import Sentence
from bbparse.treebank.encode import RowMemory
from tests.factors.helpers import alive_factors, all_arcs, random_arcs, scored, view_of

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


def ending(word: str) -> str:
    return word[-2:]


def written(form: str, tag: str) -> int:
    return len(form) + len(tag)


def noun_pairs(view: FactorView) -> Iterator[tuple[int, int]]:
    nouns = [i for i, tag in enumerate(view.upos) if tag == "NOUN"]
    yield from pairwise(nouns)


class InPython(FactorFamily):
    """Each thing that rules may say, once or more."""

    name = "everything"

    def factors(self, view: FactorView) -> Iterator[tuple[list[tuple[int, int]], list[Any]]]:
        n = view.n_words
        upos, lower, forms = [[*x, ""] for x in (view.upos, view.lower, view.forms)]
        for i in range(1, n + 1):
            if upos[i] in ("PUNCT", "ADP") or lower[i] == "he":
                continue
            for h in view.heads_of(i):
                if h == 0 or not view.has_arc(0, h):
                    continue
                side = "left" if h < i else "right"
                for m in view.modifiers_of(i):
                    if not (upos[m] == "NOUN" or m > h or "i" in lower[m]):
                        continue
                    nouns = sum(tag == "NOUN" for tag in upos[min(i, m) : max(i, m)])
                    yield (
                        [(h, i), (i, m)],
                        [
                            "plain",
                            (side, h < i, i - h, min(h, 2), (max(h, m), h + m)),
                            (lower[m - 1], lower[m + 1], ending(lower[m])),
                            (
                                lower[m + 1] == lower[i],
                                upos[m + 1] != "NOUN",
                                written(forms[m], upos[m]),
                            ),
                            (nouns, sum(tag == upos[h] for tag in upos[1:i]), "and" in lower[1:i]),
                            (
                                upos[h] == upos[i] and i <= m,
                                not (h < m and m < i),
                                upos[m] in ("X", "ADJ"),
                            ),
                            "" if h == m - 1 else lower[m],
                        ],
                    )
        for a, b in noun_pairs(view):
            for low, high in ((a, b), (b, a)):
                for h in view.heads_of(high):
                    yield [(h, high), (high, low)], [("next", low < high, lower[low])]
        for w in range(max(1, n - 3), n):
            yield [(w + 1, w), (0, w + 1)], [("end", n - w, -1)]


class AsRules(RuleFamily):
    """The same as rules."""

    name = "everything"

    def rules(self, s: AnySentence) -> Iterator[tuple[list[Any], list[Any]]]:
        for i in s.words():
            s.require(~i.upos.isin(("PUNCT", "ADP")), i.lower != "he")
            for h in i.heads:
                s.require(h != 0, s.has_arc(s.root, h))
                side = s.choose(h < i, "left", "right")
                for m in i.modifiers:
                    s.require((m.upos == "NOUN") | (m > h) | m.lower.has("i"))
                    first, last = s.smaller(i, m), s.larger(i, m)
                    nouns = s.count(lambda w: w.upos == "NOUN", first, last)
                    like = s.count(lambda w, h=h: w.upos == h.upos, 1, i)  # type: ignore[misc]
                    both = s.count(lambda w: w.lower == "and", 1, i) > 0
                    yield [(h, i), (i, m)], [
                        "plain", (side, h < i, i - h, s.smaller(h, 2), (s.larger(h, m), h + m)),
                        ((m - 1).lower, (m + 1).lower, m.ask(ending, "lower")),
                        (
                            (m + 1).lower == i.lower, (m + 1).upos != "NOUN",
                            m.ask(written, "form", "upos"),
                        ),
                        (nouns, like, both),
                        (
                            (h.upos == i.upos) & (i <= m), ~((h < m) & (m < i)),
                            m.upos.isin(("X", "ADJ")),
                        ),
                        s.choose(h == m - 1, "", m.lower),
                    ]  # fmt: skip
        for a, b in s.tuples(noun_pairs, 2):
            for low, high in ((a, b), (b, a)):
                for h in high.heads:
                    yield [(h, high), (high, low)], [("next", low < high, low.lower)]
        with s.when(s.n_words > 1):
            for w in s.words(s.n_words - 3, s.n_words):
                s.require(w > 0)
                yield [(w + 1, w), (s.root, w + 1)], [("end", s.n_words - w, -1)]


def test_rules_mean_what_they_do_in_python() -> None:
    rng = np.random.default_rng(8)
    plain, rules, n_factors = InPython(), AsRules(), 0
    for _ in range(200):
        n = int(rng.integers(1, 10))
        view = view_of(sentence_of(rng, n), random_arcs(rng, n, 0.7))
        expected = plain.propose(view)
        assert same(rules.propose(view), expected)
        assert rules.name_features(view) == plain.name_features(view)
        n_factors += len(expected)
    assert n_factors > 2000


class Other(RuleFamily):
    name = "other"

    def rules(self, s: AnySentence) -> Iterator[tuple[list[Any], list[Any]]]:
        for m in s.words(2):
            yield [(s.root, m), (m, m - 1)], [m.upos, (m - 1).feats]


def test_scores_are_those_of_python_in_the_order_of_the_families() -> None:
    rng = np.random.default_rng(15)
    families: list[FactorFamily] = [Other(), AsRules()]
    sentences = [sentence_of(rng, 9) for _ in range(20)]
    views = [view_of(sentence, all_arcs(9)) for sentence in sentences]
    keys = np.unique(np.concatenate([f.propose(v).feat_keys for f in families for v in views]))
    keys = keys[rng.random(len(keys)) < 0.4]
    table = FactorTable(keys, weights=rng.integers(-3, 4, len(keys)).astype(float))
    for view in views:
        found = alive_factors(families, view, table)
        plain = [scored(family.propose(view), table) for family in families]
        assert len(found.score) == sum(len(p.score) for p in plain) > 0
        np.testing.assert_array_equal(found.arcs, np.concatenate([p.arcs for p in plain]))
        np.testing.assert_array_equal(found.score, np.concatenate([p.score for p in plain]))
        np.testing.assert_array_equal(
            np.diff(found.ptr), np.concatenate([np.diff(p.ptr) for p in plain])
        )


def test_words_may_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "RowMemory", partial(RowMemory, most=5))
    rng = np.random.default_rng(16)
    family = AsRules()
    for _ in range(30):
        view = view_of(sentence_of(rng, 6), all_arcs(6))
        assert same(family.propose(view), InPython().propose(view))


def test_arcs_that_cannot_be_are_passed_over() -> None:
    class Odd(RuleFamily):
        name = "odd"

        def rules(self, s: AnySentence) -> Iterator[tuple[list[Any], list[Any]]]:
            for m in s.words():
                for h in m.heads:
                    yield [(h, m), (m, s.n_words + 2)], ["beyond"]
                    yield [(h, m), (h, m)], ["twice"]
                    yield [(h, m), (m - 9, m + 1)], ["before"]
                    yield [(h, m), (h + 1, m)], ["two heads"]

    view = view_of(sentence_of(np.random.default_rng(1), 4), all_arcs(4))
    assert len(Odd().propose(view)) == 0


def if_test(s: AnySentence) -> Any:
    for m in s.words():
        if m.upos == "NOUN":
            yield [(0, m), (m, m + 1)], ["x"]


def chain(s: AnySentence) -> Any:
    for m in s.words():
        s.require(0 < m < 3)  # type: ignore[arg-type]
        yield [(0, m), (m, m + 1)], ["x"]


def counting(s: AnySentence) -> Any:
    number = 0
    for m in s.words():
        number += 1
        yield [(0, m), (m, m + 1)], [("x", number)]


def left_early(s: AnySentence) -> Any:
    for m in s.words():
        yield [(0, m), (m, m + 1)], ["x"]
        break


def mixed(s: AnySentence) -> Any:
    for m in s.words():
        s.require(m.upos == m)
        yield [(0, m), (m, m + 1)], ["x"]


def misspelt(s: AnySentence) -> Any:
    for m in s.words():
        yield [(0, m), (m, m + 1)], [m.tag]


def strange(s: AnySentence) -> Any:
    for m in s.words():
        yield [(0, m), (m, m + 1)], [1.5]


def one_arc(s: AnySentence) -> Any:
    for m in s.words():
        yield [(0, m)], ["x"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (if_test, "written once for all sentences"),
        (chain, "written once for all sentences"),
        (counting, "second turn"),
        (left_early, "left by break"),
        (mixed, "expected two numbers"),
        (misspelt, "a word has no 'tag'; it has form, lower"),
        (strange, "expected text, an integer or what rules give, found 1.5"),
        (one_arc, "2 to 32 arcs, found 1"),
    ],
)
def test_what_is_no_rule_is_named(rules: Any, message: str) -> None:
    family = type("Wrong", (RuleFamily,), {"name": "wrong", "rules": lambda self, s: rules(s)})()
    view = view_of(sentence_of(np.random.default_rng(1), 4), all_arcs(4))
    with pytest.raises(FactorError, match=f"factor family 'wrong': .*{message}"):
        family.propose(view)
