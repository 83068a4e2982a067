"""Cache of compiled code on disk, valid as long as its sources do not change.

numba's cache depends only on the file of a function. But the code of a kernel includes the
functions that it calls and constants of other files: after an upgrade, an unchanged kernel would
continue to use old code. This cache is valid as long as the kernel and everything that it names
stay the same (:func:`fingerprint`), in this project or in a plug-in: bytecode, constants, defaults
and options of every function, however indirectly it is called.

numba also fails if there is no folder to write to. Here the code is then compiled for this process
alone, with one warning. A read-only folder is read.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import config
from numba.core import caching
from numba.core.typing.templates import builtin_registry

__all__ = ["cache_of", "fingerprint"]

# Functions of these packages go by name: the version of numba is part of the cache key.
_FOREIGN = frozenset([*sys.stdlib_module_names, "numpy", "numba", "llvmlite", "scipy"])
# Errors of files that are truncated, or have types of another version.
_UNREADABLE = (EOFError, UnpicklingError, AttributeError, ImportError)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


def _also_read_only(locator: Any) -> Any:
    """Return a locator that also accepts a read-only folder, if it has code of the function."""

    class Locator(locator):
        def ensure_cache_path(self) -> None:
            try:
                super().ensure_cache_path()
            except OSError:
                name = Path(getattr(self, "_py_file", "")).stem
                index = f"{name}.*-{self.get_disambiguator()}.py*.nbi"
                if not any(Path(self.get_cache_path()).glob(index)):
                    raise

    return Locator


class _Place(caching.CompileResultCacheImpl):
    _locator_classes = [  # noqa: RUF012
        _also_read_only(locator) for locator in caching.CompileResultCacheImpl._locator_classes
    ]


class _KernelCache(caching.FunctionCache):
    """Cache of one jitted function; ``announce`` is called if there is no code of it.

    Entries are stamped with the fingerprint of the function. It also names the files of ``python
    -O``, of code that checks its indices, and of functions that one text makes over different
    variables, which would replace each other.
    """

    _impl_class = _Place

    def __init__(self, function: FunctionType, announce: Callable[[], None]) -> None:
        super().__init__(function)
        self._announce = announce
        stamp, name = fingerprint(function), self._impl.filename_base
        if function.__closure__ or config.BOUNDSCHECK or sys.flags.optimize:
            name += f".{stamp[:8]}"
        self._cache_file = caching.IndexDataCacheFile(self._cache_path, name, stamp)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code for a signature; None if there is none."""
        code = None
        try:
            code = super().load_overload(sig, target_context)
        except OSError:  # files of another user
            pass
        except _UNREADABLE:
            with suppress(OSError):
                self.flush()
        if code is None:
            self._announce()
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code, if possible."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn_once(error)


class _NoCache(caching.NullCache):
    """Stand-in for a cache without a folder."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce

    def load_overload(self, sig: Any, target_context: Any) -> None:
        self._announce()


def cache_of(function: FunctionType, announce: Callable[[], None]) -> Any:
    """Return the cache of a function, which calls `announce` before it is compiled."""
    try:
        return _KernelCache(function, announce)
    except (RuntimeError, OSError) as error:  # numba raises RuntimeError without a folder
        _warn_once(error)
        return _NoCache(announce)


_warned: list[OSError | RuntimeError] = []


def _warn_once(error: OSError | RuntimeError) -> None:
    """Warn, whatever function comes first."""
    _warned.append(error)
    if len(_warned) == 1:
        warnings.warn_explicit(
            f"compiled code cannot be cached ({error}), so every run compiles again: set"
            " NUMBA_CACHE_DIR to a writable folder", RuntimeWarning, "bbparse", 0,
        )  # fmt: skip


def fingerprint(function: FunctionType) -> str:
    """Return a digest of a function's code and of everything that it names, directly or indirectly.

    Functions of numpy, numba and the standard library count as constant.
    """
    text, *waiting = _contents(function)
    pieces, reached = [text, _compiler(), f"checked: {config.BOUNDSCHECK}"], {function}
    while waiting:
        inner = waiting.pop()
        if inner not in reached:
            reached.add(inner)
            text, *below = _contents(inner)
            pieces.append(text)
            waiting += below
    return sha256("".join(sorted(pieces)).encode()).hexdigest()


@cache
def _compiler() -> str:
    """Return a digest of the file that decides how kernels are compiled."""
    return sha256(Path(__file__).with_name("linking.py").read_bytes()).hexdigest()


@cache
def _contents(function: FunctionType) -> tuple[Any, ...]:
    """Return a digest of a function's own text and constants, and the functions that it names."""
    codes = list(_codes(function.__code__))
    names = sorted({name for code in codes for name in code.co_names})
    values: list[Any] = [function.__qualname__, function.__defaults__, *_overloads(function)]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    values += [function.__globals__[name] for name in names if name in function.__globals__]
    for code in codes:
        values.append((code.co_code, code.co_names, code.co_varnames))
        values += [value for value in code.co_consts if not isinstance(value, CodeType)]
    text: list[str] = []
    functions: list[FunctionType] = []
    for value in _flat(values, names):
        inner = getattr(value, "py_func", getattr(value, "_defn", value))
        if isinstance(inner, FunctionType):  # perhaps jitted, or an intrinsic
            options = sorted(getattr(value, "targetoptions", {}).items())
            text.append(f"{inner.__module__}:{inner.__qualname__}{options}")
            if not _is_foreign(inner.__module__):
                functions.append(inner)
        elif isinstance(value, _PLAIN):
            text.append(f"{type(value).__name__} {value!r}")
        elif isinstance(value, type):
            text.append(f"{value.__module__}:{value.__qualname__}{getattr(value, '_fields', '')}")
        elif isinstance(value, np.ndarray):
            text.append(f"{value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}")
        else:
            text.append(getattr(value, "__name__", type(value).__qualname__))
    return sha256("\n".join(text).encode()).hexdigest(), *functions


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _flat(values: list[Any], names: list[str]) -> Iterator[Any]:
    """Yield values and their members; of modules, what is named."""
    modules: set[ModuleType] = set()
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, set | frozenset):
            value = sorted(value, key=repr)
        elif isinstance(value, dict):
            value = list(value.items())
        elif isinstance(value, ModuleType) and value not in modules:
            modules.add(value)
            if not _is_foreign(value.__name__):
                waiting += [vars(value)[name] for name in names if name in vars(value)]
        if isinstance(value, tuple | list):
            yield f"{type(value).__qualname__} of {len(value)}"
            waiting += value
        else:
            yield value


def _is_foreign(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _FOREIGN


def _overloads(function: FunctionType) -> list[FunctionType]:
    """Return the functions that replace one in kernels by `numba.extending.overload`."""
    types = [type_ for known, type_ in builtin_registry.globals if known is function]
    templates = [template for type_ in types for template in getattr(type_, "templates", ())]
    return [template._overload_func for template in templates]
