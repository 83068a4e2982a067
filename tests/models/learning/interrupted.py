"""Runs of training that end from the outside, as by a power cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class PowerCut(Exception):
    """Ends a run from the outside."""


def counted(call: Callable[..., Any], last: int, seen: list[str] | None = None) -> Any:
    """The same function, which works so many times and then ends the run."""
    seen = [] if seen is None else seen

    def one(*given: Any) -> Any:
        if len(seen) == last:
            raise PowerCut
        seen.append(call.__name__)
        return call(*given)

    return one
