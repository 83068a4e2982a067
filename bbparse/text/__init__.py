"""Running text as sentences of words."""

from bbparse.text.cutting import read_text, sentences_of_text, text_as_it_comes

__all__ = ["read_text", "sentences_of_text", "text_as_it_comes"]
