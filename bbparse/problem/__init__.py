"""`Problem` and `Solution`: the waist of the hourglass.

Whatever produces scores makes a `Problem`; whatever finds trees answers with a `Solution`. Both
are frozen: arrays are C-contiguous, read-only and checked once, when the object is made. One file
for each thing that can be done with them: `parts` declares the arrays and `base` holds them, `edit`
and `constraints` make problems from problems, `tree` scores one tree from the definition, `files`
reads and writes, and `check` says what is wrong with what was given.

The names below are imported when they are first used: the checker of proofs reads the records
alone, without the code that makes them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbparse.problem.edit import expand_count_factors
    from bbparse.problem.parts import FIELDS
    from bbparse.problem.problem import Problem
    from bbparse.problem.proof import Proof
    from bbparse.problem.solution import STATUSES, Solution

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
