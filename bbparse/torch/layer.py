"""`TreeLayer`: exact trees, sums over trees and losses of trees, with gradients, in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from bbparse.core.check import as_flag, error_context
from bbparse.runtime.arrays import Float64s
from bbparse.runtime.errors import ProblemError
from bbparse.runtime.options import check_options
from bbparse.runtime.pool import map_in_threads
from bbparse.torch.inputs import Parts, padded_arcs, sentences_of
from bbparse.torch.sentence import ScoredSentence
from bbparse.torch.sparse_map import sparse_map

_STEP = 1e-4  # of the central difference that is the gradient of marginals

Result = TypeVar("Result")


class _Computed(torch.autograd.Function):
    """A value computed from the flat scores, with a function that returns its gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        flat: Tensor,
        value: Float64s,
        dtype: torch.dtype,
        back: Callable[[Float64s], Float64s],
    ) -> Tensor:
        ctx.back, ctx.dtype = back, flat.dtype
        return torch.from_numpy(value).to(flat.device, dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        gradient = ctx.back(d_out.to("cpu", torch.float64).numpy())
        return torch.from_numpy(gradient).to(d_out.device, ctx.dtype), None, None, None


class TreeMarginals(NamedTuple):
    """Marginals of arcs, parts and factors under a distribution over trees."""

    arcs: Tensor  #: [b, n + 1, n + 1], like the scores; 0 for padding.
    siblings: Tensor  #: [S]
    grandchildren: Tensor  #: [G]
    factors: Tensor  #: [F]


class TreeLayer(torch.nn.Module):
    """Trees of a batch of sentences under scores of arcs, parts and factors.

    Parameters
    ----------
    projective : bool
        Trees have no crossing arcs.
    single_root : bool
        The root has exactly one modifier.
    threads : int
        Number of sentences that are solved in parallel; results do not depend on it.
    """

    def __init__(self, projective: bool = True, single_root: bool = True, threads: int = 1) -> None:
        super().__init__()
        check_options({"threads": threads}, ProblemError)
        flags = {"projective": projective, "single_root": single_root}
        self.flags = {name: as_flag(name, value) for name, value in flags.items()}
        self.threads = threads

    def forward(
        self,
        arcs: Tensor | Sequence[Tensor],
        lengths: Any = None,
        *,
        siblings: tuple[Tensor, Tensor] | None = None,
        grandchildren: tuple[Tensor, Tensor] | None = None,
        factors: tuple[Sequence[tuple[int, Any]], Tensor] | None = None,
    ) -> TreeBatch:
        """Return the trees of a batch.

        Parameters
        ----------
        arcs : float[b, n + 1, n + 1], or b tensors [n + 1, n + 1]
            ``arcs[i, d, h]`` is the score of head h of word d in sentence i, as in
            `bbparse.best_tree`: rows are dependents, 0 is the root, -inf forbids an arc. Row 0, the
            diagonal and padding are ignored. float32 or float64.
        lengths : int[b], optional
            Number of words of each sentence, if it is padded.
        siblings : int[S, 4] and float[S], optional
            Rows (sentence, head, inner, outer) and their scores: see `bbparse.Problem`.
        grandchildren : int[G, 4] and float[G], optional
            Rows (sentence, grand, head, mod) and their scores.
        factors : F pairs (sentence, [(head, mod), ...]) and float[F], optional
            Sets of arcs that score if a tree has all of them; -inf: never all together.

        Raises
        ------
        ProblemError
            If arguments do not fit each other, or a score is NaN or +inf.
        """
        arcs, words = padded_arcs(arcs, lengths)
        parts = [
            Parts("siblings", siblings, arcs, 4),
            Parts("grandchildren", grandchildren, arcs, 4),
            Parts("factors", factors, arcs, 0),
        ]
        flat = torch.cat([arcs.reshape(-1), *(kind.scores for kind in parts)])
        scores = flat.detach().to("cpu", torch.float64).numpy()
        found = sentences_of(scores, words, arcs.shape, parts, self.flags)
        sizes = [arcs.numel(), *(len(kind.scores) for kind in parts)]
        return TreeBatch(flat, found, tuple(arcs.shape), sizes, self.threads)


class TreeBatch:
    """All trees of each sentence of a batch; `TreeLayer` makes it.

    Trees are heads int64[b, n + 1], padded like the scores: element 0 and padding are -1. Values
    are float64[b], whatever the type of the scores. Methods raise `ProblemError` if a sentence has
    no tree, or if the layer does not allow a gold tree.
    """

    def __init__(
        self,
        flat: Tensor,
        sentences: list[ScoredSentence],
        shape: tuple[int, ...],
        sizes: list[int],
        threads: int,
    ) -> None:
        self._flat, self._sentences, self._shape = flat, sentences, shape
        self._sizes, self._threads = sizes, threads

    # ---- trees and marginals ---------------------------------------------------------------------

    def best(self) -> Tensor:
        """Return the best tree of each sentence, int64[b, n + 1]."""
        return self.k_best(1)[0][:, 0]

    def k_best(self, k: int) -> tuple[Tensor, Tensor]:
        """Return the k best trees, int64[b, k, n + 1], and their scores, with gradients.

        If a sentence has fewer trees, the remaining heads are -1 and scores are -inf.
        """
        check_options({"k_best": k}, ProblemError)
        heads = np.full((len(self._sentences), k, self._shape[1]), -1)
        values, gradients = np.full(heads.shape[:2], -np.inf), []
        for i, solution in enumerate(self._each(lambda s: s.solve(s.scores, k))):
            count, size = solution.heads.shape
            heads[i, :count, :size], values[i, :count] = solution.heads, solution.scores
            gradients.append(np.stack([self._sentences[i].vector(arcs) for arcs in solution.arcs]))
        return torch.from_numpy(heads).to(self._flat.device), self._values(values, gradients)

    def log_partition(self) -> Tensor:
        """Return the log of the sum of exp(score) over all trees, float64[b].

        For projective trees by the chart, with siblings and grandchildren (terms below e^-25 of a
        sum are omitted); for crossing trees by the matrix-tree theorem, arcs only. Factors are not
        supported.
        """
        return self._values(*zip(*self._each(lambda s: s.log_sum(s.scores))))

    def marginals(self) -> TreeMarginals:
        """Return the probabilities of arcs and parts under the distribution of `log_partition`.

        Their gradient is a central difference, accurate to about seven digits.
        """

        def back(s: ScoredSentence, d_out: Float64s, _: Any) -> Float64s:
            size = float(np.abs(d_out).max(initial=0.0))
            if size == 0.0:
                return d_out
            shift = d_out * (_STEP / size)
            (_, above), (_, below) = (s.log_sum(s.scores + step) for step in (shift, -shift))
            return (above - below) * (size / (2.0 * _STEP))

        found = self._each(lambda s: s.log_sum(s.scores)[1])
        return self._marginals(found, found, back)

    def sparse_map(self) -> TreeMarginals:
        """Return SparseMAP marginals (Niculae et al. 2018), a mixture of few trees."""
        found = self._each(sparse_map)
        means = [distribution.marginals for distribution in found]
        return self._marginals(means, found, lambda _, d_out, state: state.back(d_out))

    # ---- losses, float64[b] ----------------------------------------------------------------------

    def likelihood_loss(self, heads: Tensor) -> Tensor:
        """Return the negative log-likelihood of gold trees; see `log_partition`."""
        return self._loss(heads, lambda s, _: s.log_sum(s.scores))

    def hinge_loss(self, heads: Tensor, cost: float = 1.0) -> Tensor:
        """Return the structured hinge loss, with `cost` added for each wrong head."""

        def augmented(s: ScoredSentence, gold: Float64s) -> tuple[float, Float64s]:
            costs = cost * (1.0 - gold)
            costs[s.n_arcs :] = 0.0
            tree = s.best(s.scores + costs)
            return float((s.scores + costs) @ tree), tree

        return self._loss(heads, augmented)

    def sparse_map_loss(self, heads: Tensor) -> Tensor:
        """Return the SparseMAP loss (Niculae et al. 2018), which is 0 beyond a margin."""

        def regularised(s: ScoredSentence, gold: Float64s) -> tuple[float, Float64s]:
            mean, arcs = sparse_map(s).marginals, slice(s.n_arcs)
            return float(s.scores @ mean + 0.5 * (gold[arcs].sum() - (mean[arcs] ** 2).sum())), mean

        return self._loss(heads, regularised)

    # ---- shared -------------------------------------------------------------------------

    def _each(self, function: Callable[..., Result], *columns: Any) -> list[Result]:
        """Map a function over the sentences, with the elements of columns that are theirs."""

        def of(i: int) -> Result:
            with error_context(f"sentence {i} of the batch"):
                return function(self._sentences[i], *(column[i] for column in columns))

        return list(map_in_threads(of, range(len(self._sentences)), self._threads))

    def _loss(
        self, heads: Tensor, maximum: Callable[[ScoredSentence, Float64s], tuple[float, Float64s]]
    ) -> Tensor:
        """Return ``maximum(sentence, gold)`` less the score of the gold tree."""
        gold = np.asarray(torch.as_tensor(heads).cpu())
        if gold.shape != self._shape[:2] or gold.dtype.kind != "i":
            raise ProblemError(
                f"heads has shape {gold.shape} and {gold.dtype}, expected integers"
                f" {self._shape[:2]}, as long as the scores"
            )

        def of(s: ScoredSentence, row: Any) -> tuple[float, Float64s]:
            tree = s.gold(row[: s.problem.n_words + 1])
            value, gradient = maximum(s, tree)
            return value - float(s.scores @ tree), gradient - tree

        return self._values(*zip(*self._each(of, gold)))

    def _values(self, values: Any = (), gradients: Sequence[Float64s] = ()) -> Tensor:
        """Return values [b] or [b, k] with gradients [C] or [k, C] of each sentence."""

        def back(d_out: Float64s) -> Float64s:
            return self._spread(
                [
                    part.T @ row[: len(part)] if part.ndim == 2 else part * row
                    for part, row in zip(gradients, d_out)
                ]
            )

        return _Computed.apply(self._flat, np.array(values, np.float64), torch.float64, back)

    def _marginals(
        self,
        vectors: Sequence[Float64s],
        states: Sequence[Any],
        back: Callable[[ScoredSentence, Float64s, Any], Float64s],
    ) -> TreeMarginals:
        """Return vectors [C] of all sentences as tensors; gradients come from their states."""

        def back_all(d_out: Float64s) -> Float64s:
            gradients = [d_out[s.rows] for s in self._sentences]
            return self._spread(self._each(back, gradients, states))

        vector = _Computed.apply(self._flat, self._spread(vectors), self._flat.dtype, back_all)
        arcs, *parts = vector.split(self._sizes)
        return TreeMarginals(arcs.reshape(self._shape), *parts)

    def _spread(self, vectors: Sequence[Float64s]) -> Float64s:
        """Return vectors [C] of all sentences in the order of the flat scores; 0 elsewhere."""
        flat = np.zeros(len(self._flat))
        for s, vector in zip(self._sentences, vectors):
            flat[s.rows] = vector
        return flat
