"""The first run on a machine: compile in two processes at once what parsing needs.

numba compiles a kernel when it is first called and keeps the code in a cache on disk. It compiles
under a lock, one kernel at a time, so threads do not help; but a second process can compile the
half of the kernels that solves problems while this one compiles those that score and label, and
both find the other's in the cache.
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bbparse.factors.family import FactorFamily
from bbparse.parser import Parser
from bbparse.problem import Problem
from bbparse.search.root import solve_root
from bbparse.solve import solve
from bbparse.treebank import Sentence

_WORDS = ("A", "sentence", "(", "short", ")", "compiles", "all", ".")
_UPOS = ("DET", "NOUN", "PUNCT", "ADJ", "PUNCT", "VERB", "PRON", "PUNCT")


def is_compiled(kernel: Any) -> bool:
    """Whether code of a jitted function is in the cache and no older than its source.

    A guess by dates, of no consequence but for time: numba looks for itself.
    """
    if kernel.signatures:
        return True
    function = kernel.py_func
    try:
        source = os.stat(function.__code__.co_filename).st_mtime
        found = Path(kernel.stats.cache_path).glob(
            f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-*.nbi"
        )
        return any(index.stat().st_mtime >= source for index in found)
    except (OSError, TypeError):  # no file, or no cache
        return False


def load_compiled(
    model: str | os.PathLike[str],
    factors: Iterable[type[FactorFamily] | FactorFamily] = (),
) -> Parser:
    """Read a model and, in the first run on this machine, compile what parsing with it needs.

    Takes what :meth:`bbparse.parser.Parser.load` takes, and raises what it raises.
    """
    if not hasattr(solve_root, "py_func") or is_compiled(solve_root):  # the first: numba is off
        return Parser.load(model, factors)
    with _solving_compiled():
        parser = Parser.load(model, factors)
        sentence = Sentence.from_words(_WORDS)
        if parser.tagger is not None:
            sentence = parser.tagged(sentence)
        else:
            sentence = Sentence.from_words(_WORDS, upos=_UPOS)
        parser.problem(sentence)
        parser.labels(sentence, np.arange(-1, len(_WORDS), dtype=np.int32))  # a chain
    return parser


@contextlib.contextmanager
def _solving_compiled() -> Iterator[None]:
    """Compile in another process what solves problems; where it fails, this one will do it."""
    other = None
    collecting = gc.isenabled()
    gc.disable()  # what a compiler builds up stays; looking for garbage there takes a tenth
    if sys.executable:
        none = subprocess.DEVNULL
        command = [sys.executable, "-m", "bbparse.compiling"]
        with contextlib.suppress(OSError):
            other = subprocess.Popen(command, stdin=none, stdout=none, stderr=none)
    try:
        yield
    except BaseException:
        if other is not None:
            other.kill()
        raise
    finally:
        if collecting:
            gc.enable()
        if other is not None:
            other.wait()


def compile_solving() -> None:
    """Compile the kernels that solve a problem with grand-siblings and factors."""
    problem = Problem(
        3, [0, 1, 1, 2], [1, 2, 3, 3], [1.0, 1.0, 1.0, 1.0],
        factor_ptr=[0, 2], factor_arcs=[1, 2], factor_score=[1.0],
    )  # fmt: skip
    solve(problem, backbone="grandsib")


if __name__ == "__main__":
    gc.disable()
    compile_solving()
