"""Runs of training that end from the outside, as by a power cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bbparse.parser.parser import Parser


class PowerCut(Exception):
    """Ends a run from the outside."""


def cut_at(text: str) -> Callable[[str], None]:
    """A `report` of training that ends the run at the first line with this text."""

    def report(line: str) -> None:
        if text in line:
            raise PowerCut

    return report


def interrupt(text: str, *given: object, **options: object) -> None:
    """Train until a line with this text is reported, and no further."""
    with pytest.raises(PowerCut):
        Parser.train(*given, report=cut_at(text), **options)
