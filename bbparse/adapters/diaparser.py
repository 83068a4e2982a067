"""DiaParser's scores: those of SuPar's first-order parser, with -inf for padding and loops."""

from bbparse.adapters.supar import scores

__all__ = ["TRIED", "scores"]

#: Versions that bbparse was tried with.
TRIED = ("1.1.3",)
