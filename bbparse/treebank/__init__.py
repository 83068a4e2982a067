"""Sentences with or without trees: read, write, check and compare them."""

from __future__ import annotations

from bbparse.treebank.breakdown import BREAKDOWNS, Breakdown
from bbparse.treebank.evaluation import Scores, Tally, evaluate
from bbparse.treebank.reading import read_conllu
from bbparse.treebank.sentence import NO_HEAD, Sentence, check_tree
from bbparse.treebank.significance import Difference, compare, compare_tallies
from bbparse.treebank.trees import find_cycle, is_projective
from bbparse.treebank.writing import format_sentence, write_conllu

__all__ = [
    "BREAKDOWNS", "NO_HEAD", "Breakdown", "Difference", "Scores", "Sentence", "Tally", "check_tree",
    "compare", "compare_tallies", "evaluate", "find_cycle", "format_sentence", "is_projective",
    "read_conllu", "write_conllu",
]
