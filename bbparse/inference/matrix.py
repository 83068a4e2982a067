"""`best_tree` and `best_trees`: score matrices in, trees out.

Rows are dependents and columns are heads, as in nearly every neural parser, which normalises over
the heads of a word: ``scores.argmax(-1)`` gives heads. `Problem.from_arc_scores` takes the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem
from bbparse.core.check import (
    AXES,
    MAX_WORDS,
    as_count,
    as_flag,
    check_exact,
    check_matrix,
    unmasked,
)
from bbparse.inference.matrix_kernels import best_heads
from bbparse.inference.solve import solve
from bbparse.runtime.errors import ProblemError, one_line


def best_tree(
    scores: Any,
    *,
    lengths: Sequence[int] | None = None,
    projective: bool = True,
    single_root: bool = True,
) -> Any:
    """Find the best tree of a matrix of arc scores, or of each matrix of a batch.

    Parameters
    ----------
    scores : float[n + 1, n + 1], float[b, n + 1, n + 1] or sequence of b matrices
        scores[d, h] is the score of the arc from head h to dependent d: rows are dependents,
        columns are heads, 0 is the root. An arc with -inf or a masked score does not exist. Row 0
        and the diagonal are ignored. Anything that numpy converts, or torch tensors, which are
        copied from their device once.
    lengths : sequence of b int, optional
        Number of words of each sentence; rows and columns after its words are padding.
    projective : bool
        Trees must have no crossing arcs.
    single_root : bool
        The root must have exactly one dependent.

    Returns
    -------
    int32[n + 1], int32[b, n + 1] or list of int32[n + 1]
        heads[d], with -1 for the root and for padding: one array for an array, a list for a
        sequence of matrices.

    Raises
    ------
    ProblemError
        If the shape does not fit, a score is NaN or +inf, or a sentence has no tree.
    """
    projective = as_flag("projective", projective)
    single_root = as_flag("single_root", single_root)
    matrices, shape = _matrices(scores, lengths)
    heads = [np.full(len(arcs), -1, np.int32) for arcs in matrices]
    if shape is not None:
        padded = np.full(shape[:-1], -1, np.int32)
        rows = [padded] if padded.ndim == 1 else list(padded)
        heads = [row[: len(arcs)] for row, arcs in zip(rows, matrices)]
    for i, (arcs, row) in enumerate(zip(matrices, heads)):
        square = len(arcs) > 1 and arcs.shape == (len(arcs),) * 2
        if square and best_heads(arcs.astype(np.float64), projective, single_root, row):
            continue
        check_matrix(_name(i, shape), arcs)
        problem = Problem.from_arc_scores(arcs, projective=projective, single_root=single_root)
        solution = solve(problem)
        if not len(solution):
            reason = "; ".join(solution.conflict) or "no tree has only these arcs"
            raise ProblemError(f"scores of sentence {i} allow no tree: {reason}; {AXES}")
        row[:] = solution.heads[0]
    return heads if shape is None else padded


def best_trees(
    scores: Any,
    k: int,
    *,
    lengths: Sequence[int] | None = None,
    projective: bool = True,
    single_root: bool = True,
) -> Any:
    """Find the k best trees of a matrix of arc scores, or of each matrix of a batch.

    Parameters
    ----------
    scores, lengths, projective, single_root
        See `best_tree`.
    k : int
        Number of trees per sentence; all of them if there are fewer.

    Returns
    -------
    Solution or list of Solution
        Heads, scores and proofs, best first; a list for a batch. A sentence without a tree has the
        status ``infeasible``.

    Raises
    ------
    ProblemError
        If the shape does not fit, or a score is NaN or +inf.
    """
    matrices, shape = _matrices(scores, lengths)
    solutions = []
    for i, arcs in enumerate(matrices):
        check_matrix(_name(i, shape), arcs)
        problem = Problem.from_arc_scores(arcs, projective=projective, single_root=single_root)
        solutions.append(solve(problem, k_best=k))
    return solutions[0] if shape is not None and len(shape) == 2 else solutions


def as_array(
    name: str, values: Any, ndims: Sequence[int], axes: str, kinds: str = "iuf"
) -> NDArray[Any]:
    """Return real numbers of `kinds` as an array; tensors leave their device and gradients."""
    kind = f"{type(values).__module__}.{type(values).__name__}"
    try:
        if hasattr(values, "detach"):
            values = values.detach()
            if values.is_floating_point():  # numpy has no bfloat16
                values = values.double()
            values = values.cpu().numpy()
        array = np.asarray(unmasked(values))
    except Exception as error:  # whatever a library says of arrays on devices it has no driver for
        reason = one_line(error)
        raise ProblemError(
            f"{name} is a {kind} that numpy cannot read ({reason:.120}), expected one array on the"
            f" CPU, {axes}"
        ) from None
    if array.ndim not in ndims or array.dtype.kind not in kinds:
        what = "real numbers: " if "f" in kinds else ""
        raise ProblemError(
            f"{name} has shape {array.shape} and dtype {array.dtype}, expected {what}{axes}"
        )
    if array.dtype.kind != "f":
        check_exact(name, array)
        return array
    with np.errstate(over="ignore"):  # of longer floats: what is too large is refused as inf
        return array.astype(np.float64, copy=False)


def cut(
    name: str, arrays: Sequence[NDArray[Any]], lengths: Sequence[int] | None
) -> list[NDArray[Any]]:
    """Return the arrays without padding: [n + 1, n + 1] or more dimensions, n of each sentence."""
    if lengths is None:
        return list(arrays)
    numbers = as_lengths("lengths", lengths)
    if len(numbers) != len(arrays):
        raise ProblemError(f"{len(numbers)} lengths, expected {len(arrays)}, one per sentence")
    unpadded = []
    for i, (array, n) in enumerate(zip(arrays, numbers)):
        shape = array.shape
        if shape[0] != shape[1] or shape[0] < 2:
            raise ProblemError(
                f"{name} of sentence {i} has shape {shape}, expected ({n + 1}, {n + 1}) or more for"
                f" its {n} words: {AXES}"
            )
        as_count(f"lengths[{i}]", n, 1, shape[0] - 1)
        unpadded.append(array[: n + 1, : n + 1])
    return unpadded


def as_lengths(name: str, values: Any) -> list[int]:
    """Return numbers of words as a list; `ProblemError` if they are not one integer each."""
    numbers = as_array(name, values, (1,), "one number of words per sentence").tolist()
    return [as_count(f"{name}[{i}]", n, 1, MAX_WORDS) for i, n in enumerate(numbers)]


def _matrices(
    scores: Any, lengths: Sequence[int] | None
) -> tuple[list[NDArray[Any]], tuple[int, ...] | None]:
    """Return the matrices without padding, and the shape of the array; None: a sequence."""
    axes = f"(n + 1, n + 1) or (sentences, n + 1, n + 1), {AXES}"
    shape = None
    if isinstance(scores, list | tuple) and (not scores or getattr(scores[0], "ndim", 0) == 2):
        matrices = [as_array(f"scores[{i}]", x, (2,), AXES) for i, x in enumerate(scores)]
    else:
        array = as_array("scores", scores, (2, 3), axes)
        shape = array.shape
        matrices = [array] if array.ndim == 2 else list(array)
    return cut("scores", matrices, lengths), shape


def _name(i: int, shape: tuple[int, ...] | None) -> str:
    """Return the name of a matrix for messages."""
    return "scores" if shape is not None and len(shape) == 2 else f"scores[{i}]"
