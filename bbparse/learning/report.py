"""What one pass over the training data did."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class EpochReport:
    """What one pass over the training data did.

    Attributes
    ----------
    epoch : int
        From 1.
    seconds : float
    right, words : int
        Heads found right in the trees that learning saw, and how many there were.
    updates, not_violations, cut_short : int
        Sentences learned from; sentences whose predicted tree did not outscore the gold tree; and
        searches that reached the node limit.
    dev_uas : float
        With averaged weights; nan without a dev set.
    """

    epoch: int
    seconds: float = 0.0
    right: int = 0
    words: int = 0
    updates: int = 0
    not_violations: int = 0
    cut_short: int = 0
    dev_uas: float = float("nan")

    @property
    def train_uas(self) -> float:
        """Share of right heads in the trees that learning saw."""
        return self.right / max(1, self.words)

    def line(self) -> str:
        """The report in one line."""
        dev = "" if math.isnan(self.dev_uas) else f", {100 * self.dev_uas:.2f} on dev"
        return (
            f"epoch {self.epoch}: {self.seconds:.0f} s, UAS {100 * self.train_uas:.2f} on training"
            f"{dev}; {self.updates} updates,"
            f" {self.not_violations} without violation, {self.cut_short} searches cut short"
        )
