"""Targets of a loss: shares of labels, 1 for that of a gold element, several for one in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.treebank.likely_tags import Likely


def certain(labels: NDArray[Any]) -> Likely:
    """Return targets of one label for each element, int[n]; -1 for none."""
    known = labels >= 0
    chosen = labels[known].astype(np.int32)
    ends = np.append(0, np.cumsum(known, dtype=np.int32))
    return Likely(ends, chosen, np.ones(len(chosen), np.float32))


def joined(parts: Sequence[Likely]) -> Likely:
    """Return the targets of sequences, one after the other."""
    sizes = [len(part.numbers) for part in parts]
    before = np.cumsum([0, *sizes[:-1]]).repeat([len(part.begin) - 1 for part in parts])
    begin = np.append(0, np.concatenate([part.begin[1:] for part in parts]) + before)
    numbers, shares = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    return Likely(begin, numbers, shares)


def interleaved(kinds: Sequence[Likely]) -> Likely:
    """Return targets of several kinds: all kinds of the first element, those of the second, …"""
    counts = np.stack([np.diff(kind.begin) for kind in kinds], axis=1).reshape(-1)
    owner = np.concatenate([len(kinds) * owners(kind) + k for k, kind in enumerate(kinds)])
    order = np.argsort(owner, kind="stable")
    numbers, shares = (np.concatenate([kind[i] for kind in kinds])[order] for i in (1, 2))
    return Likely(np.append(0, np.cumsum(counts)).astype(np.int32), numbers, shares)


def owners(targets: Likely) -> NDArray[np.int64]:
    """Return the element of each label, int64[m]."""
    return np.repeat(np.arange(len(targets.begin) - 1), np.diff(targets.begin))
