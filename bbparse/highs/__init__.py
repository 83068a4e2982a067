"""HiGHS, as far as this project needs it: one program, solved as a linear or an integer one."""

from __future__ import annotations

from bbparse.highs.linear import Linear, LinearAnswer
from bbparse.highs.program import Program, WholeAnswer, solve_whole

__all__ = ["Linear", "LinearAnswer", "Program", "WholeAnswer", "solve_whole"]
