"""Lagrangian bounds: a node of the search in, an upper bound and the best tree found out."""
