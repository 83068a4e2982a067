"""Foundations: errors, option checks, compilation, files, processes, signals and clocks."""

__version__ = "0.1.0"
