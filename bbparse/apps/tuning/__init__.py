"""Pruning: accuracy against speed on a treebank (QL13, Table 3, Figures 4 and 5)."""

from __future__ import annotations

from bbparse.apps.tuning.measure import Setting, Suggestion, measure_settings, suggest

__all__ = ["Setting", "Suggestion", "measure_settings", "suggest"]
