"""Enhanced graphs of trees: learned, valid, stored, and found by paths as by enumeration."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.models.graph.enhancer import Enhancer
from bbparse.models.graph.paths import LENGTH, NODES, TEMPLATE, loss_gradient
from bbparse.models.graph.recipes import Ends, Marks, Recipe
from bbparse.models.graph.training import fit, template_of, train_enhancer
from bbparse.runtime.errors import ModelError
from bbparse.treebank import Sentence, evaluate
from bbparse.treebank.graph import format_deps, graph_faults, with_deps
from tests import graphs


@cache
def enhancer() -> Enhancer:
    made = train_enhancer(graphs.sentences(1, 400))
    assert made is not None
    return made


def enhanced(sentences: list[Sentence]) -> list[Sentence]:
    found = enhancer()([(s, s.heads, s.deprels) for s in sentences])
    return [with_deps(s, [*map(format_deps, graph)]) for s, graph in zip(sentences, found)]


def random_trees(seed: int, count: int) -> list[tuple[Sentence, list[int], list[str]]]:
    """Any trees over the labels of the language; words may have several conjuncts and clauses."""
    rng = random.Random(seed)
    labels = [*{*enhancer().vocabulary.relations, "dep", "goeswith"} - {"root"}]
    labels.sort()
    trees = []
    for _ in range(count):
        n = rng.randint(1, 12)
        order = rng.sample(range(1, n + 1), n)
        heads = [0] * n
        for k, m in enumerate(order[1:], start=1):
            heads[m - 1] = rng.choice(order[:k])
        deprels = [rng.choice(labels) if head else "root" for head in heads]
        words: dict[str, Any] = {
            "upos": rng.choices(("NOUN", "VERB", "ADP", "PRON", "X"), k=n),
            "feats": rng.choices(("_", "PronType=Rel"), k=n),
        }
        forms = rng.choices(("in", "on", "and", "who", "man", "zzz"), k=n)
        trees.append((Sentence.from_words(forms, **words), heads, deprels))
    return trees


def test_rules_of_a_language_are_learned() -> None:
    gold = list(graphs.sentences(2, 300))
    scores = evaluate(gold, enhanced(gold))
    assert scores.elas is not None and scores.elas > 0.999
    copied = [with_deps(s, [f"{h}:{r}" for h, r in zip(s.heads, s.deprels)]) for s in gold]
    basic = evaluate(gold, copied).elas
    assert basic is not None and basic < 0.9


def test_graphs_are_valid_whatever_the_tree() -> None:
    """By UD's rules; no edge joins two words twice."""
    trees = random_trees(3, 3000)
    for (sentence, heads, labels), graph in zip(trees, enhancer()(trees)):
        tree = replace(sentence, heads=heads, deprels=labels)
        assert not list(graph_faults(with_deps(tree, [*map(format_deps, graph)])))
        assert all(len(dict(edges)) == len(edges) and [*edges] == sorted(edges) for edges in graph)


def test_a_batch_gives_what_each_sentence_gives() -> None:
    trees = random_trees(4, 200)
    together = enhancer()(trees)
    assert together == [enhancer()([tree])[0] for tree in trees]
    assert any(len(edges) > 1 for graph in together for edges in graph)
    assert enhancer()([]) == []


def test_paths_are_those_of_enumeration() -> None:
    """All pairs of words whose path is a template, and no others."""
    made, trees = enhancer(), random_trees(5, 300)
    words = made.vocabulary(Marks(trees))
    paths, _ = made.paths(words)
    found = set()
    for path in paths.tolist():
        nodes = path[NODES : NODES + path[LENGTH]]
        found.add((path[TEMPLATE], nodes[0], nodes[-1]))
    assert len(found) == len(paths)
    number = {template: t for t, template in enumerate(made.templates)}
    expected = set()
    for start, (_, heads, labels) in zip(words.starts.tolist(), trees):
        for d in range(1, len(heads) + 1):
            for p in range(len(heads) + 1):
                template = template_of(p, d, heads, labels)
                if template in number and p != d:
                    expected.add((number[template], start + d, start + p))
    assert found == expected


@pytest.mark.parametrize(
    ("head", "dependent", "expected"),
    [
        (0, 3, (("obj", "xcomp", "root"), ())),
        (3, 1, (("nsubj",), ("xcomp", "obj"))),
        (1, 4, (("det", "obj", "xcomp"), ("nsubj",))),
        (2, 1, (("nsubj",), ("xcomp",))),
    ],
)
def test_paths_of_a_tree(head: int, dependent: int, expected: object) -> None:
    """Word 2 depends on the root 5, 1 on 5, 3 on 2, 4 on 3; four arcs are too many."""
    heads, labels = [5, 5, 2, 3, 0], ["nsubj", "xcomp", "obj", "det", "root"]
    found = template_of(head, dependent, heads, labels)
    assert found == (None if dependent == 4 else expected)


def test_a_treebank_without_graphs_gives_none() -> None:
    gold = list(graphs.sentences(6, 50))
    bare = [with_deps(s, ["_"] * s.n_words) for s in gold]
    copied = [with_deps(s, [f"{h}:{r}" for h, r in zip(s.heads, s.deprels)]) for s in gold]
    assert train_enhancer(bare) is None
    assert train_enhancer(copied) is None


def test_training_gives_the_same_bytes_again() -> None:
    again = train_enhancer(graphs.sentences(1, 400))
    assert again is not None
    for name, value in enhancer().to_fields().items():
        assert np.array_equal(value, again.to_fields()[name])


def test_a_stored_enhancer_makes_the_same_graphs() -> None:
    trees = random_trees(7, 100)
    loaded = Enhancer.from_fields(enhancer().to_fields(), "one.model")
    assert loaded(trees) == enhancer()(trees)


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: fields.update(graph_weights=fields["graph_weights"][:-1]),
        lambda fields: fields.update(graph_keys=fields["graph_keys"] + (1 << 40)),
        lambda fields: fields.update(graph_keys=fields["graph_keys"][::-1].copy()),
        lambda fields: fields["graph"].update(classes=[]),
        lambda fields: fields["graph"].pop("values"),
        lambda fields: fields["graph"]["templates"].append([["no"], []]),
        lambda fields: fields["graph"]["ends"].update(obl={"pick": "some"}),
    ],
)
def test_a_damaged_enhancer_is_refused(change: Any, tmp_path: Path) -> None:
    fields = {**enhancer().to_fields()}
    fields["graph"] = {**fields["graph"]}
    for name in ("templates", "ends"):
        fields["graph"][name] = type(fields["graph"][name])(fields["graph"][name])
    change(fields)
    with pytest.raises(ModelError, match=r"^some\.model: "):
        Enhancer.from_fields(fields, "some.model")


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (Recipe(("case",), "first"), ("out", "")),
        (Recipe(("case",), "last"), ("of", "")),
        (Recipe(("case",), "all"), ("out_of", "")),
        (Recipe(("mark", "case"), "last", of_form=True), ("of", "")),
        (Recipe(("cc",), "first"), ("", "")),
        (Recipe(("case",), "first", case=True), ("out", "gen")),
    ],
)
def test_recipes(recipe: Recipe, expected: tuple[str, str]) -> None:
    sentence = Sentence.from_words(
        ["Out", "of", "Rome", "and"],
        lemmas=["out", "of", "_", "_"],
        feats=["_", "_", "Case=Gen", "_"],
    )
    marks = Marks([(sentence, [3, 3, 0, 3], ["case", "case", "root", "cc"])])
    assert recipe.raw(marks, 3) == expected


def test_only_known_ends_are_given() -> None:
    sentence = Sentence.from_words(["@", "x", "q", "y"], heads=[2, 0, 4, 2])
    marks = Marks([(sentence, [2, 0, 4, 2], ["case", "root", "case", "obl"])])
    ends = Ends(Recipe(("case",)), ["at", "in"], {"@": "at"})
    assert ends(marks, 2) == ":at"
    assert ends(marks, 4) == "" == ends(marks, 1)


def test_the_minimum_of_the_loss_is_found() -> None:
    rng = np.random.default_rng(1)
    starts = np.arange(0, 603, 3)
    features = rng.integers(0, 20, 600).astype(np.int32)
    classes = ((features[::3] + rng.integers(0, 2, 200)) % 3).astype(np.int32)
    weights = fit(starts, features, classes, (20, 3))
    gradient = np.empty_like(weights)
    loss = loss_gradient(weights, starts, features, classes, 1.0, gradient)
    assert np.abs(gradient).max() < 0.05
    step, other = 1e-5, np.empty_like(weights)
    at = weights + rng.normal(size=weights.shape)
    loss_gradient(at, starts, features, classes, 1.0, gradient)
    for place in ((0, 0), (7, 1), (19, 2)):
        near = [at.copy(), at.copy()]
        near[0][place] += step
        near[1][place] -= step
        up, down = (loss_gradient(w, starts, features, classes, 1.0, other) for w in near)
        assert (up - down) / (2 * step) == pytest.approx(gradient[place], rel=1e-4, abs=1e-6)
        assert up > loss
