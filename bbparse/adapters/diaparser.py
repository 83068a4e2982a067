"""DiaParser's scores: those of SuPar's first-order parser, with -inf for padding and loops.

Tested with DiaParser 1.1.3.
"""

from bbparse.adapters.supar import scores

__all__ = ["scores"]
