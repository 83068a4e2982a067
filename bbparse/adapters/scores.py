"""`SentenceScores`: scores of another parser in, exact trees or a `Problem` out.

Input: arc scores [d, h], label scores [d, h, r] and sibling scores [d, h, s] of a sentence, where d
is the dependent, h the head, r the label, and s the sibling next to d, between d and h. Output: a
`Problem`, or the k best labelled trees, optionally under validity rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem, Solution
from bbparse.core.check import MAX_SCORE, as_flag, check_matrix, error_context
from bbparse.inference.matrix import as_array, cut
from bbparse.inference.solve import solve
from bbparse.models.scoring.labels import best_labels
from bbparse.parser.parse import trees_of
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.constraints import Candidates
from bbparse.parser.validity.lazily import ValidTrees, solve_valid
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_options, check_type
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import ScoredTree

_LABELS = "rows are dependents, columns are heads, the last axis is the label"
_SIBLINGS = "axes are dependent, head and the sibling between them"


@dataclass(eq=False)
class SentenceScores:
    """Scores of one sentence of n words, as a graph-based parser gives them.

    Parameters
    ----------
    arcs : float[n + 1, n + 1]
        arcs[d, h] is the score of the arc from head h to dependent d; -inf: no such arc. Row 0 and
        the diagonal are ignored.
    labels : float[n + 1, n + 1, R], optional
        labels[d, h, r] is the score of label r on this arc. Scores are normalised to
        log-probabilities of the labels of an arc, which leaves log-probabilities unchanged.
    names : sequence of R str
        Names of the labels; an empty name stands for no label, as for the padding of a vocabulary.
    siblings : float[n + 1, n + 1, n + 1], optional
        siblings[d, h, s] is the score of two dependents d and s of h on the same side, of which s
        is nearer to h, without another dependent of h between them. Other triples are ignored.

    Raises
    ------
    ProblemError
        If a shape does not fit or a score is NaN or +inf; the message says what was expected.
    """

    arcs: NDArray[np.float64]
    labels: NDArray[np.float64] | None = None
    names: Sequence[str] = ()
    siblings: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        self.arcs = as_array("arcs", self.arcs, (2,), "(n + 1, n + 1)").astype(np.float64)
        check_matrix("arcs", self.arcs)
        np.fill_diagonal(self.arcs, -np.inf)
        self.arcs[0] = -np.inf
        self.names = _texts("names", self.names)
        size, count = len(self.arcs), len(self.names)
        if self.labels is not None:
            expected = f"{(size, size, count)} as names has {count} labels: {_LABELS}"
            labels = as_array("labels", self.labels, (3,), expected).astype(np.float64)
            if labels.shape != (size, size, count):
                raise ProblemError(f"labels has shape {labels.shape}, expected {expected}")
            labels[:, :, [not name for name in self.names]] = -np.inf
            _check_labels(labels, self.arcs > -np.inf)
            self.labels = _log_softmax(labels)
        if self.siblings is not None:
            siblings = as_array("siblings", self.siblings, (3,), _SIBLINGS).astype(np.float64)
            if siblings.shape != (size,) * 3:
                raise ProblemError(
                    f"siblings has shape {siblings.shape}, expected {(size,) * 3}: {_SIBLINGS}"
                )
            self.siblings = siblings

    @property
    def n_words(self) -> int:
        """Number of words."""
        return len(self.arcs) - 1

    def problem(
        self, *, projective: bool = True, single_root: bool = True, joint: bool = True
    ) -> Problem:
        """Make a problem from these scores.

        Parameters
        ----------
        projective, single_root : bool
            See `Problem`.
        joint : bool
            The score of an arc includes that of its best label.

        Returns
        -------
        Problem
            Its arcs have no labels, and are ordered by head, then by modifier.
        """
        heads, mods = np.nonzero(self.arcs.T > -np.inf)
        scores = self.arcs[mods, heads]
        if joint and self.labels is not None:
            scores = scores + self.labels[mods, heads].max(axis=-1)
        return Problem(
            self.n_words,
            heads,
            mods,
            scores,
            projective=projective,
            single_root=single_root,
            **self._parts(),
        )

    def _parts(self) -> dict[str, Any]:
        """Return the adjacent siblings as fields of a problem."""
        if self.siblings is None:
            return {}
        word = np.arange(len(self.arcs))
        outer, head, inner = word[:, None, None], word[:, None], word
        is_between = (np.minimum(outer, head) < inner) & (inner < np.maximum(outer, head))
        allowed = self.arcs > -np.inf
        is_part = is_between & allowed[:, :, None] & allowed.T[None]
        d, h, s = np.nonzero(is_part)
        scores = self.siblings[d, h, s]
        bad = np.flatnonzero(~(np.abs(scores) <= MAX_SCORE))
        if len(bad):
            i = bad[0]
            raise ProblemError(
                f"siblings[{d[i]}, {h[i]}, {s[i]}] is {scores[i]}, expected a finite number in"
                f" shape {self.siblings.shape}: {_SIBLINGS}"
            )
        return {"sib_head": h, "sib_inner": s, "sib_outer": d, "sib_score": scores}


def from_batch(
    arcs: Any,
    lengths: Sequence[int] | None = None,
    *,
    labels: Any = None,
    names: Sequence[str] = (),
    siblings: Any = None,
) -> list[SentenceScores]:
    """Split the padded scores of a batch into sentences.

    Parameters
    ----------
    arcs : float[b, L, L], array or tensor
        As in `SentenceScores` for each sentence, with padding after the words.
    lengths : sequence of b int, optional
        Number of words of each sentence, without the root. By default there is no padding.
    labels : float[b, L, L, R], optional
    names : sequence of R str
    siblings : float[b, L, L, L], optional

    Returns
    -------
    list of SentenceScores

    Raises
    ------
    ProblemError
        If a shape or score is invalid; the message names the sentence and what was expected.
    """
    parts: list[Any] = []
    for name, values, ndim, axes in (
        ("arcs", arcs, 3, "(b, L, L): sentence, dependent, head"),
        ("labels", labels, 4, "(b, L, L, R): sentence, dependent, head, label"),
        ("siblings", siblings, 4, "(b, L, L, L): sentence, dependent, head, sibling"),
    ):
        array = None if values is None else as_array(name, values, (ndim,), axes)
        if array is not None and parts and array.shape[:3] != parts[0].shape:
            raise ProblemError(
                f"{name} has shape {array.shape}, and arcs {parts[0].shape}, expected {axes}"
            )
        parts.append(array)
    parts = [part if part is None else cut("arcs", part, lengths) for part in parts]
    if siblings is not None:
        parts[2] = [part[:, :, : len(part)] for part in parts[2]]
    found = []
    for i, part in enumerate(parts[0]):
        with error_context(f"sentence {i} of the batch"):
            more = [None if column is None else column[i] for column in parts[1:]]
            found.append(SentenceScores(part, more[0], names, more[1]))
    return found


def label_names(labels: Any) -> list[str]:
    """Return the labels of a vocabulary; entries in <> are not labels and become empty names."""
    return ["" if name.startswith("<") else name for name in _texts("vocab", labels)]


def _texts(what: str, values: Any) -> list[str]:
    """Return a list of texts, or raise `ProblemError`."""
    texts = [*values] if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    for text in texts:
        check_type(f"a label of {what}", text, str, "str", ProblemError)
    return [*map(str, texts)]


def decode(
    scores: SentenceScores,
    sentence: Sentence | None = None,
    *,
    k_best: int = 1,
    valid: str | Rules | None = None,
    projective: bool = True,
    single_root: bool = True,
    joint: bool = True,
    time_limit: float | None = None,
) -> list[ScoredTree]:
    """Find the k best labelled trees of a sentence, with proofs.

    Parameters
    ----------
    scores : SentenceScores
    sentence : Sentence, optional
        Words with tags; validity rules need them.
    k_best : int
    valid : str or Rules, optional
        Validity rules: "ud", the name of a file, `Rules`, or None for all trees.
    projective, single_root : bool
    joint : bool
        True: arc and label scores choose the tree together. False: arc scores choose it, each arc
        gets its best label, and a worse label (to satisfy rules) costs its difference to that one.
    time_limit : float, optional
        Seconds.

    Returns
    -------
    list of ScoredTree
        Trees with different heads, best first; none if there is no tree. ``broken`` lists the rules
        that a tree breaks, if no tree satisfies all or the time limit was too short.

    Raises
    ------
    ProblemError
        If an option is invalid, rules are given without labels or tags, or the rules do not know
        the labels.
    """
    check_type("scores", scores, SentenceScores, "SentenceScores", ProblemError)
    check_options({"k_best": k_best, "time_limit": time_limit}, ProblemError)
    as_flag("joint", joint)
    rules = Rules.load(valid) if isinstance(valid, str) else valid
    problem = scores.problem(projective=projective, single_root=single_root, joint=joint)
    deadline = Deadline.after(time_limit)

    def solve_it(problem: Problem, k: int) -> Solution:
        return solve(problem, k_best=k, time_limit=deadline.limit(), explain=False)

    if rules is None:
        solution = solve_it(problem, k_best)
        labels, mods = [list[str]() for _ in solution.heads], np.arange(1, scores.n_words + 1)
        if scores.labels is not None:
            rows = (scores.labels[mods, heads[1:]] for heads in solution.heads)
            labels = [best_labels(scores.names, row) for row in rows]
        found = ValidTrees(solution, labels, [[]] * len(solution))
    else:
        ruled, label_scores = _ruled(scores, sentence, rules)
        found = solve_valid(
            Candidates(problem, scores.names, ruled),
            lambda head, mod: label_scores[mod, head],
            solve_it,
            k_best=k_best,
            deadline=deadline,
        )
    # without a sentence there are no faults, which name its words
    return trees_of(cast(Sentence, sentence), found)


def _ruled(
    scores: SentenceScores, sentence: Sentence | None, rules: Rules
) -> tuple[RuledSentence, NDArray[np.float64]]:
    """Return the sentence under the rules, and its label scores; `ProblemError` without tags."""
    check_type("valid", rules, Rules, "Rules or a name", ProblemError)
    rules = rules.binding
    if scores.labels is None:
        raise ProblemError("valid needs label scores: rules are about labels")
    if sentence is None or sentence.n_words != scores.n_words:
        count = "no sentence" if sentence is None else f"a sentence of {sentence.n_words} words"
        raise ProblemError(
            f"valid needs a tagged sentence of {scores.n_words} words, found {count}"
        )
    if "_" in sentence.upos:
        place = sentence.upos.index("_") + 1
        raise ProblemError(
            f"word {place}, {sentence.forms[place - 1]}, has no UPOS tag: rules are about tags;"
            " tag the sentence, or omit valid"
        )
    known = rules.relations
    for name in scores.names:
        if known and name and name.partition(":")[0] not in known:
            raise ProblemError(
                f"label {name!r} is unknown to the rules, expected one of"
                f" {', '.join(sorted(known))}"
            )
    return RuledSentence(rules, sentence), scores.labels


def _check_labels(labels: NDArray[np.float64], used: NDArray[np.bool_]) -> None:
    """Raise `ProblemError` for label scores that are no numbers, and arcs without a label."""
    bad = used[:, :, None] & ~((np.abs(labels) <= MAX_SCORE) | (labels == -np.inf))
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        raise ProblemError(
            f"labels{list(place)} is {labels[place]}, expected a number of magnitude"
            f" <= {MAX_SCORE:g} or -inf in shape {labels.shape}: {_LABELS}"
        )
    bare = np.argwhere(used & ~(labels > -np.inf).any(axis=-1)).tolist()
    if bare:
        raise ProblemError(f"labels{bare[0]} is -inf for all labels, expected one or more")


def _log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logarithms of probabilities over the last axis; rows of -inf become 0."""
    top = scores.max(axis=-1, keepdims=True)
    shifted = scores - np.where(np.isfinite(top), top, 0.0)
    with np.errstate(all="ignore"):
        total = np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        return np.where(np.isfinite(total), shifted - total, 0.0)
