"""Corpora of any size: shards in, shards out, on one machine or many; batches for other engines."""

from bbparse.apps.corpus.run import CorpusSummary, parse_corpus
from bbparse.apps.corpus.spec import Mapper, ParseSpec, Settings, mapper
from bbparse.apps.corpus.work import Entry, Manifest

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
