"""Compilation of kernels: one decorator, so that all are compiled alike.

The code of a kernel includes the kernels that it calls and the constants that they read.
`runtime.kernel_cache` stores compiled code on disk for as long as none of these changes, in
whatever package they are. :mod:`bbparse.runtime.linking` compiles kernels that call kernels faster;
:mod:`bbparse.runtime.signals` keeps signals from being lost during compilation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial, update_wrapper
from time import monotonic
from typing import Any

from numba import config, njit, types

from bbparse.runtime import linking
from bbparse.runtime.kernel_cache import cache_of
from bbparse.runtime.signals import held_signals

__all__ = ["Kernel", "inlined", "kernel", "watch_compiling"]

_ALIKE = {"no_cpython_wrapper": True}  # the compilers decide on all other wrappers
#: Stages whose compilation was announced: the line comes once in a process for each.
_announced: set[str] = set()
_watchers: list[Callable[[int, float], None]] = []
_begun: list[float] = []  # when the compilation of each kernel began


def watch_compiling(tell: Callable[[int, float], None]) -> None:
    """Have ``tell`` called before each kernel that is not in the cache is compiled.

    It takes the number of kernels compiled so far, and the seconds since the first one began.
    """
    _watchers.append(tell)


def _announce(stage: str) -> None:
    """Tell watchers of a kernel, and say on standard error that its stage is compiled."""
    _begun.append(monotonic())
    for tell in _watchers:
        tell(len(_begun) - 1, _begun[-1] - _begun[0])
    if stage not in _announced:
        _announced.add(stage)
        line = f"bbparse: compiling {stage}, which can take a minute; later runs find it in a cache"
        with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
            print(line, file=sys.stderr, flush=True)


class Kernel:
    """A function over arrays and scalars, compiled when it is first called.

    Python calls one compiled function. Other kernels call another, which becomes part of their own
    code (`runtime.linking`). Only the first is stored on disk, and has the attributes of
    numba's functions: ``py_func``, ``signatures``, ``stats`` and so on.
    """

    def __init__(self, function: Callable[..., Any], stage: str, inline: bool = False) -> None:
        self.py_func, self._stage = function, stage
        self.targetoptions = {"forceinline": inline, **_ALIKE}  # as numba's
        update_wrapper(self, function)

    @cached_property
    def _whole(self) -> Any:
        """Function that Python calls; most kernels of a run do not need it."""
        compiled = njit(pipeline_class=linking.WholeCompiler, **_ALIKE)(self.py_func)
        compiled._cache = cache_of(compiled.py_func, partial(_announce, self._stage))
        compiled.compile = held_signals()(compiled.compile)
        return compiled

    @cached_property
    def _part(self) -> Any:
        """Function that kernels call; not needed once everything is compiled."""
        part = njit(pipeline_class=linking.PartCompiler, **self.targetoptions)(self.py_func)
        return linking.for_any_number(part)

    @property
    def _numba_type_(self) -> Any:
        """Type of this kernel for numba, inside kernels."""
        return types.Dispatcher(self._part)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function.

        Python runs signal handlers in the main thread as soon as the function ends, before its
        result exists. An exception from them arrives as the cause of a SystemError, or of several.
        """
        try:
            return self._whole(*arguments)
        except SystemError as error:
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            raise cause from None

    def __getattr__(self, name: str) -> Any:
        if name in ("py_func", "_stage", "_whole", "targetoptions"):  # before __init__ has set them
            raise AttributeError(name)
        return getattr(self._whole, name)


def kernel(function: Callable[..., Any] | None = None, *, stage: str = "kernels") -> Any:
    """Compile a function over arrays and scalars when it is first called, once for a machine.

    It runs without the interpreter lock, so that other threads go on. ``stage`` names what is
    compiled in the line on standard error.
    """
    if function is None:
        return partial(kernel, stage=stage)
    return function if config.DISABLE_JIT else Kernel(function, stage)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a kernel whose code LLVM copies into each kernel that calls it.

    A call passes each array as seven numbers or more: that costs more than a short loop.
    """
    return function if config.DISABLE_JIT else Kernel(function, "kernels", inline=True)
