"""Tagging: UPOS, XPOS, FEATS and lemmas of words, learned from a treebank."""

from __future__ import annotations

from bbparse.tagging.tagger import TagColumns, Tagger, accuracy
from bbparse.tagging.training import TaggerSettings, train_tagger

__all__ = ["TagColumns", "Tagger", "TaggerSettings", "accuracy", "train_tagger"]
