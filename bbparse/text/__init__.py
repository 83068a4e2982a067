"""Running text as sentences of words."""

from bbparse.text.cutter import Cutter
from bbparse.text.cutting import read_text, sentences_of_text
from bbparse.text.training import CutterSettings, train_cutter

__all__ = ["Cutter", "CutterSettings", "read_text", "sentences_of_text", "train_cutter"]
