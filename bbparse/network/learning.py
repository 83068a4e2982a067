"""Learning the vectors of words in their context (`bbparse.network.encoder`), by Adam.

Attributes of words are left out at random, so that a network learns to do without them: values that
are rare in training have no vectors at all, and look like those that were never seen. Weights are
averaged over the last steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from bbparse.network.dense import dense
from bbparse.network.encoder import QUANTUM, Encoder, split, total_size
from bbparse.network.kernels import REACH
from bbparse.network.learning_kernels import (
    Learned,
    adam,
    add_to_rows,
    norm_back,
    norms,
    sum_rows,
)
from bbparse.treebank.encode import PAD
from bbparse.treebank.progress import watched

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

# The first steps are small ones, while Adam's means are still those of a few sentences; so many,
# but no more than a tenth of all.
_WARM_UP = 200
_LAST_RATE = 0.02
_LONGEST_GRADIENT = 2.0
_AVERAGED = 0.15  # share of the steps at the end over which weights are averaged
_EVERY = 8  # steps between two that are part of the mean
_COARSE = 32  # steps of a vector's numbers: half the bytes in a file, and parses as well


class Stack:
    """Sentences one after the other, with padding between them.

    `rows` (int64[rows, attributes]) are the vectors of each word, -1 in the padding and for what is
    not known; `mask` is 1 for words; `starts` the row of the first word of each sentence. Vectors
    from outside may be those of the last words of sentences (not of a root).
    """

    def __init__(self, parts: Iterable[Rows], outside: Sequence[Floats] | None = None) -> None:
        rows: list[Rows] = []
        masks = [np.zeros(REACH)]
        self.starts = []
        at = REACH
        for part in parts:
            padding = np.full((REACH, part.shape[1]), -1, np.int64)
            if not rows:
                rows.append(padding)
            rows += [part, padding]
            masks += [np.ones(len(part)), np.zeros(REACH)]
            self.starts.append(at)
            at += len(part) + REACH
        extra = -at % 4  # what `dense` does at once
        rows.append(np.full((extra, rows[0].shape[1]), -1, np.int64))
        masks.append(np.zeros(extra))
        self.rows = np.concatenate(rows)
        self.mask = np.concatenate(masks).astype(np.float32)
        self.outside: Floats | None = None
        if outside is not None:
            self.outside = np.zeros((len(self.rows), outside[0].shape[1]), np.float32)
            for end, own in zip([*self.starts[1:], at], outside):
                self.outside[end - REACH - len(own) : end - REACH] = own


class Tape(NamedTuple):
    """What gradients need of the way up: of each layer its input, and what was done to it."""

    rows: Rows
    outside: Floats | None
    mask: Floats
    word_kept: Floats
    windows: list[Floats]
    kepts: list[Floats]
    actives: list[NDArray[np.bool_]]
    normed: list[Floats]
    scales: list[Floats]


class Learner:
    """Weights of a network of some kind, their gradients, and Adam's means.

    Settings have the sizes of that kind, `dropout` and `word_dropout`: see
    `bbparse.configuration.records.NetworkConfig`; ``outside`` is the length of vectors from
    outside. ``fans`` are the inputs of those weights of the kind that start as random numbers,
    ``tables`` those that are rows to choose from; beside them all there are vectors of so many
    values.
    """

    def __init__(
        self,
        kind: type[Encoder],
        settings: Any,
        n_labels: int,
        fans: Mapping[str, int],
        tables: Sequence[str],
        n_values: int,
        seed: int,
        outside: int,
    ) -> None:
        self.settings = settings
        self.random = np.random.default_rng([seed, 2])
        own_sizes = [getattr(settings, name) for name in ("word", "width", "layers", *kind.SIZES)]
        self.sizes = (*own_sizes, outside) if outside else tuple(own_sizes)
        self.shapes = shapes = kind.shapes(self.sizes, n_labels)
        # all weights but the vectors of values, in one row
        self.dense = Learned.of(np.zeros((1, total_size(shapes)), np.float32))
        self.p = split(self.dense.weights[0], shapes)
        self.g = split(self.dense.gradient[0], shapes)
        own = {"first_w": shapes["first_w"][0], "deep_w": 3 * settings.width}
        if "outside_w" in shapes:
            own["outside_w"] = shapes["outside_w"][0]
        for name, fan in {**own, **fans}.items():
            bound = 1.0 / np.sqrt(fan)
            self.p[name][:] = self.random.uniform(-bound, bound, shapes[name])
        self.p["gains"][:] = 1.0
        for name in tables:
            self.p[name][:] = 0.1 * self.random.standard_normal(shapes[name])
        vectors = 0.3 * self.random.standard_normal((n_values, settings.word))
        self.vectors = Learned.of(vectors.astype(np.float32))
        self.clock = 0
        # Random numbers are made once; each step starts somewhere else in them.
        self._noise = self.random.random(1 << 21, np.float32)
        self._touched = np.zeros(0, np.int64)

    def kept(self, shape: tuple[int, ...], dropped: float) -> Floats:
        """Factors of dropout: 0, or what makes up for those that are 0."""
        size = int(np.prod(shape))
        if size > len(self._noise):
            noise = self.random.random(size, np.float32)
        else:
            start = int(self.random.integers(len(self._noise) - size + 1))
            noise = self._noise[start : start + size]
        kept = (noise >= np.float32(dropped)).astype(np.float32)
        return (kept / np.float32(1.0 - dropped)).reshape(shape)

    def up(self, stack: Stack, dropout: bool) -> tuple[Floats, Tape]:
        """Vectors of words in their context, float32[rows, width], and the way back."""
        settings, p = self.settings, self.p
        drop = settings.dropout if dropout else 0.0
        rows, outside = stack.rows, stack.outside
        if dropout:
            rows = np.where(self.kept(rows.shape, settings.word_dropout) > 0.0, rows, -1)
        if dropout and outside is not None:  # as of a word that is not known
            outside = outside * (self.kept((len(rows), 1), settings.word_dropout) > 0.0)
        n_rows, inner = len(rows), len(rows) - 2 * REACH
        words = np.empty((n_rows, settings.word), np.float32)
        sum_rows(rows, self.vectors.weights, words)
        if outside is not None:
            words += product(outside, p["outside_w"])
        word_kept = self.kept(words.shape, drop / 2)
        words *= word_kept
        tape = Tape(rows, outside, stack.mask, word_kept, [], [], [], [], [])
        state = np.zeros((n_rows, settings.width), np.float32)
        for layer in range(settings.layers + 1):
            if layer:
                kept = self.kept(state.shape, drop)
                window = _windows(state * kept, 1)
                tape.kepts.append(kept)
                new = product(window, p["deep_w"][layer - 1], p["deep_b"][layer - 1])
            else:
                window = _windows(words, REACH)
                new = product(window, p["first_w"], p["first_b"])
            tape.windows.append(window)
            tape.actives.append(new > 0.0)
            np.maximum(new, 0.0, out=new)
            whole = state.copy() if layer else state
            whole[REACH : REACH + inner] += new
            scale = np.empty(n_rows, np.float32)
            state = np.empty_like(whole)
            norms(whole, stack.mask, p["gains"][layer], p["shifts"][layer], state, scale)
            tape.normed.append(whole)
            tape.scales.append(scale)
        return state, tape

    def down(self, d_state: Floats, tape: Tape) -> None:
        """Add the gradients of what made the vectors in context, given those of the vectors."""
        p, g = self.p, self.g
        n_rows, inner = len(tape.rows), len(tape.rows) - 2 * REACH
        for layer in reversed(range(self.settings.layers + 1)):
            d_whole = np.empty_like(d_state)
            norm_back(
                d_state, tape.mask, tape.normed[layer], p["gains"][layer], tape.scales[layer],
                d_whole, g["gains"][layer], g["shifts"][layer],
            )  # fmt: skip
            d_new = d_whole[REACH : REACH + inner] * tape.actives[layer]
            if layer:
                d_window = product_back(
                    tape.windows[layer], p["deep_w"][layer - 1], d_new,
                    g["deep_w"][layer - 1], g["deep_b"][layer - 1],
                )  # fmt: skip
                d_state = d_whole + _unwindowed(d_window, n_rows, 1) * tape.kepts[layer - 1]
            else:
                d_window = product_back(
                    tape.windows[0], p["first_w"], d_new, g["first_w"], g["first_b"]
                )
                d_words = _unwindowed(d_window, n_rows, REACH) * tape.word_kept
        if tape.outside is not None:
            g["outside_w"] += product(tape.outside.T, d_words)
        add_to_rows(tape.rows, d_words, self.vectors.gradient)
        self._touched = np.unique(tape.rows[tape.rows >= 0])

    def step(self, rate: float) -> None:
        """Take a step along the gradients, which are forgotten."""
        gradient = self.dense.gradient[0]
        length = float(np.sqrt(np.square(gradient, dtype=np.float64).sum()))
        if length > _LONGEST_GRADIENT:
            gradient *= np.float32(_LONGEST_GRADIENT / length)
        self.clock += 1
        adam(np.zeros(1, np.int64), self.dense, rate, self.clock)
        adam(self._touched, self.vectors, rate, self.clock)

    def learn(
        self,
        chosen: NDArray[np.int64],
        epochs: int,
        batch: int,
        rate: float,
        seed: int,
        learn_from: Callable[[list[int]], object],
        name: str,
    ) -> tuple[NDArray[np.int16], dict[str, Floats]]:
        """Vectors in steps of `QUANTUM`, `_COARSE` at a time, and weights, averaged over the last
        steps.

        ``learn_from`` adds the gradients of some sentences, ``batch`` of them a step, to those
        there are. The largest rate is ``rate``, the last one `_LAST_RATE` of it.
        """
        random = np.random.default_rng(seed)
        steps = epochs * -(-len(chosen) // batch)
        warm_up = min(_WARM_UP, steps // 10 + 1)
        parts = (self.dense, self.vectors)
        totals, taken = [np.zeros_like(part.weights) for part in parts], 0
        for _ in range(epochs):
            order = random.permutation(chosen)
            for start in watched(range(0, len(order), batch), name):
                at = self.clock
                now = rate * min(1.0, (at + 1) / warm_up)
                now *= 1.0 - (1.0 - _LAST_RATE) * at / steps
                learn_from(order[start : start + batch].tolist())
                self.step(now)
                last = steps - self.clock
                if last <= _AVERAGED * steps and last % _EVERY == 0:
                    for total, part in zip(totals, parts):
                        total += part.weights
                    taken += 1
        limits = np.iinfo(np.int16)
        quanta = _COARSE * np.rint(totals[1] / np.float32(taken * QUANTUM * _COARSE))
        vectors = np.clip(quanta, limits.min, limits.max).astype(np.int16)
        return vectors, split(totals[0][0] / np.float32(taken), self.shapes)


def _windows(x: Floats, reach: int) -> Floats:
    """Rows of the words around each row from `REACH` to before the last `REACH`, side by side."""
    size = x.shape[1]
    inner = len(x) - 2 * REACH
    start = x[REACH - reach :]
    shape, strides = (inner, (2 * reach + 1) * size), (x.strides[0], x.strides[1])
    return np.ascontiguousarray(as_strided(start, shape, strides))


def _unwindowed(gradient: Floats, n_rows: int, reach: int) -> Floats:
    """Gradient of the rows, given that of their `_windows`."""
    inner = len(gradient)
    size = gradient.shape[1] // (2 * reach + 1)
    out = np.zeros((n_rows, size), np.float32)
    for k in range(2 * reach + 1):
        start = REACH - reach + k
        out[start : start + inner] += gradient[:, k * size : (k + 1) * size]
    return out


def product(x: Floats, weights: Floats, bias: Floats | None = None) -> Floats:
    """``x @ weights + bias``.

    Not by numpy, whose sums depend on the number of threads: the same seed gives the same network.
    """
    rows, inputs = x.shape
    # as many as `dense` does at once
    if rows % 4 or inputs % 4:
        x = np.pad(x, ((0, -rows % 4), (0, -inputs % 4)))
        weights = np.pad(weights, ((0, -inputs % 4), (0, 0)))
    out = np.empty((len(x), weights.shape[1]), np.float32)
    zero = np.zeros(weights.shape[1], np.float32) if bias is None else bias
    flat, width = np.ascontiguousarray(x).reshape(-1), x.shape[1]
    dense(flat, 0, width, width, np.ascontiguousarray(weights), zero, out)
    return out[:rows]


def product_back(
    x: Floats, weights: Floats, d_out: Floats, d_weights: Floats, d_bias: Floats
) -> Floats:
    """Gradient of ``x`` of a `product`; those of weights and bias are added to what is there."""
    d_weights += product(x.T, d_out)
    d_bias += d_out.sum(axis=0)
    return product(d_out, weights.T)


def label_loss(scores: Floats, gold: Rows) -> float:
    """The loss of labels, given scores of each in rows, and which are right; the scores become its
    gradient."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    right = np.arange(len(gold)), gold
    loss = -float(np.log(np.maximum(scores[right], 1e-30)).sum())
    scores[right] -= 1.0
    return loss


def vocabulary(
    values: Iterable[NDArray[np.uint64]], columns: NDArray[np.int64], cutoff: int
) -> NDArray[np.uint64]:
    """Values of attributes of words that are there at least ``cutoff`` times, sorted."""
    seen = np.concatenate([some[PAD : len(some) - PAD, columns].reshape(-1) for some in values])
    keys, counts = np.unique(seen, return_counts=True)
    return keys[counts >= cutoff]
