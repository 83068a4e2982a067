"""Sentences with or without trees: read, write, check and compare them."""

from bbparse.treebank.evaluation import evaluate
from bbparse.treebank.reading import read_conllu
from bbparse.treebank.sentence import NO_HEAD, Sentence
from bbparse.treebank.significance import compare
from bbparse.treebank.trees import is_projective
from bbparse.treebank.writing import format_sentence, write_conllu

__all__ = [
    "NO_HEAD",
    "Sentence",
    "compare",
    "evaluate",
    "format_sentence",
    "is_projective",
    "read_conllu",
    "write_conllu",
]
