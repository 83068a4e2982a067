"""Weights of non-local features under exact keys.

A hashed weight vector gives every candidate factor some weight by collision; thousands of factors
are then alive, bounds are loose and time is lost. Here a feature has a weight only if it was seen
in enough gold trees, so that a factor with no known feature scores 0 and does not exist.

Keys are 64-bit hashes, sorted, beside their weights. In front of them stand two filters of one bit
per hash (Bloom 1970, one hash function), one for gates (coarse hashes that each key determines) and
one for keys, so that a kernel rejects most proposals by a look at a few hundred kilobytes. A wrong
"yes" of a filter costs time, never a score. As the filter takes the first bits of a key, the bits
set before a key's own, counted, tell where it is among the sorted keys, give or take a few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbparse.errors import FactorError
from bbparse.factors.batch import FactorBatch, ScoredFactors
from bbparse.jit import inlined, kernel

__all__ = ["ALL_PASS", "FactorCounter", "FactorTable", "KeyIndex", "first_place", "place_of"]

#: The filter that lets everything pass.
ALL_PASS = np.full(1, np.iinfo(np.uint64).max, dtype=np.uint64)

_BITS_PER_HASH = 16  # one in 16 of what is not there passes, at most


class KeyIndex(NamedTuple):
    """What kernels look keys up in.

    A key is known only if its bit in ``bits`` is set (see `FactorTable`), at number ``key >>
    shift``. Keys and weights lie side by side in ``pairs`` (uint64[K, 2], keys) and ``weights``
    (float64[K, 2], the same memory); ``starts`` (int32) are how many keys come before those of each
    word of ``bits``.
    """

    bits: NDArray[np.uint64]
    shift: np.uint64
    starts: NDArray[np.int32]
    pairs: NDArray[np.uint64]
    weights: NDArray[np.float64]


class FactorTable:
    """Weights of the known features.

    Weights are float64. A perceptron adds integers, and sums of integers below 2⁵³ are exact.

    Parameters
    ----------
    keys : uint64[K]
        Known keys, strictly ascending.
    gates : uint64[K], optional
        Gate of each key; 0 (the default) for none.
    weights : float64[K], optional
        0 if left out.
    sums : float64[K], optional
        Accumulators of averaging, to go on with training; 0 if left out.

    Attributes
    ----------
    keys, gates, weights, sums : as above
    pair_weights : float64[K, 2]
        The memory of keys and weights together; the weights are column 1.
    index : KeyIndex
        For kernels.
    gate_bits, key_bits : uint64[a power of 2]
        Filters. A hash x is in `bits`, of B words, if bit ``x >> (64 - log2(64 B))`` is set, bit i
        being bit ``i & 63`` of word ``i >> 6``.

    Raises
    ------
    FactorError
        If the arrays do not fit together, naming the array.
    """

    def __init__(
        self,
        keys: ArrayLike,
        gates: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        sums: ArrayLike | None = None,
    ) -> None:
        given = _column("keys", keys, np.uint64)
        size = len(given)
        # A key and its weight lie side by side: who finds the one has the other.
        self._pairs = np.empty((size, 2), dtype=np.uint64)
        self.pair_weights = self._pairs.view(np.float64)
        self.keys = self._pairs[:, 0]
        self.weights = self.pair_weights[:, 1]
        self.keys[:] = given
        if size > 1 and not bool(np.all(self.keys[1:] > self.keys[:-1])):
            raise FactorError("keys of the factor table: expected strictly ascending keys")
        self.gates = _column("gates", gates, np.uint64, size)
        self.weights[:] = _column("weights", weights, np.float64, size)
        self.sums = _column("sums", sums, np.float64, size)
        for name, column in (("weights", self.weights), ("sums", self.sums)):
            if not bool(np.all(np.isfinite(column))):
                raise FactorError(f"{name} of the factor table: expected finite numbers")
        self.gate_bits = _filter(np.unique(self.gates[self.gates != 0]))
        self.key_bits = _filter(self.keys)
        # How many keys come before those of each word of the filter.
        firsts = np.arange(len(self.key_bits), dtype=np.uint64) << np.uint64(
            64 - (len(self.key_bits)).bit_length() + 1
        )
        starts = np.searchsorted(self.keys, firsts).astype(np.int32)
        shift = np.uint64(65 - (64 * len(self.key_bits)).bit_length())
        self.index = KeyIndex(self.key_bits, shift, starts, self._pairs, self.pair_weights)

    def __len__(self) -> int:
        """Number of known features."""
        return len(self.keys)

    # --- scores ---------------------------------------------------------------------------------

    def find(self, keys: ArrayLike) -> NDArray[np.int64]:
        """Position of each key in `keys` and `weights`, -1 for the unknown; expected O(1) each."""
        wanted = np.ascontiguousarray(keys, dtype=np.uint64)
        positions = np.empty(len(wanted), dtype=np.int64)
        _find_all(wanted, self.index, positions)
        return positions

    def score_batch(self, batch: FactorBatch) -> NDArray[np.float64]:
        """Score of each factor: the sum of the weights of its known features.

        Returns
        -------
        float64[F]
        """
        return self.score_features(batch.feat_ptr, batch.feat_keys)

    def score_features(
        self, feat_ptr: NDArray[np.int64], feat_keys: NDArray[np.uint64]
    ) -> NDArray[np.float64]:
        """Sums of the weights of ``feat_keys[feat_ptr[i]:feat_ptr[i + 1]]``: float64[len - 1]."""
        scores = np.zeros(len(feat_ptr) - 1, dtype=np.float64)
        _add_up(feat_ptr, self.find(feat_keys), self.pair_weights, scores)
        return scores

    def alive(self, batch: FactorBatch, scores: NDArray[np.float64] | None = None) -> ScoredFactors:
        """The factors whose score is not 0.

        Parameters
        ----------
        batch : FactorBatch
        scores : float64[F], optional
            As `score_batch` gives them, which is asked if they are left out.
        """
        if len(batch) == 0:
            return ScoredFactors.none()
        if scores is None:
            scores = self.score_batch(batch)
        return ScoredFactors(*_drop_dead(batch.ptr, batch.arcs, scores))

    # --- learning -------------------------------------------------------------------------------

    def update(self, keys: NDArray[np.uint64], amount: float, step: int) -> None:
        """Add `amount` to the weights of the known keys, once for each time a key is listed.

        Parameters
        ----------
        keys : uint64[N]
            Of the factors that fire in a tree, see `tree_keys`. Unknown keys are passed over.
        amount : float
            +1 for the gold tree and -1 for the predicted one, in a perceptron.
        step : int
            Number of training examples that came before this one, for `averaged`.
        """
        positions = self.find(keys)
        known = positions[positions >= 0]
        np.add.at(self.weights, known, float(amount))
        np.add.at(self.sums, known, float(amount) * float(step))

    def averaged(self, steps: int, *, divide: bool = True) -> FactorTable:
        """The table with each weight averaged over the steps of training.

        The mean over t = 0..steps-1 of what the weight was after step t is w - Σ_u u·δ_u / steps,
        the sum over updates δ_u made at step u (Daumé 2006, figure 2.3).

        Parameters
        ----------
        steps : int
            Number of training examples seen, at least 1.
        divide : bool
            False leaves out the division by `steps`, so that integer updates give integers: scores
            then have the quantum 1, if all other weights are scaled alike.

        Raises
        ------
        ValueError
            If `steps` is below 1.
        """
        if steps < 1:
            raise ValueError(f"steps: expected 1 or more, found {steps}")
        total = self.weights * steps - self.sums
        return FactorTable(self.keys, self.gates, total / steps if divide else total)

    def pruned(self) -> FactorTable:
        """The table without the features of weight 0: scores stay, filters grow sharper."""
        keep = self.weights != 0
        return FactorTable(self.keys[keep], self.gates[keep], self.weights[keep])

    # --- saving ---------------------------------------------------------------------------------

    def to_arrays(self, *, training: bool = False) -> dict[str, NDArray[Any]]:
        """Arrays to save: keys, gates, weights and, to go on with training, sums."""
        arrays: dict[str, NDArray[Any]] = {
            "keys": self.keys, "gates": self.gates, "weights": self.weights
        }  # fmt: skip
        if training:
            arrays["sums"] = self.sums
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> FactorTable:
        """The table that `to_arrays` wrote.

        Raises
        ------
        FactorError
            If an array is missing or the arrays do not fit together.
        """
        for name in ("keys", "gates", "weights"):
            if name not in arrays:
                raise FactorError(f"factor table: expected an array {name!r}, found none")
        return cls(arrays["keys"], arrays["gates"], arrays["weights"], arrays.get("sums"))


class FactorCounter:
    """Counts in how many gold trees each feature fires, to admit those seen often enough.

    ::

        counter = FactorCounter()
        for sentence in training:
            view = FactorView.of_tree(sentence, [-1, *sentence.heads])
            counter.add(family.propose(view) for family in families)
        table = counter.table(cutoff=3)

    Memory is bounded by the number of distinct features, not by the size of the treebank.
    """

    _PENDING = 1 << 21  # occurrences kept before they are merged

    def __init__(self) -> None:
        self._keys = np.zeros(0, dtype=np.uint64)
        self._gates = np.zeros(0, dtype=np.uint64)
        self._counts = np.zeros(0, dtype=np.int64)
        self._waiting: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = []
        self._n_waiting = 0

    def add(self, batches: Iterable[FactorBatch]) -> None:
        """Count the features of the factors that fire in one tree, each of them once."""
        for batch in batches:
            keys, first = np.unique(batch.feat_keys, return_index=True)
            gates = np.repeat(batch.gates, np.diff(batch.feat_ptr))[first]
            self._waiting.append((keys, gates))
            self._n_waiting += len(keys)
        if self._n_waiting >= self._PENDING:
            self._merge()

    def _merge(self) -> None:
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        gates = np.concatenate([self._gates, *(gates for _, gates in self._waiting)])
        counts = np.concatenate([self._counts, np.ones(self._n_waiting, dtype=np.int64)])
        self._keys, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        self._gates = gates[first]
        self._counts = np.zeros(len(self._keys), dtype=np.int64)
        np.add.at(self._counts, inverse, counts)
        self._waiting = []
        self._n_waiting = 0

    def table(self, cutoff: int) -> FactorTable:
        """A table, all weights 0, of the features that fired in `cutoff` trees or more.

        Raises
        ------
        ValueError
            If `cutoff` is below 1.
        """
        if cutoff < 1:
            raise ValueError(f"cutoff: expected 1 or more, found {cutoff}")
        self._merge()
        keep = self._counts >= cutoff
        return FactorTable(self._keys[keep], self._gates[keep])


def _column(name: str, values: ArrayLike | None, dtype: Any, size: int | None = None) -> Any:
    """A copy of the values: writable, contiguous and of the right length."""
    if values is None:
        return np.zeros(size or 0, dtype=dtype)
    array = np.asarray(values)
    if array.ndim != 1 or (size is not None and len(array) != size):
        expected = "one dimension" if size is None else f"length {size}"
        raise FactorError(
            f"{name} of the factor table: expected {expected}, found shape {array.shape}"
        )
    if array.size and array.dtype.kind not in ("u" if dtype is np.uint64 else "fiu"):
        raise FactorError(
            f"{name} of the factor table: expected {dtype.__name__}, found {array.dtype}"
        )
    return array.astype(dtype)


def _filter(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The filter that passes these hashes, and few others."""
    n_bits = max(6, (_BITS_PER_HASH * len(hashes)).bit_length())
    bits = np.zeros(1 << (n_bits - 6), dtype=np.uint64)
    index = hashes >> np.uint64(64 - n_bits)
    np.bitwise_or.at(bits, index >> np.uint64(6), np.uint64(1) << (index & np.uint64(63)))
    return bits


@inlined
def first_place(
    key: np.uint64, bits: NDArray[np.uint64], shift: np.uint64, starts: NDArray[np.int32]
) -> np.uint64:
    """Where to begin to look for a key that passes the filter: it is there or a little later.

    `bits` is the filter of the keys, `shift` the 64 - log2(64 B) of its B words and `starts`
    (int32[B]) how many keys come before those of each word.
    """
    one = np.uint64(1)
    bit = key >> shift
    x = bits[bit >> np.uint64(6)] & ((one << (bit & np.uint64(63))) - one)
    # Bits set (Warren 2002, figure 5-2). Compilers know it as one instruction.
    x -= (x >> one) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint64(starts[bit >> np.uint64(6)]) + (
        (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
    )


@inlined
def place_of(key: np.uint64, index: KeyIndex) -> np.int64:
    """Position of a key, -1 for one that is not known."""
    one = np.uint64(1)
    bit = key >> index.shift
    if not (index.bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & one:
        return np.int64(-1)
    i = first_place(key, index.bits, index.shift, index.starts)
    while i < index.pairs.shape[0] and index.pairs[i, 0] < key:
        i += one
    if i < index.pairs.shape[0] and index.pairs[i, 0] == key:
        return np.int64(i)
    return np.int64(-1)


@kernel
def _find_all(
    wanted: NDArray[np.uint64], index: KeyIndex, positions: NDArray[np.int64]
) -> None:
    for j in range(wanted.shape[0]):
        positions[j] = place_of(wanted[j], index)


@kernel
def _add_up(
    feat_ptr: NDArray[np.int64],
    positions: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    for f in range(scores.shape[0]):
        for j in range(feat_ptr[f], feat_ptr[f + 1]):
            if positions[j] >= 0:
                scores[f] += weights[positions[j], 1]


@kernel
def _drop_dead(
    ptr: NDArray[np.int64], arcs: NDArray[np.int32], scores: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    n_factors = n_arcs = 0
    for f in range(scores.shape[0]):
        if scores[f] != 0.0:
            n_factors += 1
            n_arcs += ptr[f + 1] - ptr[f]
    new_ptr = np.zeros(n_factors + 1, np.int64)
    new_arcs = np.empty(n_arcs, np.int32)
    new_scores = np.empty(n_factors, np.float64)
    i = j = 0
    for f in range(scores.shape[0]):
        if scores[f] == 0.0:
            continue
        for k in range(ptr[f], ptr[f + 1]):
            new_arcs[j] = arcs[k]
            j += 1
        new_scores[i] = scores[f]
        i += 1
        new_ptr[i] = j
    return new_ptr, new_arcs, new_scores
