"""`Enhancer`: the enhanced graph of a tree, as it is learned from a treebank's DEPS.

Of the edges of English EWT, 83 in 100 are arcs of the tree, 11 have a longer label, and nearly all
others join words at most three arcs apart. So labels of the tree's arcs are completed by recipes
(`bbparse.models.graph.recipes`), and each path that ended in an edge in training three times or
more is classified: no edge, or an edge with this label (`bbparse.models.graph.paths`).

A graph is valid by UD's rules: every word is reached from the root, no edge joins a word with
itself, none joins two words twice, ``root`` comes from 0 and from nowhere else, and a word with the
relation ``goeswith`` has its arc only. No empty nodes are predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bbparse.models.graph.paths import (
    LENGTH,
    MAX_ARCS,
    N_PATH,
    NODES,
    TEMPLATE,
    classify,
    find_paths,
    find_relatives,
    n_features,
)
from bbparse.models.graph.recipes import Ends, Marks
from bbparse.models.graph.words import Vocabulary, Words
from bbparse.runtime.archive import REALS, Fields, Rule, reading_part
from bbparse.runtime.arrays import Float32s, Ints, Longs
from bbparse.runtime.errors import ModelError
from bbparse.treebank.graph import reached
from bbparse.treebank.sentence import AnyTree

Template = tuple[tuple[str, ...], tuple[str, ...]]
"""Labels of a path up from the dependent, and down to the head."""
Graph = tuple[tuple[tuple[int, str], ...], ...]
"""For each word its (head, label) pairs, by head; 0 is the root."""

Edges = list[tuple[int, str]]
"""The pairs of one word, while a graph is made."""

GRAPH_FIELDS: dict[str, Rule] = {
    "graph": dict,
    "graph_keys": ("i", 1, None),
    "graph_weights": (REALS, 1, None),
}
_MAX_INDEX = 1 << 28
#: Most paths of a word, on average: words with hundreds of children have more, which get no edges.
_MOST_PATHS = 256
NONE = ""  #: The class of a path without an edge.
#: Words from which the end of an edge's label may come.
DONORS = ("dependent", "conjunct", "relative")


class Enhancer:
    """Makes graphs from trees.

    Parameters
    ----------
    vocabulary : Vocabulary
    ends : mapping
        Recipes for the ends of labels, by relation.
    templates : sequence of Template
    classes : sequence of list of str
        For each template the labels among which paths are classified; `NONE` for no edge.
    donors : sequence of str
        For each template a key of `DONORS`, empty if its edges have plain labels.
    weights : tuple of int64[f], float32[w]
        Keys ``template · features + feature``, ascending; for each the weights of all classes.
    notes : dict
        Facts for the model's card.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        ends: Mapping[str, Ends],
        templates: Sequence[Template],
        classes: Sequence[list[str]],
        donors: Sequence[str],
        weights: tuple[Longs, Float32s],
        notes: dict[str, Any],
    ) -> None:
        self.vocabulary, self.ends, self.notes = vocabulary, dict(ends), notes
        self.templates, self.classes, self.donors = list(templates), list(classes), list(donors)
        self.keys, self.weights = weights
        count = n_features(vocabulary.sizes)
        self._n_classes = np.array([len(own) for own in classes] or [1], np.int32)
        none = [own.index(NONE) if NONE in own else -1 for own in classes] or [-1]
        self._none = np.array(none, np.int32)
        self._index = np.full((len(self._n_classes), count), -1, np.int32)
        widths = self._n_classes[self.keys // count]
        self._index.reshape(-1)[self.keys] = np.cumsum(widths) - widths
        self._trie = trie(vocabulary, self.templates)
        known = {value: i for i, value in enumerate(vocabulary.values[0], start=1)}
        self._adposition = known.get("ADP", -1)

    def paths(self, words: Words) -> tuple[Ints, Ints]:
        """Return the paths that match a template, int32[paths, N_PATH], and `find_relatives`."""
        out = np.empty((4 * len(words.rows), N_PATH), np.int32)
        found = find_paths(words, *self._trie, out)
        if found > len(out):
            found = min(found, _MOST_PATHS * len(words.rows))
            out = np.empty((found, N_PATH), np.int32)
            find_paths(words, *self._trie, out)
        relatives = find_relatives(words, self.vocabulary.bits, self._adposition)
        return out[:found], relatives

    def __call__(self, trees: Sequence[AnyTree]) -> list[Graph]:
        """Return the graphs of a batch of trees: (sentence, heads, labels) each."""
        if not trees:
            return []
        marks = Marks(trees)
        words = self.vocabulary(marks)
        edges: list[Edges] = []  # by row of `words`
        for _, heads, relations in trees:
            edges.append([])
            edges += [[arc] for arc in zip(heads, relations)]
        for row, ends in enumerate(map(self.ends.get, marks.labels)):
            if ends is not None:
                ((head, label),) = edges[row]
                edges[row][0] = head, label + ends(marks, row)
        paths, relatives = self.paths(words)
        if len(paths):
            self._add_edges(edges, words, marks, paths, relatives)
        return [tuple(map(tuple, edges[a + 1 : b])) for a, b in pairwise(words.starts.tolist())]

    def _add_edges(
        self, edges: list[Edges], words: Words, marks: Marks, paths: Ints, relatives: Ints
    ) -> None:
        """Add the edges in which paths end to those of each row."""
        bits, sizes, counts = self.vocabulary.bits, self.vocabulary.sizes, self._n_classes
        best = classify(paths, words, bits, relatives, sizes, self._index, self.weights, counts)
        is_edge = best != self._none[paths[:, TEMPLATE]]
        paths, best = paths[is_edge], best[is_edge]
        tree_of = np.searchsorted(words.starts, paths[:, NODES], side="right") - 1
        starts = words.starts[tree_of].tolist()
        referring: dict[int, list[int]] = {}
        for i, start, path, y in zip(tree_of.tolist(), starts, paths.tolist(), best.tolist()):
            template, d = path[TEMPLATE], path[NODES]
            label, donor = self.classes[template][y], self.donors[template]
            if marks.labels[d].startswith("goeswith"):
                continue
            if donor and label in self.ends:
                label += self.end(donor, self.ends[label], marks, path, relatives)
            if label == "ref":
                referring.setdefault(i, []).append(d - start)
            edges[d].append((path[NODES + path[LENGTH] - 1] - start, label))
        for i, dependents in referring.items():
            _drop_arcs(edges[words.starts[i] + 1 : words.starts[i + 1]], dependents)
        for d in {*paths[:, NODES].tolist()}:
            edges[d].sort()

    @staticmethod
    def end(donor: str, ends: Ends, marks: Marks, path: Sequence[int], relatives: Ints) -> str:
        """Return the end of the label of a path's edge, by the markers of its donor."""
        row = path[NODES]
        if donor == "relative":
            rows = relatives[path[NODES : NODES + path[LENGTH]], 0]
            row = next(iter(rows[rows >= 0].tolist()), -1)
        found = ends(marks, row) if row >= 0 else ""
        # a shared dependent without a marker has that of the first conjunct
        while donor == "conjunct" and not found and marks.labels[row].startswith("conj"):
            row = marks.heads[row]
            found = ends(marks, row) if marks.heads[row] >= 0 else "?"
        return found.strip("?")

    def shapes(self, label: str) -> set[tuple[int, int]]:
        """Return the numbers of arcs up and down on paths whose edges may get a label; '' is any.

        A label stands for its subtypes, too.
        """
        found = {(1, 0)}  # arcs of the tree
        for (up, down), names in zip(self.templates, self.classes):
            for name in filter(None, names):
                # one of them may be the other without an end
                short, long = sorted((name, label or name), key=len)
                if f"{long}:".startswith(f"{short}:"):
                    found.add((len(up), len(down)))
        return found

    def to_fields(self) -> Fields:
        """Return the enhancer as fields of a model file."""
        entry = {
            "relations": self.vocabulary.relations,
            "values": self.vocabulary.values,
            "ends": {relation: own.to_entry() for relation, own in self.ends.items()},
            "templates": [[*map(list, template)] for template in self.templates],
            "classes": self.classes,
            "donors": self.donors,
            "notes": self.notes,
        }
        return {"graph": entry, "graph_keys": self.keys, "graph_weights": self.weights}

    @classmethod
    def from_fields(cls, fields: Fields, where: str) -> Enhancer:
        """Return the enhancer of a model file; raises `ModelError` if it is damaged."""
        expected: dict[str, Any] = dict.fromkeys(("relations", "donors"), list[str])
        expected |= dict.fromkeys(("values", "classes"), list[list[str]])
        expected |= {"templates": list[list[list[str]]], "ends": dict[str, dict], "notes": dict}
        with reading_part("graph", fields, where, expected) as given:
            entry = given["graph"]
            vocabulary = Vocabulary(entry["relations"], entry["values"])
            pairs = [template for template in entry["templates"] if len(template) == 2]
            known = set(vocabulary.relations)
            templates = [(tuple(up), tuple(d)) for up, d in pairs if known.issuperset(up + d)]
            classes, donors = entry["classes"], entry["donors"]
            keys = given["graph_keys"].astype(np.int64)
            weights = given["graph_weights"].astype(np.float32)
            ends = {name: Ends.from_entry(own) for name, own in entry["ends"].items()}
            count = n_features(vocabulary.sizes)
            n_classes = np.array([len(own) for own in classes], np.int64)
            is_sound = (
                len(vocabulary.values) == len(vocabulary.sizes) - 1 == 5
                and len(templates) == len(entry["templates"]) == len(classes) == len(donors)
                and all(0 < len(u) + len(d) <= MAX_ARCS for u, d in templates)
                and all(classes)
                and (np.diff(keys) > 0).all()
                and (not len(keys) or 0 <= keys[0] <= keys[-1] < count * len(classes))
                and n_classes[keys // count].sum() == len(weights)
                and count * len(classes) <= _MAX_INDEX
            )
            if not is_sound:
                raise ModelError("the entry graph of the card does not fit its arrays")
            return cls(
                vocabulary, ends, templates, classes, donors, (keys, weights), entry["notes"]
            )


def trie(vocabulary: Vocabulary, templates: Sequence[Template]) -> tuple[Ints, Ints, Ints]:
    """Return the trie of templates; see `bbparse.models.graph.paths`."""
    number = {label: i for i, label in enumerate(vocabulary.relations, start=1)}
    states: dict[Template, int] = {((), ()): 0}
    for up, down in templates:
        for k in range(len(up) + 1):
            states.setdefault((up[:k], ()), len(states))
        for k in range(len(down) + 1):
            states.setdefault((up, down[:k]), len(states))
    tables = [np.full((len(states), len(number) + 1), -1, np.int32) for _ in range(2)]
    template_of = np.full(len(states), -1, np.int32)
    for (up, down), state in states.items():
        if down:
            tables[1][states[up, down[:-1]], number[down[-1]]] = state
        elif up:
            tables[0][states[up[:-1], ()], number[up[-1]]] = state
    for t, template in enumerate(templates):
        template_of[states[template]] = t
    return tables[0], tables[1], template_of


def _drop_arcs(graph: Sequence[Edges], referring: Sequence[int]) -> None:
    """Remove the arcs of the tree of words that have ``ref``, as far as all stay reached."""
    arcs = {m: graph[m - 1].pop(0) for m in dict.fromkeys(referring)}
    while True:
        found = reached([(h, x, m) for m, edges in enumerate(graph, start=1) for h, x in edges])
        missing = [m for m in arcs if m not in found]
        if not missing:
            return
        graph[missing[0] - 1].append(arcs.pop(missing[0]))
