"""Parse, price and cut (Riedel, Smith & McCallum 2012): linear programs that grow where they must.

The program over arcs and grandparent triples starts without triples. Arcs that its solution uses
get theirs, triples come in when their reduced cost may be positive, rows when they are violated; a
fractional optimum is branched on.
"""

from __future__ import annotations

from bbparse.pricing.columns import Columns, GivenColumns
from bbparse.pricing.master import CONSTRAINTS, PricingSettings
from bbparse.pricing.search import price_and_cut

__all__ = [
    "CONSTRAINTS", "Columns", "GivenColumns", "PricingSettings", "price_and_cut",
]  # fmt: skip
