"""A second, independent solver: an integer program for HiGHS."""

from __future__ import annotations

from bbparse.ilp.solver import TOLERANCE, solve_ilp

__all__ = ["TOLERANCE", "solve_ilp"]
