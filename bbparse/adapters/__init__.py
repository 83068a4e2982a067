"""Adapters: scores of other parsers as problems and exact trees, and bbparse as part of spaCy.

A module named after a parser converts its scores to `SentenceScores`, without importing it;
`spacy_component` has the component and the tokenizer for spaCy's pipelines.
"""

from bbparse.adapters.scores import SentenceScores, decode, from_batch

__all__ = ["SentenceScores", "decode", "from_batch"]
