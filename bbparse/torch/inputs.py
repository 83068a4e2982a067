"""From tensors to the sentences of a batch: every argument of a layer is checked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from bbparse.core import Problem
from bbparse.core.check import error_context, is_score
from bbparse.core.parts import PART_NAMES
from bbparse.runtime.errors import ProblemError
from bbparse.torch.sentence import ScoredSentence

_FLOATS = (torch.float32, torch.float64)


def check_scores(name: str, scores: Any, n_dims: int) -> Tensor:
    """Return scores; ProblemError unless they are floats of this rank, and square if above 1."""
    if not isinstance(scores, Tensor) or scores.dtype not in _FLOATS or scores.dim() != n_dims:
        found = type(scores).__name__
        if isinstance(scores, Tensor):
            found = f"of shape {tuple(scores.shape)} and {scores.dtype}"
        raise ProblemError(
            f"{name} is {found}, expected a tensor of {n_dims} dimensions, float32 or float64"
        )
    if n_dims > 1 and (scores.shape[-1] != scores.shape[-2] or scores.shape[-1] < 2):
        shape = ("b, " if n_dims == 3 else "") + "n + 1, n + 1"
        raise ProblemError(f"{name} has shape {tuple(scores.shape)}, expected [{shape}]")
    return scores


def padded_arcs(arcs: Any, lengths: Any) -> tuple[Tensor, list[int]]:
    """Return arc scores [b, n + 1, n + 1], padded if they are a list, and numbers of words."""
    if isinstance(arcs, list | tuple) and arcs and lengths is None:
        squares = [check_scores(f"scores[{i}]", square, 2) for i, square in enumerate(arcs)]
        lengths, size = [len(square) - 1 for square in squares], max(map(len, squares))
        arcs = torch.stack([pad(square, (0, size - len(square)) * 2) for square in squares])
    check_scores("scores", arcs, 3)
    most = arcs.shape[1] - 1
    words = [most] * len(arcs) if lengths is None else np.asarray(torch.as_tensor(lengths).cpu())
    numbers = np.asarray(words, None if len(words) else np.int64)
    if numbers.shape != (len(arcs),) or numbers.dtype.kind != "i":
        raise ProblemError(
            f"lengths has shape {numbers.shape} and {numbers.dtype}, expected {len(arcs)} integers"
        )
    for i in np.flatnonzero((numbers < 1) | (numbers > most)).tolist():
        raise ProblemError(f"lengths[{i}] is {numbers[i]}, expected 1..{most}")
    return arcs, numbers.tolist()


class Parts:
    """Parts of one kind of all sentences: words int64[P, 1 + words] and scores float[P]."""

    def __init__(self, name: str, parts: Any, like: Tensor, n_columns: int) -> None:
        if parts is None:
            parts = torch.zeros((0, n_columns), dtype=torch.int64), like.new_zeros(0)
        if not isinstance(parts, Sequence) or len(parts) != 2:
            raise ProblemError(f"{name} is {type(parts).__name__}, expected (indices, scores)")
        self.scores = check_scores(f"scores of {name}", parts[1], 1).to(like.device)
        if name == "factors":
            sentences = [int(sentence) for sentence, _ in parts[0]]
            self.words: Any = [members for _, members in parts[0]]
        else:
            indices = np.asarray(torch.as_tensor(parts[0]).cpu())
            if indices.ndim != 2 or indices.shape[1] != n_columns or indices.dtype.kind != "i":
                raise ProblemError(
                    f"indices of {name} have shape {indices.shape} and {indices.dtype},"
                    f" expected integers [p, {n_columns}]"
                )
            sentences, self.words = indices[:, 0].tolist(), indices[:, 1:]
        if len(sentences) != len(self.scores):
            raise ProblemError(f"{name}: {len(sentences)} indices, {len(self.scores)} scores")
        self.of: list[list[int]] = [[] for _ in range(len(like))]
        for i, sentence in enumerate(sentences):
            if not 0 <= sentence < len(like):
                raise ProblemError(f"{name}[{i}]: sentence {sentence}, expected 0..{len(like) - 1}")
            self.of[sentence].append(i)


def sentences_of(
    flat: NDArray[np.float64],
    lengths: list[int],
    shape: Sequence[int],
    parts: list[Parts],
    flags: dict[str, Any],
) -> list[ScoredSentence]:
    """Make the sentences of a batch from its flat scores; drop factors over missing arcs."""
    arcs = flat[: np.prod(shape)].reshape(shape)
    starts = np.cumsum([arcs.size, *(len(kind.scores) for kind in parts)])
    found = []
    for i, n in enumerate(lengths):
        matrix = arcs[i, : n + 1, : n + 1].T.copy()  # [head, mod] from [dependent, head]
        np.fill_diagonal(matrix, -np.inf)
        matrix[:, 0] = -np.inf
        for h, m in np.argwhere(~is_score(matrix)):
            raise ProblemError(f"scores[{i}, {m}, {h}] is {matrix[h, m]}, expected finite or -inf")
        head, mod = np.nonzero(matrix > -np.inf)
        number = np.full(matrix.shape, -1)
        number[head, mod] = np.arange(len(head))
        rows = [(i * shape[1] + mod) * shape[2] + head]
        fields: dict[str, Any] = {**flags}
        for prefix, kind, start in zip(("sib", "gc"), parts, starts):
            if kind.of[i]:
                numbers = np.array(kind.of[i])
                rows.append(start + numbers)
                columns = [*kind.words[numbers].T, flat[start + numbers]]
                fields.update(zip(PART_NAMES[prefix], columns))
        factors = []
        for f in parts[2].of[i]:
            pairs = parts[2].words[f]
            if any(not (0 <= h <= n and 1 <= m <= n) for h, m in pairs):
                raise ProblemError(f"factors[{f}]: arcs {pairs}, expected words up to {n}")
            members = [int(number[h, m]) for h, m in pairs]
            if min(members, default=0) >= 0:
                factors.append(members)
                rows.append(np.array([starts[2] + f]))
        fields["factor_ptr"] = np.cumsum([0, *map(len, factors)])
        fields["factor_arcs"] = np.array([a for members in factors for a in members], np.int64)
        fields["factor_score"] = flat[[int(row[0]) for row in rows[len(rows) - len(factors) :]]]
        words, scores = (head.astype(np.int32), mod.astype(np.int32)), matrix[head, mod]
        with error_context(f"sentence {i} of the batch"):
            problem = (
                Problem.trusted(n, *words, scores, **flags)  # arcs are checked above
                if len(rows) == 1
                else Problem(n, *words, scores, **fields)
            )
        found.append(ScoredSentence(problem, np.concatenate(rows)))
    return found
