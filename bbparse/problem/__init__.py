"""`Problem` and `Solution`: the waist of the hourglass.

Whatever produces scores makes a `Problem`; whatever finds trees answers with a `Solution`. Both
are frozen: arrays are C-contiguous, read-only and checked once, when the object is made. One file
for each thing that can be done with them: `edit` and `constraints` make problems from problems,
`tree` scores one tree from the definition, `files` reads and writes, and `check` and `arrays` say
what is wrong with what was given.
"""

from __future__ import annotations

from bbparse.problem.polynomials import expand_count_factors
from bbparse.problem.problem import FIELDS, Problem
from bbparse.problem.proof import Proof
from bbparse.problem.solution import STATUSES, Solution

__all__ = ["FIELDS", "STATUSES", "Problem", "Proof", "Solution", "expand_count_factors"]
