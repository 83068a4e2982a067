"""Corpora of any size: shards in, shards out, on one machine or many; batches for other engines."""

from bbparse.corpus.run import CorpusSummary, parse_corpus
from bbparse.corpus.spec import Mapper, ParseSpec, Settings, mapper
from bbparse.corpus.work import Entry, Manifest
from bbparse.renamed import renamed_members

__all__ = [
    "CorpusSummary",
    "Entry",
    "Manifest",
    "Mapper",
    "ParseSpec",
    "Settings",
    "mapper",
    "parse_corpus",
]

__getattr__ = renamed_members(__name__, {"Done": "CorpusSummary", "Recipe": "ParseSpec"})
