"""What a run needs of whatever learns in it: a backbone, or the factors on top of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bbparse.factors import FactorFamily
from bbparse.learning.report import EpochReport
from bbparse.learning.updates import Learner
from bbparse.model.model import Model


class Learning(Protocol):
    """What learns in epochs."""

    families: Sequence[FactorFamily]

    def epoch(self, number: int, progress: bool) -> EpochReport:
        """One pass over the training data."""
        ...

    def averaged(self) -> Model:
        """The model so far."""
        ...

    def learners(self) -> dict[str, Learner]:
        """Its weights, by name."""
        ...

    def restored(self) -> None:
        """Take note of weights that came from a checkpoint."""
        ...
