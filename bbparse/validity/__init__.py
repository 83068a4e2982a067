"""Rules that a tree with labels must keep: read, checked, and kept by the solver."""
