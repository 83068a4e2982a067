"""Corpora of any size: shards in, shards out, on one machine or many."""

from bbparse.apps.corpus.run import CorpusSummary, parse_corpus
from bbparse.apps.corpus.spec import ParseSpec, Settings
from bbparse.apps.corpus.work import Manifest, ManifestEntry

__all__ = ["CorpusSummary", "Manifest", "ManifestEntry", "ParseSpec", "Settings", "parse_corpus"]
