"""The first run on a machine: compile in two processes at once what parsing needs.

One compiles the kernels that score and label, the other those that solve problems.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable

import numpy as np

from bbparse.factors.family import FactorFamily
from bbparse.jit.ahead import is_compiled, run_elsewhere
from bbparse.parsing.parser import Parser
from bbparse.parsing.valid import label_scores_around, rules_for
from bbparse.problem import Problem
from bbparse.solving.root import call_projective
from bbparse.solving.solve import solve
from bbparse.treebank import Sentence

_WORDS = ("A", "sentence", "(", "short", ")", "compiles", "all", ".")
_UPOS = ("DET", "NOUN", "PUNCT", "ADJ", "PUNCT", "VERB", "PRON", "PUNCT")


def load_compiled(
    model: str | os.PathLike[str],
    factors: Iterable[str | type[FactorFamily] | FactorFamily] = (),
) -> Parser:
    """Read a model and, in the first run on this machine, compile what parsing with it needs.

    Takes what :meth:`bbparse.parsing.parser.Parser.load` takes, and raises what it raises.
    """
    if is_compiled(call_projective):
        return Parser.load(model, factors)
    with run_elsewhere("bbparse.parsing.compiling"):
        parser = Parser.load(model, factors)
        sentence = Sentence.from_words(_WORDS)
        if parser.tagger is not None:
            sentence = parser.tagged(sentence)
        else:
            sentence = Sentence.from_words(_WORDS, upos=_UPOS)
        scored = parser.maker([sentence])[0]
        chain = np.arange(-1, len(_WORDS), dtype=np.int32)
        parser.labels(sentence, chain)
        if parser.labeller is not None and rules_for(None, parser.labeller) is not None:
            label_scores_around(parser.labeller, scored, chain)
    return parser


def compile_solving() -> None:
    """Compile the kernels that solve a problem with grand-siblings and factors."""
    heads, mods = np.array([0, 1, 1, 2], np.int32), np.array([1, 2, 3, 3], np.int32)
    problem = Problem.trusted(  # checking has kernels of its own
        3, heads, mods, np.ones(4), factor_ptr=np.array([0, 2]),
        factor_arcs=np.array([1, 2], np.int32), factor_score=np.ones(1),
    )  # fmt: skip
    solve(problem, backbone="grandsib")


if __name__ == "__main__":
    gc.disable()
    compile_solving()
    gc.freeze()  # else two seconds go into freeing what the compiler made, piece by piece
