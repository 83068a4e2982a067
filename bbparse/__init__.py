"""Dependency parsing by branch and bound: scores in, provably best trees out.

The names below are imported when they are first used, so that ``import bbparse`` and
``bbparse --help`` do not wait for numpy and numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbparse.agreement import Agreement, agree
    from bbparse.corpus.spec import mapper
    from bbparse.errors import (
        BBParseError,
        ConfigError,
        FactorError,
        ModelError,
        OutputError,
        ProblemError,
        TreebankError,
        VerificationError,
    )
    from bbparse.parsing.document import Document, ParsedSentence, Tree, Word
    from bbparse.parsing.parser import Parser, ScoredTree
    from bbparse.parsing.pipeline import Pipeline, load
    from bbparse.problem import Problem, Solution, expand_count_factors
    from bbparse.proof.verify import verify
    from bbparse.solving.conflict import explain_infeasible
    from bbparse.solving.matrix import best_tree, best_trees
    from bbparse.solving.solve import solve, solve_batch
    from bbparse.treebank import Sentence, read_conllu

__version__ = "0.1.0"

_OF_MODULE = {
    "agreement": "Agreement agree",
    "corpus.spec": "mapper",
    "errors": "BBParseError ConfigError FactorError ModelError OutputError ProblemError"
    " TreebankError VerificationError",
    "parsing.document": "Document ParsedSentence Tree Word",
    "parsing.parser": "Parser ScoredTree",
    "parsing.pipeline": "Pipeline load",
    "problem": "Problem Solution expand_count_factors",
    "proof.verify": "verify",
    "solving.conflict": "explain_infeasible",
    "solving.matrix": "best_tree best_trees",
    "solving.solve": "solve solve_batch",
    "treebank": "Sentence read_conllu",
}
_HOME = {name: module for module, names in _OF_MODULE.items() for name in names.split()}

__all__ = [
    "Agreement", "BBParseError", "ConfigError", "Document", "FactorError", "ModelError",
    "OutputError", "ParsedSentence", "Parser", "Pipeline", "Problem", "ProblemError",
    "ScoredTree", "Sentence", "Solution", "Tree", "TreebankError", "VerificationError", "Word",
    "__version__", "agree", "best_tree", "best_trees", "expand_count_factors",
    "explain_infeasible", "load", "mapper", "read_conllu", "solve", "solve_batch", "verify",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"bbparse.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
