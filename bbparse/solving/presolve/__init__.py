"""Presolve: a smaller problem with the same trees and the same scores."""

from __future__ import annotations

from bbparse.solving.presolve.reduce import PART_KINDS, PresolveInfo, presolve

__all__ = ["PART_KINDS", "PresolveInfo", "presolve"]
