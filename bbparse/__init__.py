"""Dependency parsing by branch and bound: scores in, provably best trees out.

The names below are imported when they are first used, so that ``import bbparse`` and
``bbparse --help`` do not wait for numpy and numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bbparse.runtime import __version__

if TYPE_CHECKING:
    from bbparse.core import Problem, Solution
    from bbparse.inference.agreement import Agreement, agree
    from bbparse.inference.conflict import explain_infeasible
    from bbparse.inference.matrix import best_tree, best_trees
    from bbparse.inference.proof.verify import verify
    from bbparse.inference.solve import solve, solve_batch
    from bbparse.parser.document import Document, ParsedSentence, Tree, Word
    from bbparse.parser.parser import Parser, load
    from bbparse.runtime.errors import (
        BBParseError,
        ConfigError,
        FactorError,
        ModelError,
        OutputError,
        ProblemError,
        TreebankError,
        VerificationError,
    )
    from bbparse.treebank import Sentence, read_conllu
    from bbparse.treebank.sentence import ScoredTree

_OF_MODULE = {
    "inference.agreement": "Agreement agree",
    "runtime.errors": "BBParseError ConfigError FactorError ModelError OutputError ProblemError"
    " TreebankError VerificationError",
    "parser.document": "Document ParsedSentence Tree Word",
    "parser.parser": "Parser load",
    "core": "Problem Solution",
    "inference.proof.verify": "verify",
    "inference.conflict": "explain_infeasible",
    "inference.matrix": "best_tree best_trees",
    "inference.solve": "solve solve_batch",
    "treebank": "Sentence read_conllu",
    "treebank.sentence": "ScoredTree",
}
_HOME = {name: module for module, names in _OF_MODULE.items() for name in names.split()}

__all__ = [
    "Agreement",
    "BBParseError",
    "ConfigError",
    "Document",
    "FactorError",
    "ModelError",
    "OutputError",
    "ParsedSentence",
    "Parser",
    "Problem",
    "ProblemError",
    "ScoredTree",
    "Sentence",
    "Solution",
    "Tree",
    "TreebankError",
    "VerificationError",
    "Word",
    "__version__",
    "agree",
    "best_tree",
    "best_trees",
    "explain_infeasible",
    "load",
    "read_conllu",
    "solve",
    "solve_batch",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"bbparse.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
