"""Enhanced graphs of Universal Dependencies: the edges of DEPS, read, written and compared.

A graph is a list of edges. Words have the ids 1..n, 0 is the root, and an empty node has the id of
its line, such as ``"8.1"``.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from bbparse.runtime.errors import TreebankError
from bbparse.treebank.sentence import ScoredTree, Sentence

NodeId = int | str
"""Number of a word (0: the root), or the id of an empty node."""


class Edge(NamedTuple):
    """An edge of a graph."""

    head: NodeId
    label: str
    dependent: NodeId


class WordEdge(NamedTuple):
    """An edge between words, or from the root; ``conj>obj`` is a path through an empty node."""

    head: int
    label: str
    dependent: int


#: Enhancements that a treebank may lack, by the digits of the official scorer.
ENHANCEMENTS = {
    "1": "gapping",
    "2": "shared heads of conjuncts",
    "3": "shared dependents of conjuncts",
    "4": "subjects of controlled verbs",
    "5": "relative clauses",
    "6": "case and conjunctions in labels",
}
#: Classes of edges: as in the tree, the same arc with another label, and new edges by reason.
CLASSES = (
    *("basic", "label", "shared head", "shared dependent", "control", "relative", "gapping"),
    "other",
)
#: Labels by the rules of UD's validator, in lower case and without combining marks.
_LABEL = re.compile(r"[a-z]+(:[a-z]+)?(:[^\W\d_]+(_[^\W\d_]+)*)?(:[a-z]+)?")
_WITH_CASE = ("obl", "nmod", "conj", "advcl")
_MAX_PATHS = 100_000


def universal(label: str) -> str:
    """Return a label without subtypes, case and conjunctions; each step of a path by itself."""
    return ">".join(step.partition(":")[0] for step in label.split(">"))


def node_key(node: NodeId) -> tuple[int, int]:
    """Return the sort key of an id: word and empty node after it."""
    word, _, empty = str(node).partition(".")
    return int(word), int(empty or 0)


def _nodes(sentence: Sentence) -> Iterator[tuple[NodeId, int]]:
    """Yield the words and empty nodes of a sentence in order, each with its line."""
    if len(sentence.lines) == len(sentence.word_lines):
        yield from enumerate(sentence.word_lines, start=1)
        return
    words = {line: m for m, line in enumerate(sentence.word_lines, start=1)}
    for i, line in enumerate(sentence.lines):
        node = line.partition("\t")[0]
        if i in words:
            yield words[i], i
        elif "." in node and not line.startswith("#"):
            yield node, i


def read_graph(sentence: Sentence) -> list[Edge]:
    """Return the edges of DEPS, by dependent; none if the column is empty or of CoNLL-X.

    `TreebankError` if an entry is not ``HEAD:LABEL``, or its head is no node of the sentence.
    """
    nodes = dict(_nodes(sentence))
    columns = {node: sentence.lines[i].split("\t")[8] for node, i in nodes.items()}
    if not any(":" in deps for deps in columns.values()):
        return []
    ids: dict[str, NodeId] = {"0": 0, **{str(node): node for node in nodes}}
    edges = []
    for node, deps in columns.items():
        for entry in [] if deps == "_" else deps.split("|"):
            head, _, label = entry.partition(":")
            if head not in ids or not label.strip():
                line = sentence.line_number + nodes[node]
                raise TreebankError(
                    f"{sentence.source or 'treebank'}, line {line}, {sentence.name}: DEPS of"
                    f" {node} has {entry!r:.60}, expected HEAD:LABEL with 0 or the id of a word or"
                    " an empty node as HEAD"
                )
            edges.append(Edge(ids[head], label, node))
    return edges


def format_deps(edges: Iterable[tuple[NodeId, str]]) -> str:
    """Return the DEPS of a node with these (head, label); ``_`` without any."""
    ordered = sorted({*edges}, key=lambda edge: (node_key(edge[0]), edge[1]))
    return "|".join(f"{head}:{label}" for head, label in ordered) or "_"


def with_deps(sentence: Sentence, deps: Sequence[str]) -> Sentence:
    """Return a copy with another DEPS for each word; empty nodes, which no edge has, go."""
    lines, word_lines, texts = list[str](), list[int](), iter(deps)
    words = {*sentence.word_lines}
    for i, line in enumerate(sentence.lines):
        if i in words:
            cells = line.split("\t")
            cells[8] = next(texts)
            word_lines.append(len(lines))
            lines.append("\t".join(cells))
        elif line.startswith("#") or "." not in line.partition("\t")[0]:
            lines.append(line)
    return replace(sentence, lines=lines, word_lines=word_lines)


def graph_faults(sentence: Sentence) -> Iterator[tuple[int, str]]:
    """Yield the line of each fault of an enhanced graph, and its text, by UD's validator.

    Nothing for a sentence without DEPS. `TreebankError` if DEPS are malformed.
    """
    lines, edges = dict(_nodes(sentence)), read_graph(sentence)
    arcs = zip(sentence.heads, sentence.deprels, range(1, len(lines) + 1))
    basic = [WordEdge(*arc) for arc in arcs]
    into = defaultdict[NodeId, list[Edge]](list)
    has_empty = any(isinstance(node, str) for node in lines)
    for edge in edges:
        head, label, node = edge
        into[node].append(edge)
        is_known = label == label.lower() and _LABEL.fullmatch(
            "".join(c for c in label if unicodedata.category(c)[0] != "M")
        )
        for name, is_broken in (
            ("deps-self-loop", head == node),
            ("invalid-edeprel", not is_known),
            ("enhanced-0-is-not-root", head == 0 and universal(label) != "root"),
            ("enhanced-root-is-not-0", head != 0 and universal(label) == "root"),
            ("enhanced-orphan", has_empty and universal(label) == "orphan"),
        ):
            if is_broken:
                yield lines[node], f"{name}: {node}: {head}:{label}"
    for node, own in into.items():
        keys = [(node_key(head), label) for head, label, _ in own]
        if keys != sorted(keys):
            yield lines[node], f"unsorted-deps: {node}"
        if len({*keys}) < len(keys):
            yield lines[node], f"repeated-deps: {node}"
        if isinstance(node, int) and sentence.deprels[node - 1].startswith("goeswith"):
            if own != [Edge(*basic[node - 1])]:
                yield lines[node], f"goeswith-edeps: {node}"
    for node in lines.keys() - reached(edges) if edges else ():
        yield lines[node], f"unconnected-egraph: {node} is not reached from the root"


def reached(edges: Iterable[tuple[NodeId, str, NodeId]]) -> set[NodeId]:
    """Return the nodes that edges lead to from the root, which is one of them."""
    out_of = defaultdict[NodeId, set[NodeId]](set)
    for head, _, node in edges:
        out_of[head].add(node)
    found, stack = set[NodeId]({0}), list[NodeId]([0])
    while stack:
        new = out_of[stack.pop()] - found
        found |= new
        stack += new
    return found


def collapsed(edges: Iterable[Edge]) -> list[WordEdge]:
    """Replace empty nodes by paths through them, as the official scorer requires.

    An empty node between two words becomes an edge whose label is the labels on the path, joined by
    ``>``. A path visits no empty node twice. `TreebankError` if there are too many paths.
    """
    direct, into = set[WordEdge](), defaultdict[NodeId, list[Edge]](list)
    for edge in edges:
        into[edge.dependent].append(edge)
    stack = [
        (head, label, node, frozenset[str]())
        for node, entering in into.items()
        if isinstance(node, int)
        for head, label, _ in entering
    ]
    for _ in range(_MAX_PATHS):
        if not stack:
            return sorted(direct)
        head, label, word, visited = stack.pop()
        if isinstance(head, int):
            direct.add(WordEdge(head, label, word))
        elif head not in visited:
            visited |= {head}
            stack += [(b.head, f"{b.label}>{label}", word, visited) for b in into[head]]
    raise TreebankError(f"more than {_MAX_PATHS:,} edges and paths through empty nodes")


def collapsed_graph(sentence: Sentence, left_out: str = "") -> list[WordEdge]:
    """Return the collapsed graph of a sentence without some `ENHANCEMENTS`, named by digits."""
    graph = read_graph(sentence)
    try:
        edges = collapsed(graph)
    except TreebankError as error:
        raise TreebankError(f"{sentence.place()}: {error}") from None
    for digit in sorted({*left_out}):
        edges = _without(digit, edges, sentence)
    return edges


def _without(digit: str, edges: list[WordEdge], sentence: Sentence) -> list[WordEdge]:
    """Return edges without one of the `ENHANCEMENTS`, by the rules of the official scorer.

    Like there, edges that become equal count apart. Its rules 3 and 5 are taken as they are meant:
    as written, one compares words with numbers, the other is off by one word.
    """
    heads, labels = [0, *sentence.heads], ["", *sentence.deprels]
    conjuncts = {edge.dependent: edge for edge in edges if is_conjunct(edge)}
    own = {(edge.dependent, edge.label) for edge in edges if edge.head == heads[edge.dependent]}
    kept = list[WordEdge]()
    for edge in edges:
        head, label, m = edge
        basic = WordEdge(heads[m], labels[m], m)
        is_left_out = (
            (digit == "2" and conjuncts.get(m, edge) != edge)
            or (digit == "3" and head != heads[m] and (m, label) in own)
            or (digit == "4" and labels[head] == "xcomp" and ">nsubj" in f">{label}")
        )
        if digit == "1" and ">" in label:
            edge = basic
        elif digit == "5" and label.partition(">")[0] == "ref":
            edge = basic
        elif digit == "5":
            is_left_out = labels[head].startswith("acl") and heads[head] == m
        elif digit == "1":
            is_left_out = edge in kept
        elif digit == "6":
            edge = edge._replace(label=">".join(map(_without_case, label.split(">"))))
        if not is_left_out:
            kept.append(edge)
    return kept


def is_conjunct(edge: WordEdge) -> bool:
    """Return True for the edge from a conjunct to the next one."""
    return edge.label.startswith("conj") and ">" not in edge.label


def _without_case(label: str) -> str:
    first, *rest = label.split(":")
    has_case = first in _WITH_CASE and len(rest) == 1 and rest[0] not in ("pass", "relcl", "xsubj")
    return first if has_case else label


def matches(gold: Sequence[WordEdge], predicted: Sequence[WordEdge]) -> tuple[int, int]:
    """Count the edges that agree in two collapsed graphs, and those but for subtypes of labels.

    Like the official scorer, it compares all pairs of edges between two words.
    """
    bare = ([(h, universal(label), m) for h, label, m in side] for side in (gold, predicted))
    return _pairs(gold, predicted), _pairs(*bare)


def _pairs(gold: Iterable[object], predicted: Iterable[object]) -> int:
    counts = Counter(predicted)
    return sum(counts[edge] for edge in gold)


def enhancement(edge: WordEdge, heads: Sequence[int], labels: Sequence[str]) -> str:
    """Classify an edge of a collapsed graph beside the tree; see `CLASSES`."""
    head, label, m = edge
    if ">" in label:
        return "gapping"
    if head == heads[m - 1]:
        return "basic" if label == labels[m - 1] else "label"
    if label == "ref" or m in ancestors(head, heads):
        return "relative"
    if labels[m - 1].startswith("conj"):
        return "shared head"
    if head and labels[head - 1].startswith("xcomp"):
        return "control"
    return "shared dependent" if head and labels[head - 1].startswith("conj") else "other"


def ancestors(word: int, heads: Sequence[int]) -> list[int]:
    """Return the head of a word, its head and so on up to the root; short of it in a cycle."""
    found: dict[int, None] = {}
    while word and (word := heads[word - 1]) not in found:
        found[word] = None
    return [*found]


def path_between(head: int, dependent: int, heads: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the words whose arcs join two words of a tree: up from the dependent, and the head."""
    up, down = [dependent, *ancestors(dependent, heads)], [head, *ancestors(head, heads)]
    while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
        up.pop()
        down.pop()
    return up[:-1], down[:-1]


def edge_confidences(tree: ScoredTree) -> list[list[float]]:
    """Return the probability of each edge of a tree's graph: that all arcs on its path are right.

    They are the products of the probabilities of the arcs; nothing if the tree has none.
    """
    if not tree.confidences:
        return []
    return [
        [
            math.prod(tree.confidences[x - 1] for side in path for x in side)
            for head, _ in edges
            for path in [path_between(head, m, tree.heads)]
        ]
        for m, edges in enumerate(tree.enhanced, start=1)
    ]
