"""UDPipe 2's scores: heads of words, without a row for the root.

The shapes are those of `udpipe2.py` in the branch udpipe-2: it has no releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bbparse.adapters.scores import SentenceScores, from_batch
from bbparse.inference.matrix import as_array
from bbparse.runtime.errors import ProblemError


def scores(heads_logs: Any, lengths: Sequence[int]) -> list[SentenceScores]:
    """Convert ``Network.heads_logs``, by sentence; UDPipe scores labels of chosen heads only.

    Parameters
    ----------
    heads_logs : float[b, n, n + 1]
        Log-probabilities of the heads of each word; column 0 is the root.
    lengths : sequence of b int
        Number of words of each sentence.
    """
    array = as_array("heads_logs", heads_logs, (3,), "(b, n, n + 1): sentence, dependent, head")
    if array.shape[2] != array.shape[1] + 1:
        raise ProblemError(
            f"heads_logs has shape {array.shape}, expected (b, n, n + 1): sentence, dependent, head"
        )
    return from_batch(np.pad(array, ((0, 0), (1, 0), (0, 0))), lengths)
