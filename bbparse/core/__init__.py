"""`Problem` and `Solution`: the interface between everything that makes scores and every solver.

Anything that produces scores makes a `Problem`; anything that finds trees returns a `Solution`.
Both are frozen: arrays are C-contiguous, read-only and checked once, when the object is made. There
is one file for each operation: `parts` declares the arrays and holds them, `edit` and `constraints`
make problems from problems, `tree` scores one tree from the definition, `files` reads and writes,
and `check` validates input.

The names below are imported on first use: the checker of proofs reads the records alone, without
the code that makes them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbparse.core.edit import expand_count_factors
    from bbparse.core.parts import FIELDS
    from bbparse.core.problem import Problem
    from bbparse.core.proof import Proof
    from bbparse.core.solution import STATUSES, Solution

__all__ = ["FIELDS", "STATUSES", "Problem", "Proof", "Solution", "expand_count_factors"]

_HOME = {
    "FIELDS": "parts", "STATUSES": "solution", "Problem": "problem", "Proof": "proof",
    "Solution": "solution", "expand_count_factors": "edit",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
