"""Running text as sentences of words, and their tags: tokenization, segmentation, tagging."""

from bbparse.text.segmentation import sentences_of_text

__all__ = ["sentences_of_text"]
