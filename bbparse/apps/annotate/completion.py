"""Best trees under an annotator's marks, with probabilities and broken validity rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bbparse.apps.annotate.marks import Marks
from bbparse.core import Problem
from bbparse.models.graph.enhancer import Graph
from bbparse.models.scoring.labeller import Labelling
from bbparse.models.scoring.problem_maker import Scored
from bbparse.parser.confidence import Calibration, evidence_of
from bbparse.parser.edges import has_edges, named_edges, naming_edges
from bbparse.parser.parse import ParseOptions
from bbparse.parser.parser import Parser
from bbparse.parser.validity.check import NO_ENTRY, tree_faults
from bbparse.parser.validity.rules import Rules, rules_for
from bbparse.runtime.errors import BBParseError, TreebankError
from bbparse.treebank.drawing.layout import in_english
from bbparse.treebank.sentence import NO_HEAD, Sentence
from bbparse.treebank.trees import crossing_words

#: Key of an annotator's edges in MISC of sentences to parse, without ``--edges``.
_EDGES = "Edge"
#: A possible head or label of a word, and its probability.
Likely = tuple[int | str, float]


@dataclass(frozen=True, slots=True)
class RatedTree:
    """A tree of a sentence with its probabilities."""

    heads: tuple[int, ...]
    labels: tuple[str, ...]
    confidences: tuple[float, ...]  #: Probability that each arc and its label are right.
    confidence: float  #: Probability that the whole tree is right.
    score: float = math.nan
    proved: bool = True
    complaint: str = ""  #: Why there is no tree, if so: open words then have no head.
    source: str = ""  #: Origin of the tree, if not the parser.


class BrokenRule(NamedTuple):
    """A description of a validity rule that a tree breaks."""

    name: str
    says: str
    where: str
    word: int
    arcs: tuple[int, ...]


class Completer:
    """A parser that finds trees under marks; `ModelError` if it is not calibrated."""

    def __init__(
        self,
        parser: Parser,
        valid: str | None = None,
        spans: str | None = None,
        edges: str | None = None,
    ) -> None:
        self.calibration = Calibration.of(parser.model)
        self.rules = rules_for(valid, parser.model.labeller) or Rules(())
        options = ParseOptions(
            valid=self.rules, confidence=True, keep_heads=True, spans=spans, edges=edges
        )
        self.parser = self._crossing = parser.with_options(options)
        self.labels = () if parser.model.labeller is None else parser.model.labeller.labels
        if parser.model.config.projective:
            # The network scores crossing arcs, too, and the annotator may fix one.
            self._crossing = Parser(parser.model.with_projective(False), options)

    def best(self, sentence: Sentence, marks: Marks, k: int = 1) -> list[RatedTree]:
        """Return the k best trees under marks; arcs cross only if no other tree exists."""
        arcs = marks.arcs(sentence.n_words)
        heads, labels = [head for head, _ in arcs], [label for _, label in arcs]
        around = replace(sentence, heads=heads, deprels=labels)
        for fault in tree_faults(heads, single_root=self.parser.model.config.model.single_root):
            names = ["the root", *map(in_english, sentence.forms)]
            shown = ", ".join(f"{names[m]} ← {names[heads[m - 1]]}" for m in fault.arcs)
            raise TreebankError(f"no tree has all the fixed arcs {shown}")
        if self.parser.model.config.projective and not crossing_words(heads):
            try:
                return self._best(self.parser, around, marks, k)
            except BBParseError:
                pass  # if crossing arcs do not help either, that parser gives the reason
        return self._best(self._crossing, around, marks, k)

    def _best(self, parser: Parser, around: Sentence, marks: Marks, k: int) -> list[RatedTree]:
        def restrict(problem: Problem) -> Problem:
            return problem.without_arcs(sorted(marks.forbidden))

        edges = self.parser.edges
        key = _EDGES if edges is None else edges.key
        options: dict[str, Any] = {"k_best": k}
        if marks.edges:
            named = [] if edges is None else named_edges(around, key)
            around = naming_edges(around, key, [*named, *sorted(marks.edges)])
            options["edges"] = key
        (parse,) = parser.parse_all(
            [around],
            restrict=restrict if marks.forbidden else None,
            reasons=parser is self._crossing,
            **options,
        )
        return [
            self._with_marks(
                RatedTree(tree.heads, tree.labels, tree.confidences, 0.0, tree.score, tree.proved),
                around,
                marks,
            )
            for tree in parse.trees
        ]

    def _with_marks(self, tree: RatedTree, sentence: Sentence, marks: Marks) -> RatedTree:
        """Return a tree with its probabilities given the marks (of labels if heads are fixed)."""
        sure = list(tree.confidences)
        odds: NDArray[np.float64] | None = None
        for m, (head, label) in marks.fixed.items():
            if tree.heads[m - 1] != head or label not in ("", tree.labels[m - 1]):
                continue
            if label or tree.labels[m - 1] not in self.labels:
                sure[m - 1] = 1.0
                continue
            if odds is None:
                odds = self._label_odds(self._scored(sentence, tree.heads), tree.heads)
            sure[m - 1] = float(np.exp(odds[m - 1][self.labels.index(tree.labels[m - 1])]))
        of_all = self.calibration.of_tree(np.array(sure))
        return replace(tree, confidences=tuple(sure), confidence=of_all)

    def draft(self, sentence: Sentence, marks: Marks) -> RatedTree:
        """Return the tree that a sentence has, with its probabilities."""
        heads, labels = tuple(sentence.heads), tuple(sentence.deprels)
        complaint = "; ".join(fault.name for fault in tree_faults(heads, single_root=True))
        if complaint:
            return RatedTree(heads, labels, (0.0,) * len(heads), 0.0, complaint=complaint)
        scored = self._scored(sentence, heads)
        size, p = len(heads) + 1, scored.problem  # its arcs are sorted by head and modifier
        wanted = np.array(heads) * size + np.arange(1, size)
        arcs = np.searchsorted(p.arc_head.astype(np.int64) * size + p.arc_mod, wanted)
        evidence = evidence_of(self.parser.model, scored, arcs.astype(np.int32), list(labels))
        sure = self.calibration(evidence)
        rated = RatedTree(heads, labels, sure.confidences, sure.confidence)
        return self._with_marks(rated, sentence, marks)

    def _scored(self, sentence: Sentence, heads: Sequence[int]) -> Scored:
        """Score a sentence, with the arcs of a tree among the candidates."""
        parser = self._crossing if crossing_words(heads) else self.parser
        return parser.model.maker([sentence], None, None, [dict(enumerate(heads, start=1))])[0]

    def options(
        self, sentence: Sentence, heads: Sequence[int], word: int
    ) -> tuple[list[Likely], list[Likely]]:
        """Return the candidate heads of a word and the labels of its arc, most probable first."""
        scored = self._scored(sentence, heads)
        p = scored.problem
        candidates = np.flatnonzero(p.arc_mod == word)
        if scored.scores is not None:
            odds = scored.scores.log_probabilities(p.arc_head[candidates], p.arc_mod[candidates])
        else:
            odds = p.arc_score[candidates]
            odds = odds - np.logaddexp.reduce(odds)
        likely = _likely_first(p.arc_head[candidates].tolist(), odds)
        if not self.labels:
            return likely, []
        return likely, _likely_first(self.labels, self._label_odds(scored, heads)[word - 1])

    def allows(self, sentence: Sentence, marks: Marks) -> bool:
        """Return True if the tree that a sentence has is one under marks."""
        heads, labels = sentence.heads, sentence.deprels
        if not marks.edges or not marks.allow(heads, labels):
            return marks.allow(heads, labels)
        graph = self.graph(sentence, heads, labels)
        return bool(graph) and has_edges(graph, marks.edges)

    def graph(self, sentence: Sentence, heads: Sequence[int], labels: Sequence[str]) -> Graph:
        """Return the enhanced graph of a tree; nothing if there is no tree or no such model."""
        enhancer = self.parser.model.enhancer
        if enhancer is None or tree_faults(heads, single_root=False) or NO_HEAD in heads:
            return ()
        return enhancer([(sentence, heads, labels)])[0]

    def _label_odds(self, scored: Scored, heads: Sequence[int]) -> NDArray[np.float64]:
        """Return log-probabilities of the labels of each arc of a tree, float64[n, L]."""
        labeller = cast(Labelling, self.parser.model.labeller)  # there are labels
        rows = labeller.tree_scores(scored, np.array([0, *heads], np.int32))
        return rows - np.logaddexp.reduce(rows, axis=1, keepdims=True)

    def broken(self, sentence: Sentence, tree: RatedTree) -> list[BrokenRule]:
        """Return the rules that a tree breaks."""
        heads, labels, rules = list(tree.heads), list(tree.labels), self.rules
        shown = replace(sentence, forms=[in_english(form) for form in sentence.forms])
        broken = []
        for fault in rules.faults(replace(sentence, heads=heads, deprels=labels)):
            has_rule = fault.entry != NO_ENTRY
            says = rules.entries[fault.entry].rule.says if has_rule else _SAYS[fault.name]
            where = fault.text(shown, heads, labels).partition(": ")[2]
            broken.append(BrokenRule(fault.name, says, where, fault.word, fault.arcs))
        return broken


def _likely_first(values: Sequence[int | str], odds: NDArray[np.float64]) -> list[Likely]:
    order = np.argsort(-odds, kind="stable").tolist()
    return [(values[i], float(np.exp(odds[i]))) for i in order]


#: Descriptions of faults that are not rules: the heads form no tree.
_SAYS = {
    "head-self-loop": "A word must not be its own head.",
    "non-tree": "Heads must not form a cycle.",
    "multiple-roots": "There must be exactly one root.",
    "unknown-deprel": "The rules do not know this relation.",
}
