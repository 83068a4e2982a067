"""Compilation of kernels: one decorator, so that all are compiled alike.

`runtime.kernel_cache` stores compiled code on disk; `runtime.linking` compiles kernels that call
kernels faster.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial, update_wrapper
from typing import Any

import numpy as np
from numba import config, njit, types
from numba.core.typing.typeof import typeof_impl
from numba.np.numpy_support import from_dtype, map_layout

from bbparse.runtime import linking
from bbparse.runtime.errors import BBParseError
from bbparse.runtime.kernel_cache import cache_of
from bbparse.runtime.signals import in_thread

_usual_type_of = typeof_impl.dispatch(np.ndarray)


@typeof_impl.register(np.ndarray)
def _type_of(array: Any, context: Any) -> Any:
    """Return the type of an array as numba does, which would import numpy.ma for it."""
    if "numpy.ma" in sys.modules or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        return _usual_type_of(array, context)
    readonly = not array.flags.writeable
    return types.Array(from_dtype(array.dtype), array.ndim, map_layout(array), readonly=readonly)


_ALIKE = {"no_cpython_wrapper": True}  # the compilers decide on all other wrappers
_stages: dict[Callable[..., Any], str] = {}
_announced: set[str] = set()  # stages; the line comes once in a process for each


class _Compiler(linking.WholeCompiler):
    """Compiler of kernels for Python: it says on standard error what is compiled."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        stage = _stages[func]
        if stage not in _announced:
            _announced.add(stage)
            line = f"compiling {stage}, which can take a minute; later runs find it in a cache"
            with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
                print("bbparse:", line, file=sys.stderr, flush=True)
        return super().compile_extra(func)


class Kernel:
    """A function over arrays and scalars, compiled when it is first called.

    Python calls one compiled function. Other kernels call another, which becomes part of their own
    code (`runtime.linking`). Only the first is stored on disk.
    """

    def __init__(self, function: Callable[..., Any], stage: str, inline: bool) -> None:
        self.py_func, _stages[function] = function, stage
        self.targetoptions = {"forceinline": inline, **_ALIKE}  # as numba's
        update_wrapper(self, function)

    @cached_property
    def _whole(self) -> Any:
        """Function that Python calls; most kernels of a run do not need it."""
        if config.DISABLE_JIT:
            raise BBParseError("NUMBA_DISABLE_JIT is set: unset it, since kernels are compiled")
        compiled = njit(pipeline_class=_Compiler, **_ALIKE)(self.py_func)
        compiled._cache = cache_of(compiled.py_func)
        work = compiled.compile
        # LLVM calls back: an exception that a signal handler raises there would be lost.
        compiled.compile = lambda signature: in_thread(work, signature)
        return compiled

    @cached_property
    def _numba_type_(self) -> Any:
        """Type of the function that kernels call; not needed once everything is compiled."""
        part = njit(pipeline_class=linking.PartCompiler, **self.targetoptions)(self.py_func)
        self._part = linking.for_any_number(part)  # the type does not keep it
        return types.Dispatcher(self._part)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function.

        Signal handlers run as soon as it ends, before its result exists: their exception arrives as
        the cause of a SystemError, or of several.
        """
        try:
            return self._whole(*arguments)
        except SystemError as error:
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            raise cause from None


def kernel(function: Any = None, *, stage: str = "kernels", inline: bool = False) -> Any:
    """Compile a function over arrays and scalars when it is first called, once for a machine.

    It runs without the interpreter lock, so that other threads go on. ``stage`` names what is
    compiled in the line on standard error. With `inline`, LLVM copies the code into each kernel
    that calls it: a call passes each array as seven numbers or more, which costs more than a short
    loop.
    """
    if function is None:
        return partial(kernel, stage=stage, inline=inline)
    return Kernel(function, stage, inline)
