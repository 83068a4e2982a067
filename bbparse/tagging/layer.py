"""`Layer`: one kind of label for every word of a sentence, found by a linear chain.

A layer chooses among the candidates of each word by the weights of features of the word and its
neighbours, and of two labels in a row. Triples of labels were tried and gained nothing: the words
around a word say the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import BBParseError, ModelError
from bbparse.storage.archive import INTS, TEXT, Rule
from bbparse.tagging.encode import COLUMNS, PAD, compile_tag_templates
from bbparse.tagging.kernels import label_words

Ints = NDArray[np.int32]

#: What a weight of 1 is worth in a model: 16 bits reach from -128 to 128.
LAYER_QUANTUM = 2.0**-8
#: Candidates that take part in the search for the best sequence.
MOST = 8
#: Labels that a layer may have.
MAX_LABELS = 1 << 16

_FIELDS: dict[str, Rule] = {
    "labels": (TEXT, 0, None),
    "list_keys": (TEXT, 0, None),
    "list_keys_count": ("u", 1, None),
    "list_labels": ("u", 1, None),
    "keys": ("u", 1, "keys"),
    "counts": ("u", 1, "keys"),
    "entry_labels": ("u", 1, "entry_labels"),
    "entry_weights": (INTS, 1, "entry_labels"),
    "bigrams": (INTS, 2, None),
}

NO_MORE = np.zeros((0, 0), np.int32)

#: Candidates of some words: numbers of labels.
Lists = Sequence[tuple[int, ...]]


def flat(lists: Lists, which: NDArray[np.int64] | None = None) -> tuple[Ints, Ints]:
    """Return lists as the kernels read them: where each begins, int32[n+1], and all their elements.

    Of ``which``, int64[n], the numbers of the lists, if that is given.
    """
    sizes = np.fromiter(map(len, lists), np.int64, len(lists))
    numbers = np.fromiter(chain.from_iterable(lists), np.int32, int(sizes.sum()))
    if which is not None:
        first = (np.cumsum(sizes) - sizes)[which]
        sizes = sizes[which]
    ptr = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=ptr[1:])
    if which is not None:
        numbers = numbers[np.repeat(first - ptr[:-1], sizes) + np.arange(ptr[-1])]
    return ptr, numbers


@contextmanager
def reading_header(
    name: str, needed: Iterable[str], arrays: Mapping[str, NDArray[Any]], where: str,
    title: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Read the array ``NAME_header`` of a tagger or tokenizer, which errors call by `title`.

    What goes wrong with it is a `ModelError`.
    """
    title = title or name
    missing = sorted(set(needed) - set(arrays))
    if missing:
        raise ModelError(f"{where}: field {missing[0]} of the {title} is missing")
    try:
        yield json.loads(str(arrays[f"{name}_header"].item()))
    except ModelError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, BBParseError) as error:
        raise ModelError(f"{where}: header of the {title} is damaged: {error}") from error


def layer_rules(name: str) -> dict[str, Rule]:
    """Arrays of a layer in a model file, as `bbparse.storage.archive.read_archive` checks them."""
    rules = {}
    for field, (kinds, ndim, like) in _FIELDS.items():
        rules[f"tagger_{name}_{field}"] = (kinds, ndim, like and f"tagger_{name}_{like}")
    return rules


class Weights:
    """The weights of features: sorted keys, none twice, and for each its pairs.

    Those of ``keys[k]`` are ``ptr[k]:ptr[k+1]`` of (`labels`, `values`), weights in quanta
    of `LAYER_QUANTUM`.
    """

    def __init__(
        self,
        keys: NDArray[np.uint32],
        ptr: Ints,
        labels: NDArray[np.uint16],
        values: NDArray[np.int16],
        n_labels: int,
    ) -> None:
        self.keys, self.ptr, self.labels, self.values = keys, ptr, labels, values
        bits = max(1, min(24, len(keys).bit_length() + 1))
        self.shift = 32 - bits
        high = (keys >> np.uint32(self.shift)).astype(np.int64)
        self.first = np.searchsorted(high, np.arange((1 << bits) + 1)).astype(np.int32)
        self.n_labels = n_labels
        places = np.column_stack((np.append(keys, np.uint32(0)), ptr.astype(np.uint32)))
        entries = labels.astype(np.uint32) << np.uint32(16) | values.view(np.uint16)
        #: What the kernels read.
        self.table = (
            self.first, self.shift, np.ascontiguousarray(places), entries, n_labels,
        )  # fmt: skip

    @classmethod
    def from_pairs(
        cls, keys: NDArray[np.uint32], labels: NDArray[Any], values: NDArray[Any], n_labels: int
    ) -> Weights:
        """From the key, the label and the weight of every pair, sorted by keys."""
        different, start = np.unique(keys, return_index=True)
        ptr = np.append(start, len(keys)).astype(np.int32)
        return cls(different, ptr, labels.astype(np.uint16), values.astype(np.int16), n_labels)


class Layer:
    """Finds labels of one kind. Nothing changes while it does, so threads may share it.

    Labels and the keys of `lists`, the labels that words of some kind may have, have no line
    breaks; `bigrams` (int32[L+1, L+1], or of size 1: none) are weights of two labels in a row, L
    for the ends of the sentence; `columns` and `reach` are attributes of what is labelled, and how
    far templates may look, if it is not words. `ModelError` if the parts do not fit each other,
    `ConfigError` if a template cannot be read.
    """

    def __init__(
        self,
        labels: Sequence[str],
        lists: Mapping[str, tuple[int, ...]],
        templates: Sequence[str],
        weights: Weights,
        bigrams: Ints,
        columns: Sequence[str] = COLUMNS,
        reach: int = PAD,
    ) -> None:
        self.labels = list(labels)
        self.lists = dict(lists)
        self.weights = weights
        self.bigrams = bigrams
        self.templates = list(templates)
        self.compiled = compile_tag_templates(templates, columns, reach)
        self._reach = reach
        n = len(self.labels)
        if not 1 <= n <= MAX_LABELS or len(set(self.labels)) < n:
            raise ModelError(f"there are {n} labels, expected 1 to {MAX_LABELS}, none twice")
        if bigrams.shape not in ((1, 1), (n + 1, n + 1)):
            raise ModelError(f"bigrams have shape {bigrams.shape}, expected {n + 1} on each side")
        for key, some in self.lists.items():
            if not some or min(some) < 0 or max(some) >= n:
                raise ModelError(f"candidates of {key!r} are {some}, expected numbers below {n}")

    def find(
        self, values: NDArray[np.uint64], lists: Lists, more: Ints | None = None
    ) -> list[str]:
        """Labels of the words of a sentence, given with what earlier layers have found.

        ``lists`` are the labels each word may have, ``more`` (int32[n, L]) what is added to their
        scores, in steps of `LAYER_QUANTUM`.
        """
        labels = self.labels
        if max(map(len, lists), default=1) == 1:
            return [labels[some[0]] for some in lists]
        return [labels[number] for number in self.numbers(values, *flat(lists), more).tolist()]

    def numbers(
        self, values: NDArray[np.uint64], ptr: Ints, numbers: Ints, more: Ints | None = None
    ) -> Ints:
        """As `find`, of and with the numbers of labels; lists as `flat` has them."""
        return label_words(
            values, self._reach, (ptr, numbers), MOST, self.compiled, self.weights.table,
            self.bigrams, NO_MORE if more is None else more,
        )  # fmt: skip

    def to_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` reads, small: keys as differences, list lengths as bytes."""
        weights = self.weights
        keys = list(self.lists)
        ptr, labels = flat([self.lists[key] for key in keys])
        steps = np.diff(weights.keys, prepend=np.uint32(0))
        own = {
            "labels": np.array("\n".join(self.labels)),
            "list_keys": np.array("\n".join(keys)),
            "list_keys_count": np.diff(ptr).astype(np.uint16),
            "list_labels": labels.astype(np.uint16),
            "keys": steps,
            "counts": np.diff(weights.ptr).astype(np.uint16),
            "entry_labels": weights.labels,
            "entry_weights": weights.values,
            "bigrams": self.bigrams,
        }
        return {f"tagger_{name}_{field}": array for field, array in own.items()}

    @classmethod
    def from_arrays(
        cls,
        name: str,
        templates: Sequence[str],
        arrays: Mapping[str, NDArray[Any]],
        where: str,
        columns: Sequence[str] = COLUMNS,
        reach: int = PAD,
    ) -> Layer:
        """Make a layer from arrays that `layer_rules` were checked on.

        `ModelError` if they do not fit.
        """

        own = {field: arrays[f"tagger_{name}_{field}"] for field in _FIELDS}
        labels = str(own["labels"].item()).split("\n")
        counts = own["list_keys_count"].astype(np.int64)
        keys = str(own["list_keys"].item()).split("\n") if len(counts) else []
        numbers = own["list_labels"].tolist()
        feature_keys = np.cumsum(own["keys"].astype(np.uint64))
        ptr = np.append(0, np.cumsum(own["counts"].astype(np.int64)))
        pairs = own["entry_labels"]
        for wrong, what in (
            (len(keys) != len(counts) or int(counts.sum()) != len(numbers),
             f"list_keys are {len(keys)}, expected one for each list"),
            (int(feature_keys.max(initial=0)) >> 32 or (own["keys"][1:] == 0).any(),
             "keys are damaged: expected 32 bits, sorted, none twice"),
            (int(ptr[-1]) != len(pairs),
             f"counts add up to {int(ptr[-1])}, expected {len(pairs)}"),
            (int(pairs.max(initial=0)) >= len(labels),
             f"entry_labels go up to {int(pairs.max(initial=0))}, there are {len(labels)}"),
        ):  # fmt: skip
            if wrong:
                raise ModelError(f"{where}: tagger_{name}_{what}")
        ends = np.cumsum(counts).tolist()
        lists = {
            key: tuple(numbers[end - count : end])
            for key, end, count in zip(keys, ends, counts.tolist())
        }
        weights = Weights(
            feature_keys.astype(np.uint32), ptr.astype(np.int32), pairs.astype(np.uint16),
            own["entry_weights"].astype(np.int16), len(labels),
        )  # fmt: skip
        bigrams = np.ascontiguousarray(own["bigrams"], dtype=np.int32)
        try:
            return cls(labels, lists, templates, weights, bigrams, columns, reach)
        except ModelError as error:
            raise ModelError(f"{where}: tagger, {name}: {error}") from None
