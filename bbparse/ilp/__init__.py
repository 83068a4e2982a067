"""A second solver, which shares nothing with the branch and bound: an integer program on HiGHS."""

from __future__ import annotations

from bbparse.ilp.solver import TOLERANCE, solve_ilp

__all__ = ["TOLERANCE", "solve_ilp"]
