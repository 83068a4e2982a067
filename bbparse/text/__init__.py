"""Running text as sentences of words."""

from bbparse.text.cutter import Cutter
from bbparse.text.cutting import read_text, sentences_of_text
from bbparse.text.training import train_cutter

__all__ = ["Cutter", "read_text", "sentences_of_text", "train_cutter"]
