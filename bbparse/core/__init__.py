"""`Problem` and `Solution`: the interface between everything that makes scores and every solver.

Anything that produces scores makes a `Problem`; anything that finds trees returns a `Solution`.
Both are frozen: arrays are C-contiguous, read-only and checked once, when the object is made. There
is one file for each operation: `parts` declares the arrays and holds them, `edit` and `constraints`
make problems from problems, `score` scores trees from the definition, `files` reads and writes,
and `check` validates input.
"""

from bbparse.core.parts import FIELDS
from bbparse.core.problem import Problem
from bbparse.core.proof import Proof
from bbparse.core.solution import Solution

__all__ = ["FIELDS", "Problem", "Proof", "Solution"]
