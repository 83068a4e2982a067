"""Running text as sentences of words: tokenization and sentence segmentation."""

from bbparse.renamed import renamed_members
from bbparse.text.segmentation import read_text, sentences_of_text
from bbparse.text.tokenizer import Tokenizer
from bbparse.text.training import train_tokenizer

__all__ = ["Tokenizer", "read_text", "sentences_of_text", "train_tokenizer"]

__getattr__ = renamed_members(__name__, {"Cutter": "Tokenizer", "train_cutter": "train_tokenizer"})
