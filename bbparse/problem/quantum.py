"""The unit of all weights that are learned."""

from __future__ import annotations

#: What a stored weight of 1 is worth. A power of two: sums of scores are exact in double precision.
QUANTUM = 2.0**-16
