"""Why a problem has no tree: constraints that contradict each other, found and put in words."""

from __future__ import annotations

from bbparse.solving.conflict.search import NODE_LIMIT, explain_infeasible

__all__ = ["NODE_LIMIT", "explain_infeasible"]
