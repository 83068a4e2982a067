"""`ParseOptions`, the options of a parse, and `Parse`, its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bbparse.models.factors.tree_family import TreeFamily
from bbparse.parser.confidence import Confidences
from bbparse.parser.spans import Spans
from bbparse.parser.validity.lazily import ValidTrees
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
        It is calibrated for best trees; that of the second best and so on may be too high.
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
    projective : bool, optional
        True: projective trees only; False: crossing arcs, too, which a model trained on projective
        trees cannot draw. By default as the model was trained.
    members : int, optional
        Average only so many of the model's networks: faster, but less accurate.
    language : str, optional
        Code of the language, or name of its model, for a model of many languages. By default a
        comment of each sentence says it, which the tokenizer writes.

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
    projective: bool | None = None
    members: int | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        numbers = ("k_best", "prune", "time_limit", "node_limit", "members")
        check_options({name: getattr(self, name) for name in numbers}, ProblemError)
        for name, kind, expected in (
            ("confidence", bool, "True or False"),
            ("keep_heads", bool, "True or False"),
            ("enhanced", bool | None, "True or False"),
            ("projective", bool | None, "True or False"),
            ("edges", str | None, "a key of MISC"),
            ("spans", str | None, "KEY or KEY:WEIGHT"),
            ("language", str | None, "a code or the name of a model"),
        ):
            check_type(name, getattr(self, name), kind, expected, ProblemError)
        if self.spans is not None:
            Spans.parsed(self.spans)


#: The defaults.
USUAL = ParseOptions()


@dataclass(slots=True, eq=False)
class Parse:
    """Result of parsing a sentence."""

    sentence: Sentence
    #: Best first.
    trees: list[ScoredTree]
    #: Reason for the end of the search, and its counts and times, as in `bbparse.Solution`.
    status: str
    stats: dict[str, float | int]


def trees_of(
    sentence: Sentence, found: ValidTrees, confidences: Sequence[Confidences] = ()
) -> list[ScoredTree]:
    """Return the trees that a search has found as plain records, best first."""
    trees, s = list[ScoredTree](), found.solution
    rows = zip(s.heads[:, 1:].tolist(), s.scores.tolist(), s.upper_bounds.tolist(), s.proved)
    for k, (heads, score, bound, proved) in enumerate(rows):
        labels = tuple(found.labels[k]) if found.labels else ()
        more: dict[str, Any] = confidences[k]._asdict() if confidences else {}
        if found.faults:
            texts = [fault.text(sentence, heads, labels) for fault in found.faults[k]]
            more["broken"] = tuple(dict.fromkeys(texts))
        trees.append(ScoredTree(tuple(heads), score, bound, bool(proved), labels, **more))
    return trees
