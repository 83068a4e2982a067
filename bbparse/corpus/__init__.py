"""Corpora of any size: shards in, shards out, on one machine or many; batches for other engines."""

from bbparse.corpus.recipe import Mapper, Recipe, Settings, mapper
from bbparse.corpus.run import Done, parse_corpus
from bbparse.corpus.work import Entry, Manifest

__all__ = ["Done", "Entry", "Manifest", "Mapper", "Recipe", "Settings", "mapper", "parse_corpus"]
