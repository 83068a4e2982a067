"""Compiled code on disk, as long as it is what its sources say.

numba keeps the code of a function as long as the function's file stays as it is. But a kernel has
the code of what it calls in it, and the constants of other files: after an upgrade, one that had
not changed itself would go on with what it called before. Here code is kept as long as the kernel
and all that it names stay as they are (:func:`fingerprint`), be they of this project or of a
plug-in: bytecode, constants, defaults and options of every function at any remove.

Nor does numba go on where it finds no place to write. Here the code is then compiled for this
process alone, and one warning says so. A place that can be read only is read.
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

# Their functions are named, not read: numba's version is a part of what the cache looks at.
_FOREIGN = frozenset([*sys.stdlib_module_names, "numpy", "numba", "llvmlite", "scipy"])
_OPTIONS = ("boundscheck", "error_model", "fastmath", "inline", "parallel")
# Cut off; or of another version, with types that there are no longer.
_UNREADABLE = (EOFError, UnpicklingError, AttributeError, ImportError)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


class KernelCache(caching._Cache):
    """The cache of one jitted function, which looks for its place when it is first asked.

    Parameters
    ----------
    compiled : jitted function
    slow : str
        Why compiling takes longer than it might; said when something is compiled.
    """

    def __init__(self, compiled: Any, slow: str = "") -> None:
        self._function = compiled.py_func
        self._slow = slow

    @cached_property
    def _files(self) -> _Files | None:
        try:
            return _Files(self._function)
        except (RuntimeError, OSError) as error:  # numba's word for no place at all
            _no_cache(error)
            return None

    @property
    def cache_path(self) -> str | None:
        """The folder, None if there is none."""
        return self._files.cache_path if self._files else None

    @property
    def is_filled(self) -> bool:
        """Whether there is code that is up to date, for whatever types of arguments."""
        try:
            return bool(self._files and self._files._cache_file._load_index())
        except (OSError, *_UNREADABLE):
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code for a signature, None if there is none."""
        found = None
        try:
            if self._files:
                found = self._files.load_overload(sig, target_context)
        except OSError:  # of another user
            pass
        except _UNREADABLE:
            with suppress(OSError):
                self.flush()
        if found is None and self._slow:
            _warn(f"{self._slow}: compiling takes longer, once")
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if that can be done."""
        try:
            if self._files:
                self._files.save_overload(sig, data)
        except OSError as error:
            _no_cache(error)

    def enable(self) -> None:
        """Keep code: it is what this always does."""

    def disable(self) -> None:
        """Stop keeping code of this function."""
        self._files = None

    def flush(self) -> None:
        """Forget what is kept."""
        if self._files:
            self._files.flush()


def _no_cache(error: Exception) -> None:
    _warn(
        f"compiled code cannot be kept ({error}), so every run compiles anew: set NUMBA_CACHE_DIR "
        "to a folder that can be written"
    )


@cache
def _warn(text: str) -> None:
    """Say something once."""
    warnings.warn_explicit(text, RuntimeWarning, "bbparse", 0)


# --- files ---------------------------------------------------------------------------------------


def _also_read_only(locator: Any) -> Any:
    """A locator that also takes a folder that cannot be written, but has code of the function."""

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
    """numba's cache, whose entries are dated by what the function is made of."""

    _impl_class = _Place

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = fingerprint(function)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Functions made by one text over different others lie in one file, each by itself, and so
        does code that checks its indices (NUMBA_BOUNDSCHECK)."""
        checked = " with bounds checked" if config.BOUNDSCHECK else ""
        return sig, codegen.magic_tuple(), _closed_over(self._py_func) + checked


# --- what a function is made of ------------------------------------------------------------------


def fingerprint(function: FunctionType) -> str:
    """What changes with the code of a function or anything that it names, at any remove.

    But for what it is closed over. Functions of numpy, numba and the standard library count as
    unchanging.
    """
    made = _made_of(function)
    return _digest([made.text, _compilers()], made.named)


def _closed_over(function: FunctionType) -> str:
    """The same for what a function is closed over."""
    made = _made_of(function)
    return _digest([made.cells], made.closed_over)


def _digest(pieces: list[str], functions: Iterable[FunctionType]) -> str:
    reached: set[FunctionType] = set()
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if function not in reached:
            reached.add(function)
            made = _made_of(function)
            pieces.append(made.text + made.cells)
            waiting += [*made.named, *made.closed_over]
    return sha256("".join(sorted(pieces)).encode()).hexdigest()


class _Made:
    """Digests of a function's own text and constants, and the functions that it names."""

    def __init__(self, function: FunctionType) -> None:
        codes = list(_codes(function.__code__))
        names = frozenset(name for code in codes for name in code.co_names)
        known = function.__globals__
        values: list[Any] = [known[name] for name in sorted(names) if name in known]
        for code in codes:
            values.append((code.co_code, code.co_names, code.co_varnames))
            values += [value for value in code.co_consts if not isinstance(value, CodeType)]
        values += [function.__defaults__, *_overloads(len(builtin_registry.globals))[function]]
        self.text, self.named = _described([function.__qualname__, *values], names)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self.cells, self.closed_over = _described(cells, names)


_made_of: Callable[[FunctionType], _Made] = cache(_Made)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _described(values: Any, names: frozenset[str]) -> tuple[str, list[FunctionType]]:
    """Digest of values, and the functions among them; of modules, what the names stand for."""
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
        elif isinstance(function := getattr(value, "py_func", value), FunctionType):
            text.append(f"{function.__module__}:{function.__qualname__}{_options(value)}")
            if not _is_foreign(function.__module__):
                functions.append(function)
        else:
            text.append(type(value).__qualname__)
    return sha256("\n".join(text).encode()).hexdigest(), functions


def _options(compiled: Any) -> str:
    options = getattr(compiled, "targetoptions", {})
    return "".join(f" {name}={options[name]!r}" for name in _OPTIONS if name in options)


def _is_foreign(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _FOREIGN


@cache
def _overloads(n_known: int) -> defaultdict[Any, list[FunctionType]]:
    """What stands for functions in kernels by `numba.extending.overload`, outside of numba."""
    found: defaultdict[Any, list[FunctionType]] = defaultdict(list)
    for function, type_ in builtin_registry.globals[:n_known]:
        for template in getattr(type_, "templates", ()):
            chosen = getattr(template, "_overload_func", None)
            if isinstance(chosen, FunctionType) and not _is_foreign(chosen.__module__):
                found[function].append(chosen)
    return found


@cache
def _compilers() -> str:
    """Digest of how kernels are compiled."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
