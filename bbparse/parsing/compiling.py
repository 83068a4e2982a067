"""The first run on a machine: compile in two processes at once what parsing needs.

numba compiles a kernel when it is first called and keeps the code in a cache on disk. It compiles
under a lock, one kernel at a time, so threads do not help; but a second process can compile the
kernels that solve problems while this one compiles those that score and label, and both find the
other's in the cache.
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bbparse.factors.family import FactorFamily
from bbparse.jit.cache import KernelCache
from bbparse.parsing.parser import Parser
from bbparse.parsing.valid import label_scores_around, rules_for
from bbparse.problem import Problem
from bbparse.solving.root import call_projective
from bbparse.solving.solve import solve
from bbparse.storage.interrupts import undone_by
from bbparse.treebank import Sentence


def is_compiled(kernel: Any) -> bool:
    """Return True if compiled code of a kernel exists, in this process or in the cache on disk.

    The types of its arguments do not matter. With numba switched off the answer is always True.
    """
    if not hasattr(kernel, "py_func"):
        return True
    kept = kernel._cache
    return bool(kernel.signatures) or (isinstance(kept, KernelCache) and kept.is_filled)


@contextlib.contextmanager
def run_elsewhere(module: str) -> Iterator[None]:
    """Run a module in a second process, which compiles kernels while this process does too.

    If it fails, this process compiles the kernels when it calls them.
    """
    collecting = gc.isenabled()
    gc.disable()  # a compiler's objects stay alive: looking for garbage among them takes a tenth
    try:
        with undone_by(_kill, partial(_started, module)) as other:
            try:
                yield
                if other is not None:
                    other.wait()
            except BaseException:  # also of the waiting
                _kill(other)
                raise
    finally:
        if collecting:
            gc.enable()


def _started(module: str) -> subprocess.Popen[bytes] | None:
    if not sys.executable:
        return None
    none = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        return subprocess.Popen(
            [sys.executable, "-m", module], stdin=none, stdout=none, stderr=none
        )
    return None


def _kill(other: subprocess.Popen[bytes] | None) -> None:
    if other is not None:
        other.kill()
        other.wait()


_WORDS = ("A", "sentence", "(", "short", ")", "compiles", "all", ".")
_UPOS = ("DET", "NOUN", "PUNCT", "ADJ", "PUNCT", "VERB", "PRON", "PUNCT")


def load_compiled(
    model: str | os.PathLike[str],
    factors: Iterable[str | type[FactorFamily] | FactorFamily] = (),
) -> Parser:
    """Read a model and, in the first run on this machine, compile the kernels that parsing needs.

    The parameters and errors are those of :meth:`bbparse.parsing.parser.Parser.load`.
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
    gc.freeze()  # otherwise freeing the compiler's objects one by one takes two seconds
