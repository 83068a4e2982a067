"""Enhanced graphs: reading, writing, collapsing and comparing them."""

from __future__ import annotations

import io
import random
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from udtools.udeval import evaluate_wrapper

from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence, evaluate, format_sentence, read_conllu
from bbparse.treebank.alignment import evaluate_text
from bbparse.treebank.breakdown import breakdown
from bbparse.treebank.graph import (
    Edge,
    WordEdge,
    collapsed,
    collapsed_graph,
    edge_confidences,
    format_deps,
    graph_faults,
    matches,
    read_graph,
    with_deps,
)
from bbparse.treebank.sentence import ScoredTree

#: "I like tea and you [like] coffee": the second verb is an empty node.
GAPPING = """\
# sent_id = gap
1\tI\t_\t_\t_\t_\t2\tnsubj\t2:nsubj\t_
2\tlike\t_\t_\t_\t_\t0\troot\t0:root\t_
3\ttea\t_\t_\t_\t_\t2\tobj\t2:obj\t_
4\tand\t_\t_\t_\t_\t5\tcc\t5.1:cc\t_
5-6\tyoucoffee\t_\t_\t_\t_\t_\t_\t_\t_
5\tyou\t_\t_\t_\t_\t2\tconj\t5.1:nsubj\t_
5.1\tlike\t_\t_\t_\t_\t_\t_\t2:conj:and\t_
6\tcoffee\t_\t_\t_\t_\t5\torphan\t5.1:obj\t_

"""


def sentence_of(text: str) -> Sentence:
    (sentence,) = read_conllu(io.StringIO(text))
    return sentence


def random_sentences(seed: int, count: int) -> list[Sentence]:
    """Sentences with random trees and graphs over words, some with a chain of empty nodes."""
    rng = random.Random(seed)
    labels = "nsubj obl:in obl:at conj:and conj acl:relcl ref xcomp nsubj:xsubj".split()
    sentences = []
    for _ in range(count):
        n = rng.randint(1, 7)
        heads = [0, *(rng.randint(1, m - 1) for m in range(2, n + 1))]
        deprels = ["root", *(rng.choice(labels) for _ in range(n - 1))]
        sentence = Sentence.from_words([f"w{m}" for m in range(n)], heads=heads, deprels=deprels)
        deps = []
        for m, (head, label) in enumerate(zip(heads, deprels), start=1):
            edges = {(head, label)} if rng.random() < 0.9 else set()
            others = [h for h in range(1, n + 1) if h != m]
            for _ in range(rng.randint(0, 2) if others else 0):
                # the official scorer never matches the arc of the root that replaces a path
                path = ["conj:and>obj"] * (head > 0)
                edges.add((rng.choice(others), rng.choice([*labels, *path])))
            deps.append(format_deps(edges or {(head, label)}))
        sentences.append(with_deps(sentence, deps))
    return sentences


def test_a_graph_is_read_and_collapsed() -> None:
    sentence = sentence_of(GAPPING)
    edges = read_graph(sentence)
    assert edges[3] == Edge("5.1", "cc", 4)
    assert Edge(2, "conj:and", "5.1") in edges
    assert collapsed_graph(sentence) == sorted(
        [
            WordEdge(2, "nsubj", 1),
            WordEdge(0, "root", 2),
            WordEdge(2, "obj", 3),
            WordEdge(2, "conj:and>cc", 4),
            WordEdge(2, "conj:and>nsubj", 5),
            WordEdge(2, "conj:and>obj", 6),
        ]
    )


def test_cycles_of_empty_nodes_end() -> None:
    """A path visits no empty node twice; two nodes that only point to each other lead nowhere."""
    edges = [Edge("1.1", "a", "1.2"), Edge("1.2", "b", "1.1"), Edge("1.1", "c", 1)]
    assert collapsed(edges) == []
    assert collapsed([*edges, Edge(2, "d", "1.2")]) == [WordEdge(2, "d>b>c", 1)]


def test_too_many_paths_are_an_error() -> None:
    nodes = [f"1.{k}" for k in range(1, 15)]
    edges = [Edge(a, "dep", b) for a in nodes for b in [*nodes, 1] if a != b]
    with pytest.raises(TreebankError, match="paths through empty nodes"):
        collapsed(edges)


def test_deps_are_replaced_whole() -> None:
    """Lines of empty nodes go with the edges that need them; other lines stay."""
    sentence = sentence_of(GAPPING)
    new = with_deps(sentence, ["2:nsubj", "0:root", "2:obj", "5:cc", "2:conj:and", "5:orphan"])
    lines = format_sentence(new).split("\n")
    assert [line.split("\t")[0] for line in lines[1:8]] == ["1", "2", "3", "4", "5-6", "5", "6"]
    assert [edge.label for edge in read_graph(sentence_of("\n".join(lines)))] == [
        *("nsubj", "root", "obj", "cc", "conj:and", "orphan")
    ]
    assert new.forms == sentence.forms


def test_deps_are_in_the_order_of_the_format() -> None:
    edges = [(10, "obl"), (2, "nsubj"), ("9.1", "obj"), (2, "conj"), (10, "obl")]
    assert format_deps(edges) == "2:conj|2:nsubj|9.1:obj|10:obl"
    assert format_deps([]) == "_"


@pytest.mark.parametrize("deps", ["2", "9:obl", "1.1:obl", "2:", "2:obl|x:obj", ":"])
def test_malformed_deps_name_their_line(deps: str) -> None:
    sentence = sentence_of(GAPPING.replace("2:nsubj", f"0:dep|{deps}"))
    with pytest.raises(TreebankError, match=r"line 2, gap: DEPS of 1 has .*expected HEAD:LABEL"):
        read_graph(sentence)


def test_columns_without_edges_are_no_graph() -> None:
    """PHEAD of CoNLL-X is a number."""
    sentence = Sentence.from_words(["a", "b"], heads=[0, 1], deprels=["root", "dep"])
    assert read_graph(sentence) == []
    assert read_graph(with_deps(sentence, ["0", "1"])) == []
    assert evaluate([sentence], [sentence]).elas is None


@pytest.mark.parametrize("digits", ["", "2", "4", "6", "246"])
def test_agrees_with_the_official_scorer(digits: str, tmp_path: Path) -> None:
    gold, predicted = random_sentences(1, 300), random_sentences(1, 300)
    for sentences, seed in ((gold, 2), (predicted, 3)):
        others = random_sentences(seed, 300)
        for i, other in enumerate(others):
            if other.n_words == sentences[i].n_words:
                columns = [line.split("\t")[8] for line in other.lines]
                sentences[i] = with_deps(sentences[i], columns)
    paths = []
    for name, sentences in (("gold", gold), ("system", predicted)):
        paths.append(tmp_path / name)
        paths[-1].write_text("".join(map(format_sentence, sentences)))
    official = evaluate_wrapper(
        Namespace(
            gold_file=str(paths[0]),
            system_file=str(paths[1]),
            enhancements=digits or "0",
            no_empty_nodes=True,
            multiple_roots_okay=False,
        )
    )
    ours = evaluate(gold, predicted, left_out=digits)
    aligned = evaluate_text(gold, predicted, left_out=digits)
    for name in ("elas", "eulas"):
        assert getattr(ours, name) == pytest.approx(official[name.upper()].f1, abs=1e-12)
        assert aligned[name].f1 == pytest.approx(official[name.upper()].f1, abs=1e-12)
    assert ours.elas is not None and ours.eulas is not None
    assert 0.05 < ours.elas < ours.eulas < 0.95


@pytest.mark.parametrize(
    ("digit", "deps", "expected"),
    [
        ("3", "2:nsubj|3:nsubj", [(2, "nsubj")]),
        ("3", "2:nsubj|3:obj", [(2, "nsubj"), (3, "obj")]),
        ("5", "2:nsubj|3:obl", [(2, "nsubj")]),
        ("5", "3:ref", [(2, "nsubj")]),
    ],
)
def test_enhancements_are_left_out(digit: str, deps: str, expected: list[Sequence[object]]) -> None:
    """Word 3 is a relative clause of word 1; these two rules of the official scorer have bugs."""
    rows = [("1", "2", "nsubj", deps), ("2", "0", "root", "0:root"), ("3", "1", "acl", "1:acl")]
    lines = [f"{m}\tw\t_\t_\t_\t_\t{h}\t{label}\t{d}\t_\n" for m, h, label, d in rows]
    edges = collapsed_graph(sentence_of("".join(lines) + "\n"), digit)
    assert [edge[:2] for edge in edges if edge.dependent == 1] == expected


def test_matches_by_hand() -> None:
    gold = [WordEdge(1, "obl:in", 2), WordEdge(1, "obl:at", 2), WordEdge(0, "root", 1)]
    predicted = [WordEdge(1, "obl:in", 2), WordEdge(1, "nsubj", 3), WordEdge(0, "root", 1)]
    assert matches(gold, predicted) == (2, 3)


def test_edges_by_enhancement() -> None:
    """Every edge has one class, and the classes add up."""
    gold, predicted = random_sentences(4, 200), random_sentences(4, 200)
    rows = breakdown("enhancement", gold, predicted)
    assert {row["enhancement"] for row in rows} >= {"basic", "control", "relative", "shared head"}
    assert all(row["recall"] == row["precision"] == 1.0 for row in rows)
    assert sum(int(row["gold"]) for row in rows) == sum(len(collapsed_graph(s)) for s in gold)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("2:nsubj", "1:nsubj|2:nsubj", "deps-self-loop"),
        ("2:nsubj", "2:Nsubj", "invalid-edeprel"),
        ("2:nsubj", "2:obl:in_", "invalid-edeprel"),
        ("2:nsubj", "0:nsubj", "enhanced-0-is-not-root"),
        ("2:nsubj", "2:root", "enhanced-root-is-not-0"),
        ("5.1:obj", "5.1:orphan", "enhanced-orphan"),
        ("2:nsubj", "3:nsubj|2:nsubj", "unsorted-deps"),
        ("2:nsubj", "2:nsubj|2:nsubj", "repeated-deps"),
        ("2\tobj\t2:obj", "2\tgoeswith\t1:dep|2:goeswith", "goeswith-edeps"),
        ("2:conj:and", "5:conj:and", "unconnected-egraph"),
    ],
)
def test_faults_of_graphs(old: str, new: str, name: str) -> None:
    """As UD's validator names them; labels of any script are right."""
    assert list(graph_faults(sentence_of(GAPPING))) == []
    for label in ("2:obl:छोड़कर", "2:obl:in_case_of:gen", "2:nsubj:pass:xsubj"):
        assert list(graph_faults(sentence_of(GAPPING.replace("2:nsubj", label)))) == []
    faults = list(graph_faults(sentence_of(GAPPING.replace(old, new, 1))))
    assert {text.partition(":")[0] for _, text in faults} == {name}


def test_an_edge_is_as_sure_as_the_arcs_on_its_path() -> None:
    """Word 1 is the subject of 2, whose conjunct 3 shares it."""
    tree = ScoredTree((2, 0, 2), 0.0, 0.0, True, ("nsubj", "root", "conj"))
    assert edge_confidences(tree) == []
    graph = (((2, "nsubj"), (3, "nsubj")), ((0, "root"),), ((2, "conj"),))
    tree = replace(tree, enhanced=graph, confidences=(0.5, 0.9, 0.8))
    assert edge_confidences(tree) == [[0.5, pytest.approx(0.4)], [0.9], [0.8]]
