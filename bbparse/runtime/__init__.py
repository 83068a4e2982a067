"""Foundations: errors, option checks, compilation, files, processes, signals and clocks."""
