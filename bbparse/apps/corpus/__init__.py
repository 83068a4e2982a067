"""Corpora of any size: shards in, shards out, on one machine or many."""

from bbparse.apps.corpus.files import FileOptions
from bbparse.apps.corpus.run import CorpusSummary, parse_corpus
from bbparse.apps.corpus.work import Manifest, ManifestEntry, ParseSpec

__all__ = ["CorpusSummary", "FileOptions", "Manifest", "ManifestEntry", "ParseSpec", "parse_corpus"]
