"""Corpora of any size: shards in, shards out, on one machine or many."""
