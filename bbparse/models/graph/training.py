"""Training of an `Enhancer` on the trees and graphs of a treebank."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bbparse.models.graph.enhancer import DONORS, NONE, Enhancer, Template
from bbparse.models.graph.paths import (
    LENGTH,
    MAX_ARCS,
    NODES,
    TEMPLATE,
    feature_rows,
    loss_gradient,
    n_features,
)
from bbparse.models.graph.recipes import Ends, Marks
from bbparse.models.graph.words import Vocabulary
from bbparse.runtime.arrays import Float32s, Float64s, Ints, Longs
from bbparse.treebank.graph import WordEdge, collapsed_graph, enhancement, path_between
from bbparse.treebank.sentence import AnyTree, Sentence

#: Fewest occurrences of a path, a class or a feature of a class that count.
_FEWEST = 3
#: Fewest edges other than arcs of the tree, for a treebank to have graphs.
_FEWEST_NEW = 20
#: Weight of the squared weights in the loss, and most rounds of its minimisation.
_RIDGE, _ROUNDS = 1.0, 200
_HISTORY = 10


def train_enhancer(sentences: Iterable[Sentence]) -> Enhancer | None:
    """Train an enhancer on gold trees and DEPS; None if DEPS are absent or only copy the trees.

    Sentences without DEPS are left out. `TreebankError` if DEPS are malformed.
    """
    graphs = [(sentence, collapsed_graph(sentence)) for sentence in sentences]
    graphs = [(sentence, edges) for sentence, edges in graphs if edges]
    kinds = Counter(
        enhancement(edge, sentence.heads, sentence.deprels)
        for sentence, edges in graphs
        for edge in edges
    )
    if kinds.total() - kinds["basic"] < _FEWEST_NEW:
        return None
    return _Training(graphs, dict(sorted(kinds.items()))).enhancer()


class _Training:
    """The steps of training; each needs those before."""

    def __init__(
        self, graphs: Sequence[tuple[Sentence, list[WordEdge]]], kinds: dict[str, int]
    ) -> None:
        self.trees: list[AnyTree] = [(s, s.heads, s.deprels) for s, _ in graphs]
        # paths through empty nodes are not predicted
        self.edges = [[edge for edge in edges if ">" not in edge.label] for _, edges in graphs]
        self.vocabulary = Vocabulary.of(self.trees)
        self.marks = Marks(self.trees)
        self.words = self.vocabulary(self.marks)
        self.notes = {"edges": kinds, "sentences": len(self.trees)}

    def enhancer(self) -> Enhancer:
        """Learn recipes, then paths, then their classes."""
        self.ends = self._ends()
        wanted = self._wanted()
        counts = Counter(template for own in wanted for template, _ in own.values())
        templates = sorted(t for t, n in counts.items() if n >= _FEWEST)
        paths, answers = self._examples(templates, wanted)
        classes, donors = self._classes(templates, paths, answers)
        keys, weights = self._weights(paths, classes)
        return Enhancer(
            self.vocabulary, self.ends, templates, classes, donors, (keys, weights), self.notes
        )

    def _ends(self) -> dict[str, Ends]:
        """Learn a recipe for each relation from the labels of the tree's arcs."""
        examples: dict[str, list[tuple[int, str]]] = {}
        for start, edges in zip(self.words.starts.tolist(), self.edges):
            for head, label, m in edges:
                row = start + m
                relation, is_arc = self.marks.labels[row], start + head == self.marks.heads[row]
                if is_arc and f"{label}:".startswith(f"{relation}:"):
                    end = label[len(relation) + 1 :]
                    examples.setdefault(relation, []).append((row, end))
        learned = {name: Ends.learned(self.marks, own) for name, own in sorted(examples.items())}
        return {name: ends for name, ends in learned.items() if ends is not None}

    def _wanted(self) -> list[dict[tuple[int, int], tuple[Template, str]]]:
        """Return the new edges of each sentence, by dependent and head: their path and label."""
        found = []
        for (_, heads, labels), edges in zip(self.trees, self.edges):
            own = {}
            for head, label, m in edges:
                path = template_of(head, m, heads, labels)
                if path is not None and heads[m - 1] != head != m:
                    own[m, head] = path, label
            found.append(own)
        return found

    def _examples(
        self, templates: Sequence[Template], wanted: Sequence[Mapping[Any, tuple[Template, str]]]
    ) -> tuple[Ints, list[str]]:
        """Find all paths that match a template, and the label of the edge between their ends."""
        nothing, n = (np.zeros(0, np.int64), np.zeros(0, np.float32)), len(templates)
        plain = Enhancer(self.vocabulary, {}, templates, [[NONE]] * n, [""] * n, nothing, {})
        paths, self.relatives = plain.paths(self.words)
        tree_of = np.searchsorted(self.words.starts, paths[:, NODES], side="right") - 1
        starts = self.words.starts[tree_of]
        last = paths[np.arange(len(paths)), NODES + paths[:, LENGTH] - 1] - starts
        pairs = zip((paths[:, NODES] - starts).tolist(), last.tolist())
        no_edge = ((), ()), NONE
        answers = [wanted[i].get(pair, no_edge)[1] for i, pair in zip(tree_of.tolist(), pairs)]
        return paths, answers

    def _class(self, label: str) -> str:
        """Return the class of an edge's label: without its end if a recipe makes that."""
        relation = label
        while ":" in relation and relation not in self.vocabulary.relations:
            relation = relation.rpartition(":")[0]
        return relation if relation in self.ends else label

    def _classes(
        self, templates: Sequence[Template], paths: Ints, answers: Sequence[str]
    ) -> tuple[list[list[str]], list[str]]:
        """Return the classes of each template, and where the ends of its labels come from."""
        counts = [Counter({NONE: _FEWEST}) for _ in templates]
        right = [Counter[str]() for _ in templates]
        self.classes_of = [self._class(label) if label else NONE for label in answers]
        for path, label, name in zip(paths.tolist(), answers, self.classes_of):
            t = path[TEMPLATE]
            counts[t][name] += 1
            if name in self.ends:
                ends = self.ends[name]
                right[t][""] += label == name
                for donor in DONORS:
                    end = Enhancer.end(donor, ends, self.marks, path, self.relatives)
                    right[t][donor] += label == name + end
        classes = []
        for (up, down), own in zip(templates, counts):
            to_root = not down and up[-1] == "root"
            names = [name for name, n in own.items() if n >= _FEWEST]
            classes.append(sorted(n for n in names if not n or to_root == (n == "root")))
        donors = [max(("", *DONORS), key=own.__getitem__) for own in right]
        return classes, donors

    def _weights(self, paths: Ints, classes: Sequence[list[str]]) -> tuple[Longs, Float32s]:
        """Fit a multinomial model to the paths of each template."""
        vocabulary = self.vocabulary
        bits, sizes, count = vocabulary.bits, vocabulary.sizes, n_features(vocabulary.sizes)
        keys, weights = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
        order = np.argsort(paths[:, TEMPLATE], kind="stable")
        bounds = np.searchsorted(paths[order, TEMPLATE], np.arange(len(classes) + 1))
        for t, names in enumerate(classes):
            number = {name: y for y, name in enumerate(names)}
            own = order[bounds[t] : bounds[t + 1]]
            targets = np.array([number.get(self.classes_of[i], -1) for i in own.tolist()], np.int32)
            chosen, targets = paths[own[targets >= 0]], targets[targets >= 0]
            if len(names) == 1:
                continue
            starts = np.zeros(len(chosen) + 1, np.int64)
            features = np.zeros(0, np.int32)
            for _ in range(2):  # the first pass finds how many there are
                feature_rows(chosen, self.words, bits, self.relatives, sizes, starts, features)
                features = np.zeros(starts[-1], np.int32) if not len(features) else features
            known, inverse, n_of = np.unique(features, return_inverse=True, return_counts=True)
            kept = n_of >= _FEWEST
            local = np.where(kept, np.cumsum(kept) - 1, kept.sum())[inverse].astype(np.int32)
            fitted = fit(starts, local, targets, (int(kept.sum()) + 1, len(names)))[:-1]
            keys.append(t * count + known[kept].astype(np.int64))
            weights.append(fitted.reshape(-1).astype(np.float32))
        return np.concatenate(keys), np.concatenate(weights)


def template_of(
    head: int, dependent: int, heads: Sequence[int], labels: Sequence[str]
) -> Template | None:
    """Return the labels of the path between two words of a tree; None for more than three arcs."""
    up, down = path_between(head, dependent, heads)
    if len(up) + len(down) > MAX_ARCS:
        return None
    return tuple(labels[m - 1] for m in up), tuple(labels[m - 1] for m in reversed(down))


def fit(starts: Longs, features: Ints, classes: Ints, shape: tuple[int, int]) -> Float64s:
    """Fit a multinomial model by L-BFGS (Nocedal & Wright 2006, algorithm 7.4): float64[shape].

    Sums are in a fixed order, so the same data give the same weights.
    """

    def dot(a: Float64s, b: Float64s) -> float:
        return float((a * b).sum())  # not BLAS, whose sums depend on the number of threads

    def value(weights: Float64s) -> tuple[float, Float64s]:
        gradient = np.empty(shape)
        return loss_gradient(weights, starts, features, classes, _RIDGE, gradient), gradient

    weights = np.zeros(shape)
    loss, gradient = value(weights)
    steps: deque[tuple[Float64s, Float64s, float]] = deque(maxlen=_HISTORY)
    for _ in range(_ROUNDS):
        direction, factors = -gradient, []
        for step, change, inverse in reversed(steps):
            factors.append(inverse * dot(step, direction))
            direction = direction - factors[-1] * change
        if steps:
            step, change, inverse = steps[-1]
            direction = direction / (inverse * dot(change, change))
        for (step, change, inverse), factor in zip(steps, reversed(factors)):
            direction = direction + (factor - inverse * dot(change, direction)) * step
        slope, length = dot(gradient, direction), 1.0 if steps else 0.1
        while True:
            step = length * direction
            new_loss, new_gradient = value(weights + step)
            if new_loss <= loss + 1e-4 * length * slope or length < 1e-9:
                break
            length *= 0.5
        change = new_gradient - gradient
        is_done = loss - new_loss <= 1e-6 * max(1.0, abs(loss))
        if dot(step, change) > 1e-12:
            steps.append((step, change, 1.0 / dot(step, change)))
        weights, loss, gradient = weights + step, new_loss, new_gradient
        if is_done:
            break
    return weights
