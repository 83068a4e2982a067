"""Edges that the enhanced graph of a tree must have, named in MISC: ``Edge=4:nsubj``.

The graph is a function of the tree, so an edge is a constraint on trees: the path between its words
has at most three arcs and one of the shapes that such edges have (`Problem.with_any`), and the
graph of the tree has the edge (`EdgeFamily`). Trees are listed by score until one has all edges, so
the first one is proved to be the best, unless rules might have given another one labels with which
its graph has the edges. Otherwise labels are those that the model gives to each tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.models.factors.tree_family import TreeFamily
from bbparse.models.factors.view import FactorView
from bbparse.models.graph.enhancer import Enhancer, Graph
from bbparse.models.graph.paths import MAX_ARCS
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.lazily import ValidTrees
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.arrays import Ints
from bbparse.runtime.errors import TreebankError
from bbparse.treebank import Sentence
from bbparse.treebank.graph import WordEdge
from bbparse.treebank.sentence import misc_values
from bbparse.treebank.writing import with_misc

Arc = tuple[int, int]


class EdgeFamily(TreeFamily):
    """Forbids trees whose graphs lack an edge that the sentence names in MISC."""

    name = "edges"
    summary = "edges of the enhanced graph that MISC names"

    def __init__(self, key: str, enhancer: Enhancer, rules: Rules | None) -> None:
        self.key, self.enhancer, self.rules = key, enhancer, rules
        #: Identities of sentences with a tree that may have its edges once rules change its labels.
        self.in_doubt: set[int] = set()

    def onto(self, problem: Problem, sentence: Sentence) -> Problem:
        """Return the problem of the trees with a path for each edge of a sentence."""
        edges = named_edges(sentence, self.key)
        if not edges:
            return problem
        heads: dict[int, list[int]] = {}
        allowed = problem.arc_state != -1
        for h, m in zip(problem.arc_head[allowed].tolist(), problem.arc_mod[allowed].tolist()):
            heads.setdefault(m, []).append(h)
        for head, label, m in edges:
            shapes = self.enhancer.shapes(label)
            problem = problem.with_any([*_paths(heads, head, m, shapes)])
        return problem

    def tree_score(self, view: FactorView, heads: Ints, labels: Sequence[str]) -> float:
        """Return 0 for a tree whose graph has the edges of its sentence, else -inf."""
        tree = heads[1:].tolist()
        (graph,) = self.enhancer([(view.sentence, tree, labels[1:])])
        if has_edges(graph, named_edges(view.sentence, self.key)):
            return 0.0
        if self.rules and RuledSentence(self.rules, view.sentence).faults(tree, labels[1:]):
            self.in_doubt.add(id(view.sentence))
        return -np.inf

    def is_doubtful(self, sentence: Sentence, found: ValidTrees) -> bool:
        """Return True if a tree lacks its edges, or rules may give them to a better one."""
        edges, key = named_edges(sentence, self.key), id(sentence)
        rows = zip(found.solution.heads[:, 1:].tolist(), found.labels)
        graphs = self.enhancer([(sentence, *row) for row in rows])
        is_in_doubt = key in self.in_doubt or not all(has_edges(own, edges) for own in graphs)
        self.in_doubt.discard(key)
        return is_in_doubt

    def no_tree(self, sentence: Sentence, solution: Solution) -> TreebankError:
        """Return the error for a sentence of which no tree was found that has its edges."""
        edges = (f"{h} → {m} {label}".strip() for h, label, m in named_edges(sentence, self.key))
        count = int(solution.stats.get("trees_scored", 0))
        which = f"none of the {count:,} best trees"
        if solution.status == "infeasible":
            which = "no tree that is allowed"
        return TreebankError(
            f"{sentence.source or 'input'}, {sentence.name}: {which} has the edges"
            f" {', '.join(edges)} in its graph"
        )


def named_edges(sentence: Sentence, key: str) -> list[WordEdge]:
    """Return the edges that MISC of a sentence names; ``Edge=4`` is one with any label."""
    edges = []
    for m, values in enumerate(misc_values(sentence, key), start=1):
        for value in values:
            head, _, label = value.partition(":")
            is_number = head.isascii() and head.isdecimal() and len(head) < 10
            if not is_number or int(head) > sentence.n_words or int(head) == m:
                raise TreebankError(
                    f"{sentence.place(m - 1)}: {key}={value}: expected HEAD:LABEL, with another"
                    " word or 0 as HEAD"
                )
            edges.append(WordEdge(int(head), label, m))
    return edges


def naming_edges(sentence: Sentence, key: str, edges: Iterable[WordEdge]) -> Sentence:
    """Return a copy of a sentence whose MISC names these edges, in place of others."""
    values: dict[int, list[str]] = {}
    for head, label, m in edges:
        values.setdefault(m, []).append(f"{head}:{label}")
    lines = list(sentence.lines)
    for m, i in enumerate(sentence.word_lines, start=1):
        lines[i] = with_misc(lines[i], key, f"|{key}=".join(values.get(m, ())))
    return replace(sentence, lines=lines)


def has_edges(graph: Graph, edges: Iterable[WordEdge]) -> bool:
    """Return True if a graph has all of some edges."""
    return all(
        any(h == head and fits(own, label) for h, own in graph[m - 1]) for head, label, m in edges
    )


def fits(label: str, wanted: str) -> bool:
    """Return True for a label that is the one wanted, or a subtype of it; '' is any."""
    return not wanted or f"{label}:".startswith(f"{wanted}:")


def _paths(
    heads: dict[int, list[int]], head: int, dependent: int, shapes: set[tuple[int, int]]
) -> Iterator[list[Arc]]:
    """Yield the sets of arcs that join two words by a path of one of some shapes."""
    ups, downs = (
        [own for k in range(MAX_ARCS + 1) for own in _climbs(heads, word, k)]
        for word in (dependent, head)
    )
    for up, down in product(ups, downs):
        words = [*up, *down[:-1]]
        if (
            (len(up) - 1, len(down) - 1) in shapes
            and up[-1] == down[-1]
            and len({*words}) == len(words)
        ):
            yield [(h, m) for side in (up, down) for m, h in pairwise(side)]


def _climbs(heads: dict[int, list[int]], word: int, count: int) -> Iterator[list[int]]:
    """Yield the words of all ways up from a word by ``count`` arcs."""
    if not count:
        yield [word]
        return
    for way in _climbs(heads, word, count - 1):
        for head in heads.get(way[-1], ()):
            if head not in way:
                yield [*way, head]
