"""DiaParser's scores: those of SuPar's first-order parser, with -inf for padding and loops."""

from bbparse.adapters.supar import scores

__all__ = ["TRIED", "scores"]

#: Versions whose source the shapes are from.
TRIED = ("1.1.3",)
