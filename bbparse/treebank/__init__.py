"""Sentences with or without trees: read, write, check and compare them."""

from typing import TYPE_CHECKING, Any

from bbparse.treebank.reading import read_conllu
from bbparse.treebank.sentence import NO_HEAD, Sentence
from bbparse.treebank.trees import is_projective
from bbparse.treebank.writing import format_sentence, write_conllu

if TYPE_CHECKING:
    from bbparse.treebank.evaluation import evaluate
    from bbparse.treebank.significance import compare

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


def __getattr__(name: str) -> Any:
    """Import what parsing does not need when it is first used."""
    if name == "compare":
        from bbparse.treebank.significance import compare

        return compare
    if name == "evaluate":
        from bbparse.treebank.evaluation import evaluate

        return evaluate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
