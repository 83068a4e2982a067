"""Tables for terminals, and numbers for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["aligned", "finite"]


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Rows with their cells under each other, to the right but for some columns.

    Parameters
    ----------
    rows : sequence of sequence of str
        All of one length.
    left : sequence of int
        Columns whose cells stand to the left.
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    )


def finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
