"""Exact joint decoding of several models that each have an oracle of their own."""

from __future__ import annotations

from bbparse.agreement.agree import Agreement, agree

__all__ = ["Agreement", "agree"]
