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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core import caching, config
from numba.core.typing.templates import builtin_registry

__all__ = ["KernelCache", "fingerprint"]

# Functions of these packages go by name: the version of numba is part of the cache key.
_FOREIGN = frozenset([*sys.stdlib_module_names, "numpy", "numba", "llvmlite", "scipy"])
_OPTIONS = ("boundscheck", "error_model", "fastmath", "inline", "parallel")
# Errors of files that are truncated, or have types of another version.
_UNREADABLE = (EOFError, UnpicklingError, AttributeError, ImportError)
_COMPILERS = ("jit", "kernel_cache", "linking", "lowering", "signals")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


class KernelCache(caching._Cache):
    """Cache of one jitted function, which chooses its folder on first use.

    Parameters
    ----------
    compiled : jitted function
    slow : str
        Why compilation takes longer than it could; shown as a warning when something is compiled.
    """

    def __init__(self, compiled: Any, slow: str = "") -> None:
        self._function = compiled.py_func
        self._slow = slow

    @cached_property
    def _files(self) -> _Files | None:
        try:
            return _Files(self._function)
        except (RuntimeError, OSError) as error:  # numba raises RuntimeError without a folder
            _no_cache(error)
            return None

    @property
    def cache_path(self) -> str | None:
        """Folder of the cache; None if there is none."""
        return self._files.cache_path if self._files else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code for a signature; None if there is none."""
        code = None
        try:
            if self._files:
                code = self._files.load_overload(sig, target_context)
        except OSError:  # files of another user
            pass
        except _UNREADABLE:
            with suppress(OSError):
                self.flush()
        if code is None and self._slow:
            _warn(f"{self._slow}: compiling takes longer, once")
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code, if possible."""
        try:
            if self._files:
                self._files.save_overload(sig, data)
        except OSError as error:
            _no_cache(error)

    def enable(self) -> None:
        """Do nothing: the cache is always enabled."""

    def disable(self) -> None:
        """Stop storing code of this function."""
        self._files = None

    def flush(self) -> None:
        """Delete the stored code."""
        if self._files:
            self._files.flush()


def _no_cache(error: Exception) -> None:
    _warn(
        "compiled code cannot be kept, so every run compiles anew: set NUMBA_CACHE_DIR to a folder"
        " that can be written",
        f" ({error})",
    )


_warned: set[str] = set()


def _warn(text: str, first_reason: str = "") -> None:
    """Warn once of a text, with the reason of the first time."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn_explicit(text + first_reason, RuntimeWarning, "bbparse", 0)


# --- files ---------------------------------------------------------------------------------------


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


class _Files(caching.FunctionCache):
    """Cache of numba, whose entries are stamped with the fingerprint of the function."""

    _impl_class = _Place

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = fingerprint(function)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Return the key of an entry, which includes closures and bounds checks.

        Functions that one text makes over different variables share a file, but not their entries.
        Code that checks its indices (NUMBA_BOUNDSCHECK) has entries of its own.
        """
        checked = " with bounds checked" if config.BOUNDSCHECK else ""
        return sig, codegen.magic_tuple(), _closed_over(self._py_func) + checked


# --- fingerprints of functions ------------------------------------------------------------------


def fingerprint(function: FunctionType) -> str:
    """Return a digest of a function's code and of everything that it names, directly or indirectly.

    Variables that it is closed over are excluded. Functions of numpy, numba and the standard
    library count as constant.
    """
    contents = _contents_of(function)
    return _digest([contents.text, _compilers()], contents.named)


def _closed_over(function: FunctionType) -> str:
    """Return a digest of the variables that a function is closed over."""
    contents = _contents_of(function)
    return _digest([contents.cells], contents.closed_over)


def _digest(pieces: list[str], functions: Iterable[FunctionType]) -> str:
    reached: set[FunctionType] = set()
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if function not in reached:
            reached.add(function)
            contents = _contents_of(function)
            pieces.append(contents.text + contents.cells)
            waiting += [*contents.named, *contents.closed_over]
    return sha256("".join(sorted(pieces)).encode()).hexdigest()


class _Contents:
    """Digests of a function's own text and constants, and the functions that it names."""

    def __init__(self, function: FunctionType) -> None:
        codes = list(_codes(function.__code__))
        names = frozenset(name for code in codes for name in code.co_names)
        scope = function.__globals__
        values: list[Any] = [scope[name] for name in sorted(names) if name in scope]
        for code in codes:
            values.append((code.co_code, code.co_names, code.co_varnames))
            values += [value for value in code.co_consts if not isinstance(value, CodeType)]
        values += [function.__defaults__, *_overloads(len(builtin_registry.globals))[function]]
        self.text, self.named = _described([function.__qualname__, *values], names)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self.cells, self.closed_over = _described(cells, names)


_contents_of: Callable[[FunctionType], _Contents] = cache(_Contents)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _described(values: Any, names: frozenset[str]) -> tuple[str, list[FunctionType]]:
    """Return a digest of values, and the functions among them; of modules, only what is named."""
    text: list[str] = []
    functions: list[FunctionType] = []
    waiting = [values]
    modules: set[str] = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, _PLAIN):
            text.append(f"{type(value).__name__} {value!r}")
        elif isinstance(value, ModuleType):
            text.append(value.__name__)
            if not _is_foreign(value.__name__) and value.__name__ not in modules:
                modules.add(value.__name__)
                waiting += [vars(value)[name] for name in sorted(names) if name in vars(value)]
        elif isinstance(value, type):
            text.append(f"{value.__module__}:{value.__qualname__}{getattr(value, '_fields', '')}")
        elif isinstance(value, np.ndarray):
            text.append(f"{value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}")
        elif isinstance(value, set | frozenset):
            waiting.append(sorted(value, key=repr))
        elif isinstance(value, dict):
            waiting.append(list(value.items()))
        elif isinstance(value, tuple | list):
            text.append(f"{type(value).__qualname__} of {len(value)}")
            waiting += value
        elif isinstance(function := _python_of(value), FunctionType):
            text.append(f"{function.__module__}:{function.__qualname__}{_options(value)}")
            if not _is_foreign(function.__module__):
                functions.append(function)
        else:
            text.append(type(value).__qualname__)
    return sha256("\n".join(text).encode()).hexdigest(), functions


def _python_of(value: Any) -> Any:
    """Return the Python function of a jitted function, or of an intrinsic."""
    return getattr(value, "py_func", getattr(value, "_defn", value))


def _options(compiled: Any) -> str:
    options = getattr(compiled, "targetoptions", {})
    return "".join(f" {name}={options[name]!r}" for name in _OPTIONS if name in options)


def _is_foreign(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _FOREIGN


@cache
def _overloads(n_known: int) -> defaultdict[Any, list[FunctionType]]:
    """Return the functions that replace others in kernels by `numba.extending.overload`.

    Those of numba itself are left out.
    """
    overloads_of: defaultdict[Any, list[FunctionType]] = defaultdict(list)
    for function, type_ in builtin_registry.globals[:n_known]:
        for template in getattr(type_, "templates", ()):
            overload = getattr(template, "_overload_func", None)
            if isinstance(overload, FunctionType) and not _is_foreign(overload.__module__):
                overloads_of[function].append(overload)
    return overloads_of


@cache
def _compilers() -> str:
    """Return a digest of the files that decide how kernels are compiled."""
    files = [Path(__file__).with_name(f"{name}.py") for name in _COMPILERS]
    return sha256(b"".join(file.read_bytes() for file in files if file.exists())).hexdigest()
