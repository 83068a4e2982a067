"""`ParseOptions`, the options of a parse, and `Parse`, its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from bbparse.core import Solution
from bbparse.models.factors.tree_family import TreeFamily
from bbparse.models.graph.enhancer import Enhancer, Graph
from bbparse.models.graph.words import AnyTree
from bbparse.parser.confidence import Confidences
from bbparse.parser.spans import Spans
from bbparse.parser.validity.check import Fault
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_options, check_type
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import ScoredTree

#: A tree family, its class or its name.
AnyTreeFamily = TreeFamily | type[TreeFamily] | str


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Per-sentence parsing options, the same in Python, the command line and the service.

    Parameters
    ----------
    k_best : int
        Number of trees; all trees if fewer exist.
    prune : int, optional
        Maximum number of candidate heads per word, instead of the model's; 0: all arcs.
    time_limit, node_limit : optional
        Limits of the search in seconds and in nodes. Without them, the limit is about a second's
        work, the same work on every machine; ``time_limit=inf`` removes it.
    valid : str or Rules, optional
        Validity rules of the trees: "ud", "none", a file or a plug-in, which add to UD's rules. The
        default is "ud" if the model's labels are relations of UD.
    confidence : bool
        Compute the probability that each arc and each tree is right; needs a calibrated model.
    keep_heads : bool
        Keep the heads and labels that a sentence has, and find the best trees around them;
        sentences are parsed one by one.
    spans : str, optional
        ``KEY`` or ``KEY:WEIGHT``: words between brackets in this MISC item form one subtree, as a
        hard or a soft constraint (`bbparse.parser.spans`).
    enhanced : bool, optional
        Make the enhanced graph of each tree. By default if the model can.
    edges : str, optional
        A word with ``KEY=HEAD:LABEL`` in MISC must have this edge in the graph of the tree
        (`bbparse.parser.edges`).

    Raises
    ------
    ProblemError
        If a value is out of range.
    """

    k_best: int = 1
    prune: int | None = None
    time_limit: float | None = None
    node_limit: int | None = None
    valid: str | Rules | None = None
    confidence: bool = False
    keep_heads: bool = False
    spans: str | None = None
    enhanced: bool | None = None
    edges: str | None = None

    def __post_init__(self) -> None:
        numbers = ("k_best", "prune", "time_limit", "node_limit")
        check_options({name: getattr(self, name) for name in numbers}, ProblemError)
        for name in ("confidence", "keep_heads"):
            check_type(name, getattr(self, name), bool, "True or False", ProblemError)
        if self.enhanced is not None:
            check_type("enhanced", self.enhanced, bool, "True or False", ProblemError)
        if self.edges is not None:
            check_type("edges", self.edges, str, "a key of MISC", ProblemError)
        if self.spans is not None:
            check_type("spans", self.spans, str, "KEY or KEY:WEIGHT", ProblemError)
            Spans.parsed(self.spans)


#: The defaults.
USUAL = ParseOptions()


class Parse(NamedTuple):
    """Result of parsing a sentence."""

    sentence: Sentence
    solution: Solution
    #: For each tree of the solution the labels of its arcs; empty if the model has no labels.
    labels: list[list[str]]
    #: For each tree the rules that no search could make it satisfy; empty if there are none.
    faults: Sequence[Sequence[Fault]] = ()
    #: For each tree the confidences, if they were requested.
    confidences: Sequence[Confidences] = ()
    #: For each tree its enhanced graph, if they are made.
    graphs: Sequence[Graph] = ()

    def first(self, count: int) -> Parse:
        """Return the parse with only its first trees; see `Solution.first`."""
        if count >= len(self.solution):
            return self
        first = self.solution.first(count)
        parts: Any = (part[:count] for part in self[2:])
        return Parse(self.sentence, first, *parts)

    @property
    def status(self) -> str:
        """The reason why the search ended."""
        return self.solution.status

    @property
    def trees(self) -> list[ScoredTree]:
        """The trees as plain records, best first."""
        trees = trees_of(self.solution, self.labels, self.graphs)
        for k, faults in enumerate(self.faults):
            texts = [f.text(self.sentence, trees[k].heads, trees[k].labels) for f in faults]
            trees[k] = replace(trees[k], broken=tuple(dict.fromkeys(texts)))
        for k, confidences in enumerate(self.confidences):
            trees[k] = replace(
                trees[k],
                confidences=confidences.arcs,
                confidence=confidences.tree,
                runner_up_heads=confidences.runner_up_heads,
                top2_probabilities=confidences.top2_probabilities,
            )
        return trees


def graphs_of(parses: Sequence[Parse], enhancer: Enhancer) -> list[list[Graph]]:
    """Return the enhanced graphs of the trees of each parse; none where arcs have no labels."""
    trees: list[AnyTree] = []
    for parse in parses:
        for heads, labels in zip(parse.solution.heads[:, 1:].tolist(), parse.labels):
            trees.append((parse.sentence, heads, labels))
    graphs = iter(enhancer(trees))
    return [[*islice(graphs, len(parse.labels))] for parse in parses]


def trees_of(
    solution: Solution, labels: Sequence[Sequence[str]] = (), graphs: Sequence[Graph] = ()
) -> list[ScoredTree]:
    """Convert the trees of a solution to plain records, with the labels and graphs of each."""
    rows = zip(
        solution.heads[:, 1:].tolist(),
        solution.scores.tolist(),
        solution.upper_bounds.tolist(),
        solution.proved.tolist(),
        labels or [()] * len(solution),
        graphs or [[]] * len(solution),
    )
    return [
        ScoredTree(
            tuple(heads), score, bound, proved, tuple(names), enhanced=tuple(map(tuple, graph))
        )
        for heads, score, bound, proved, names, graph in rows
    ]
