"""Turn scores of other parsers into problems and exact trees.

Each module reads the scores of one parser into `SentenceScores`; none of them imports the parser.
"""

from bbparse.adapters.scores import SentenceScores, decode, from_batch

__all__ = ["SentenceScores", "decode", "from_batch"]
