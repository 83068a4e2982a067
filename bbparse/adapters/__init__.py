"""Scores of other parsers: turn them into problems and exact trees.

Each module converts the scores of one parser to `SentenceScores`, without importing the parser.
"""

from bbparse.adapters.scores import SentenceScores, decode, from_batch

__all__ = ["SentenceScores", "decode", "from_batch"]
