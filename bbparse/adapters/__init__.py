"""Other people's parsers: their scores as problems, and bbparse as their decoder.

Each module takes the scores of one parser and gives `SentenceScores`; those of Stanza and SuPar
also switch the parser's own pipeline over (``install``). No module imports a parser before it is
asked to switch one over.
"""

from bbparse.adapters.scores import SentenceScores, decode, from_batch

__all__ = ["SentenceScores", "decode", "from_batch"]
