"""Parse, price and cut (Riedel, Smith & McCallum 2012): column and row generation for parsing.

The linear program over arcs and grandparent triples starts without triples. Arcs that its solution
uses get their triples. A triple becomes a column when its reduced cost may be positive, a row is
added when it is violated, and a fractional optimum is branched on.
"""

from __future__ import annotations

from bbparse.pricing.columns import Columns, GivenColumns
from bbparse.pricing.master import CONSTRAINTS, PricingSettings
from bbparse.pricing.search import price_and_cut

__all__ = [
    "CONSTRAINTS", "Columns", "GivenColumns", "PricingSettings", "price_and_cut",
]  # fmt: skip
