"""Corpora of any size: shards in, shards out, on one machine or many."""

from bbparse.apps.corpus.run import CorpusSummary, parse_corpus
from bbparse.apps.corpus.spec import ParseSpec
from bbparse.apps.corpus.work import Manifest, ManifestEntry
from bbparse.parser.parse import FileOptions

__all__ = ["CorpusSummary", "FileOptions", "Manifest", "ManifestEntry", "ParseSpec", "parse_corpus"]
