"""Corpora of any size: shards in, shards out, on one machine or many; batches for other engines."""

from bbparse.corpus.frames import Mapper, mapper
from bbparse.corpus.manifest import Entry, Manifest
from bbparse.corpus.recipe import Recipe, Settings
from bbparse.corpus.run import Done, parse_corpus

__all__ = ["Done", "Entry", "Manifest", "Mapper", "Recipe", "Settings", "mapper", "parse_corpus"]
