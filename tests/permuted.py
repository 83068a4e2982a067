"""The same problem, with everything in another order."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from bbparse.core import Problem
from tests.strategies import COLUMNS, shuffled_factors


def permuted(rng: np.random.Generator, p: Problem) -> tuple[Problem, np.ndarray]:
    """A problem whose arcs, parts and factors are in a random order, and where its arcs were."""
    order = rng.permutation(len(p.arc_head))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    fields: dict[str, Any] = {
        name: getattr(p, name)[order] for name in ("arc_head", "arc_mod", "arc_score", "arc_state")
    }
    if p.arc_label is not None:
        fields["arc_label"] = p.arc_label[order]
    for kind, columns in COLUMNS.items():
        rows = rng.permutation(len(getattr(p, f"{kind}_score")))
        for column in (*columns, "score"):
            fields[f"{kind}_{column}"] = getattr(p, f"{kind}_{column}")[rows]
    fields["factor_arcs"] = place[p.factor_arcs]
    fields["count_arcs"] = place[p.count_arcs]
    return shuffled_factors(rng, dataclasses.replace(p, **fields)), order
