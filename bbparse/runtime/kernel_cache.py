"""Cache of compiled code on disk, valid as long as its sources do not change.

numba's cache depends only on the file of a function. But the code of a kernel includes the
functions that it calls and constants of other files. This cache depends on everything that a kernel
names, directly or indirectly, in this project or in a plug-in (:func:`fingerprint`).

numba also fails if there is no folder to write to. Here the code is then compiled for this process
alone, with one warning. A read-only folder is read.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import config
from numba.core import caching
from numba.core.runtime import rtsys

# Functions of these packages go by name: the version of numba is part of the cache key.
_FOREIGN = frozenset([*sys.stdlib_module_names, "numpy", "numba", "llvmlite", "scipy"])
# The file that decides how kernels are compiled.
_COMPILER = sha256(Path(__file__).with_name("linking.py").read_bytes()).hexdigest()
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


def _also_read_only(locator: Any) -> Any:
    """Return a locator that accepts a folder with code of the function even if it is read-only."""

    class Locator(locator):
        def ensure_cache_path(self) -> None:
            index = f"{Path(self._py_file).stem}.*-{self.get_disambiguator()}.py*.nbi"
            if not any(Path(self.get_cache_path()).glob(index)):
                super().ensure_cache_path()

    return Locator


class _Place(caching.CompileResultCacheImpl):
    _locator_classes = [  # noqa: RUF012
        _also_read_only(locator) for locator in caching.CompileResultCacheImpl._locator_classes
    ]

    def reduce(self, data: Any) -> Any:
        """Return what is stored: of LLVM's code only names, since no other kernel includes it."""
        (name, kind, (machine_code, bitcode)), *others = super().reduce(data)
        module = llvm.parse_bitcode(bitcode)
        symbols = [x for x in (*module.functions, *module.global_variables) if x.name[0] != "."]
        lines = [f'@"{x.name}" = global i8 0\n' for x in symbols if not x.is_declaration]
        names = llvm.parse_assembly("".join(lines))
        return (name, kind, (machine_code, names.as_bitcode())), *others


class _KernelCache(caching.FunctionCache):
    """Cache of one function, stamped with its fingerprint.

    It also names the files of ``python -O``, of code that checks its indices, and of functions that
    one text makes over different variables, which would replace each other.
    """

    _impl_class = _Place

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        stamp, name = fingerprint(function), self._impl.filename_base
        if function.__closure__ or config.BOUNDSCHECK or sys.flags.optimize:
            name += f".{stamp[:8]}"
        self._cache_file = caching.IndexDataCacheFile(self._cache_path, name, stamp)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code for a signature; None if there is none."""
        try:
            # All that loading needs of `refresh`, which takes longer than all the rest.
            rtsys.initialize(target_context)
            found = self._load_overload(sig, target_context)
            # Processes that compile at the same time may have given two files one name.
            return found if found is None or found.signature.args == sig else None
        except (OSError, EOFError, UnpicklingError, AttributeError, ImportError):
            with suppress(OSError):  # a file of another user, cut off, or of an older version
                self.flush()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code, if possible."""
        try:
            super().save_overload(sig, data)
        except OSError:
            _warn()


def cache_of(function: FunctionType) -> Any:
    """Return the cache of a function; one that holds nothing if there is no folder for it."""
    try:
        return _KernelCache(function)
    except (RuntimeError, OSError):  # numba raises RuntimeError without a folder
        _warn()
        return caching.NullCache()


@cache  # once in a process
def _warn() -> None:
    text = (
        "compiled code cannot be cached, so every run compiles again: set NUMBA_CACHE_DIR to a"
        " writable folder on a disk with room"
    )
    warnings.warn_explicit(text, RuntimeWarning, "bbparse", 0)


def fingerprint(function: FunctionType) -> str:
    """Return a digest of a function's code and of everything that it names, directly or indirectly.

    That is bytecode, constants, defaults and options of functions; those of numpy, numba and the
    standard library count as constant.
    """
    texts: dict[FunctionType, str] = {}
    waiting = [function]
    while waiting:
        inner = waiting.pop()
        if inner not in texts:
            texts[inner], *below = _contents(inner)
            waiting += below
    pieces = sorted([*texts.values(), _COMPILER, f"checked: {config.BOUNDSCHECK}"])
    return sha256("".join(pieces).encode()).hexdigest()


@cache
def _contents(function: FunctionType) -> tuple[Any, ...]:
    """Return a digest of a function's text and constants, and the functions that it names."""
    codes = [function.__code__]
    for i, code in enumerate(codes):  # and the functions inside of it
        codes[i + 1 : i + 1] = [part for part in code.co_consts if isinstance(part, CodeType)]
    names = sorted({name for code in codes for name in code.co_names})
    overloads = vars(function).get("overloads", ())  # that numba calls in its place
    values: list[Any] = [function.__qualname__, function.__defaults__, *overloads]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    values += [function.__globals__[name] for name in names if name in function.__globals__]
    for code in codes:
        values.append((code.co_code, code.co_names, code.co_varnames))
        values += [value for value in code.co_consts if not isinstance(value, CodeType)]
    text: list[str] = []
    functions: list[FunctionType] = []
    modules: set[ModuleType] = set()
    waiting: list[Any] = [values]
    while waiting:
        value = waiting.pop()
        inner = getattr(value, "py_func", None) or getattr(value, "_defn", value)
        if isinstance(inner, FunctionType):  # perhaps jitted, or an intrinsic
            options = sorted(getattr(value, "targetoptions", {}).items())
            text.append(f"{inner.__module__}:{inner.__qualname__}{options}")
            if str(inner.__module__).partition(".")[0] not in _FOREIGN:
                functions.append(inner)
        elif isinstance(value, tuple | list):
            waiting += [*value, f"{type(value).__qualname__} of {len(value)}"]
        elif isinstance(value, dict):
            waiting.append(list(value.items()))
        elif isinstance(value, _PLAIN):
            text.append(f"{type(value).__name__} {value!r}")
        elif isinstance(value, type):
            text.append(f"{value.__module__}:{value.__qualname__}{getattr(value, '_fields', '')}")
        elif isinstance(value, np.ndarray):
            text.append(f"{value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}")
        else:
            text.append(getattr(value, "__name__", type(value).__qualname__))
            if isinstance(value, ModuleType) and value not in modules:
                modules.add(value)
                if value.__name__.partition(".")[0] not in _FOREIGN:  # what is named of it
                    waiting += [vars(value)[name] for name in names if name in vars(value)]
    return sha256("\n".join(text).encode()).hexdigest(), *functions
