"""Running text as sentences of words, and their tags: tokenization, segmentation, tagging."""

from __future__ import annotations

from bbparse.text.segmentation import read_text, sentences_of_text
from bbparse.text.tagger import TagColumns, Tagger
from bbparse.text.tagger_training import TaggerSettings, train_tagger
from bbparse.text.tokenizer import Tokenizer
from bbparse.text.tokenizer_training import train_tokenizer

__all__ = [
    "TagColumns", "Tagger", "TaggerSettings", "Tokenizer", "read_text", "sentences_of_text",
    "train_tagger", "train_tokenizer",
]
