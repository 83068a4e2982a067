"""How kernels are compiled: one decorator, so that all are compiled alike.

A kernel has the code of the kernels that it calls in it, and the constants that they read.
:mod:`bbparse.jit.cache` keeps compiled code on disk as long as none of these changes, whosever
package they are in; :mod:`bbparse.jit.linking` has kernels that call kernels compiled sooner and
with less ado, :mod:`bbparse.jit.lowering` into less code; :mod:`bbparse.parsing.compiling` has
another process compile, too; :mod:`bbparse.jit.stack` has room for a compiler's many calls;
:mod:`bbparse.jit.signals` has no signal lost while they are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

from numba import config, njit

from bbparse.jit.cache import KernelCache
from bbparse.jit.signals import with_signals_held
from bbparse.jit.stack import with_room

try:
    from bbparse.jit import linking
except (ImportError, AttributeError):  # numba has been rebuilt inside
    linking = None  # type: ignore[assignment]

__all__ = ["Kernel", "inlined", "kernel", "plain"]

_ALIKE = {"no_cpython_wrapper": True}  # what a kernel has besides, the compilers decide


class Kernel:
    """A function over arrays and scalars, compiled when it is first called.

    Python calls one compiled function, kernels another, which becomes a part of their own code
    (:mod:`bbparse.jit.linking`). Only the first is kept on disk, and has what numba's functions
    have: ``py_func``, ``signatures``, ``stats`` and so on.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._whole = _kept(njit(pipeline_class=linking.WholeCompiler, **_ALIKE)(function))
        update_wrapper(self, function)

    @cached_property
    def _part(self) -> Any:
        """The function that kernels call; once all is compiled, none is needed."""
        part = njit(pipeline_class=linking.PartCompiler, **_ALIKE)(self._whole.py_func)
        return linking.for_any_number(part)

    @property
    def _numba_type_(self) -> Any:
        """How numba sees this in a kernel."""
        return linking.kernel_type(self._part)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function.

        Python runs signal handlers in the main thread as soon as the function is done, before what
        it returns is. What they raise comes as the cause of a SystemError, or of several.
        """
        try:
            return self._whole(*arguments)
        except SystemError as error:
            raise _first_cause(error) from None

    def __getattr__(self, name: str) -> Any:
        if name == "_whole":  # not made yet
            raise AttributeError(name)
        return getattr(self._whole, name)


def _first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function over arrays and scalars when it is first called, once for a machine.

    Without the interpreter's lock, so that other threads go on; and without numba's way in for
    callers in C, of which there are none: it is a tenth of what the first run waits for.
    """
    if config.DISABLE_JIT:
        return function
    if linking is None or not linking.is_tried():
        slow = "this version of numba is not among those that kernels are compiled faster with"
        return _kept(njit(nogil=True, no_cfunc_wrapper=True)(function), slow)
    return Kernel(function)


def inlined(function: Callable[..., Any]) -> Any:
    """The same for a few lines that are compiled anew into each kernel that calls them."""
    return _kept(njit(nogil=True, inline="always")(function))


def plain(value: Any) -> Any:
    """Named tuples, at any depth, as plain ones: what Python hands to kernels.

    numba looks up the type of each named one in Python, which takes two microseconds; that of a
    plain one takes none. Kernels name them again where they read them by name.
    """
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def _kept(compiled: Any, slow: str = "") -> Any:
    """Have the code of a jitted function kept on disk, and compiled where there is room."""
    if not config.DISABLE_JIT:
        compiled._cache = KernelCache(compiled, slow)
        compiled.compile = with_room(with_signals_held(compiled.compile))
    return compiled
