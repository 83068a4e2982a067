"""Corpora of any size: shards in, shards out, on one machine or many."""

from bbparse.apps.corpus.run import CorpusSummary, parse_corpus
from bbparse.apps.corpus.spec import ParseSpec, Settings
from bbparse.apps.corpus.work import Entry, Manifest

__all__ = ["CorpusSummary", "Entry", "Manifest", "ParseSpec", "Settings", "parse_corpus"]
