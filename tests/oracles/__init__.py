"""Slow, obviously right answers. Nothing here shares code with the package under test."""
