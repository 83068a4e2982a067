"""How kernels are compiled: one decorator, so that all are compiled alike.

numba keeps compiled code as long as the file of a function stays as it is. But a kernel has the
code of the kernels that it calls in it, and the constants of other files: after an upgrade, one
that had not changed itself would go on with what it called before. So its code is kept as long as
all files of this project that its file imports, and theirs, stay as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache, cached_property, lru_cache, update_wrapper
from hashlib import sha256
from typing import Any

from numba import config, njit
from numba.core import serialize

try:
    from bbparse import jit_linking as linking
except (ImportError, AttributeError):  # numba has been rebuilt inside
    linking = None  # type: ignore[assignment]

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_IMPORT = re.compile(rb"^from ((?:bbparse|features)[\w.]*) import ([\w, ]*)", re.MULTILINE)

# numba looks up the dtype of each array that a kernel gives back by a Python function, and goes on
# if that fails. Python runs signal handlers at the start of a function: what they raise there, as
# Ctrl-C does, would be lost, or leave a null pointer behind. A cache is looked up without Python.
# numba reads the name once, when it first boxes an array.
if hasattr(serialize, "_numba_unpickle"):
    serialize._numba_unpickle = lru_cache(maxsize=None)(serialize._numba_unpickle)

_ALIKE = {"no_cpython_wrapper": True}  # what a kernel has besides, the compilers decide


class Kernel:
    """A function over arrays and scalars, compiled when it is first called.

    Python calls one compiled function, kernels another, which becomes a part of their own code
    (:mod:`bbparse.jit_linking`). Only the first is kept on disk, and has what numba's functions
    have: ``py_func``, ``signatures``, ``stats`` and so on.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._whole = _dated(
            njit(cache=True, pipeline_class=linking.WholeCompiler, **_ALIKE)(function)
        )
        update_wrapper(self, function)

    @cached_property
    def _part(self) -> Any:
        """The function that kernels call; once all is compiled, none is needed."""
        return njit(pipeline_class=linking.PartCompiler, **_ALIKE)(self._whole.py_func)

    @property
    def _numba_type_(self) -> Any:
        """How numba sees this in a kernel."""
        return linking.kernel_type(self._part)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return self._whole(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name == "_whole":  # not made yet
            raise AttributeError(name)
        return getattr(self._whole, name)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function over arrays and scalars when it is first called, once for a machine.

    Without the interpreter's lock, so that other threads go on; and without numba's way in for
    callers in C, of which there are none: it is a tenth of what the first run waits for.
    """
    if config.DISABLE_JIT:
        return function
    if linking is None or not linking.is_tried():
        return _dated(njit(cache=True, nogil=True, no_cfunc_wrapper=True)(function))
    return Kernel(function)


def inlined(function: Callable[..., Any]) -> Any:
    """The same for a few lines that are compiled anew into each kernel that calls them."""
    return _dated(njit(cache=True, nogil=True, inline="always")(function))


def _dated(compiled: Any) -> Any:
    """Have the cache of a jitted function look at the files it depends on."""
    # numba has no other way; where it is not as here, the cache looks at the function's file only
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp"):
        file._source_stamp = (file._source_stamp, _stamp(compiled.py_func.__code__.co_filename))
    return compiled


@cache
def _stamp(path: str) -> str:
    """What changes with any file of this project that a file imports, at any remove."""
    found: set[str] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting.extend(_read(file)[1])
    return sha256(b"".join(_read(file)[0] for file in sorted(found))).hexdigest()


@cache
def _read(file: str) -> tuple[bytes, list[str]]:
    """Digest of a source file, and where what it imports from this project may lie."""
    try:
        with open(file, "rb") as stream:
            content = stream.read()
    except OSError:  # no such module, or one in an archive
        return b"", []
    imported = []
    for module, names in _IMPORT.findall(content):
        place = os.path.join(_ROOT, *module.decode().split("."))
        imported.append(place + ".py")
        if os.path.isdir(place):  # a package, of which modules may be imported
            imported.append(os.path.join(place, "__init__.py"))
            for name in names.decode().split(","):
                imported.append(os.path.join(place, name.strip() + ".py"))
    return sha256(content).digest(), imported
