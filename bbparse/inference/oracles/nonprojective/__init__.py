"""Crossing trees: arcs and part scores in, bounds from arborescences and automata out."""
