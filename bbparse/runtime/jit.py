"""Compilation of kernels: one decorator, so that all are compiled alike.

The code of a kernel includes the kernels that it calls and the constants that they read.
`runtime.kernel_cache` stores compiled code on disk for as long as none of these changes, in
whatever package they are. :mod:`bbparse.runtime.linking` compiles kernels that call kernels faster;
:mod:`bbparse.runtime.signals` keeps signals from being lost during compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

from numba import config, njit

from bbparse.runtime.kernel_cache import KernelCache
from bbparse.runtime.signals import undisturbed

try:
    from bbparse.runtime import linking
except (ImportError, AttributeError):  # numba's internals have changed
    linking = None  # type: ignore[assignment]

__all__ = ["Kernel", "inlined", "kernel", "plain"]

_ALIKE = {"no_cpython_wrapper": True}  # the compilers decide on all other wrappers


class Kernel:
    """A function over arrays and scalars, compiled when it is first called.

    Python calls one compiled function. Other kernels call another, which becomes part of their own
    code (`runtime.linking`). Only the first is stored on disk, and has the attributes of
    numba's functions: ``py_func``, ``signatures``, ``stats`` and so on.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._whole = _kept(njit(pipeline_class=linking.WholeCompiler, **_ALIKE)(function))
        update_wrapper(self, function)

    @cached_property
    def _part(self) -> Any:
        """Function that kernels call; not needed once everything is compiled."""
        part = njit(pipeline_class=linking.PartCompiler, **_ALIKE)(self._whole.py_func)
        return linking.for_any_number(part)

    @property
    def _numba_type_(self) -> Any:
        """Type of this kernel for numba, inside kernels."""
        return linking.kernel_type(self._part)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function.

        Python runs signal handlers in the main thread as soon as the function ends, before its
        result exists. An exception from them arrives as the cause of a SystemError, or of several.
        """
        try:
            return self._whole(*arguments)
        except SystemError as error:
            raise _first_cause(error) from None

    def __getattr__(self, name: str) -> Any:
        if name == "_whole":  # before __init__ has set it
            raise AttributeError(name)
        return getattr(self._whole, name)


def _first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function over arrays and scalars when it is first called, once for a machine.

    It runs without the interpreter lock, so that other threads go on. It has no wrapper for callers
    in C, of which there are none: that wrapper takes a tenth of the first run.
    """
    if config.DISABLE_JIT:
        return function
    if linking is None or not linking.is_tried():
        slow = "this version of numba is not among those that kernels are compiled faster with"
        return _kept(njit(nogil=True, no_cfunc_wrapper=True)(function), slow)
    return Kernel(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a few lines that are inlined into each kernel that calls them."""
    return _kept(njit(nogil=True, inline="always")(function))


def plain(value: Any) -> Any:
    """Convert named tuples, at any depth, to plain ones, which Python passes to kernels.

    For each named tuple numba looks up the type in Python, which takes two microseconds; for a
    plain one it takes none. Kernels name the fields again where they read them by name.
    """
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def _kept(compiled: Any, slow: str = "") -> Any:
    """Store the code of a jitted function on disk, and compile it undisturbed."""
    if not config.DISABLE_JIT:
        compiled._cache = KernelCache(compiled, slow)
        compiled.compile = undisturbed(compiled.compile)
    return compiled
