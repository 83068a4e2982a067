"""Validity rules of labelled trees: read, checked, and enforced by the solver."""
