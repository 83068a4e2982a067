"""Phrase-structure parsing: a grammar, its charts, and agreement with a dependency parser."""
