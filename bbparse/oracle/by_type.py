"""Kernels that are selected by the type of their first argument, so that callers are written once.

A kernel over oracles, such as the one that bounds a node, is compiled for each type of oracle that
it is called with, and includes only the kernels of that type: nobody waits for an oracle that is
not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba import config
from numba.extending import overload

from bbparse.jit import Kernel, linking


def by_type(kernels: Mapping[type, Any]) -> Callable[..., Any]:
    """Make one name for several kernels, for use in other kernels.

    ``kernels`` has by the NamedTuple class of the first parameter a kernel, or the constant that it
    would return; all take as many parameters. Callers must import, directly or indirectly, the
    files of all kernels, so that cached code is compiled again when one of them changes.
    """

    def call(first: Any, *rest: Any) -> Any:
        implementation = kernels[type(first)]
        return implementation(first, *rest) if callable(implementation) else implementation

    if config.DISABLE_JIT:
        return call

    def choose(first: Any, *rest: Any) -> Any:
        class_: type = getattr(first, "instance_class", type(None))
        if class_ not in kernels:
            return None
        implementation = kernels[class_]
        return (
            implementation.py_func
            if callable(implementation)
            else lambda first, *rest: implementation
        )

    options: dict[str, Any] = {"nopython": True}
    if any(isinstance(implementation, Kernel) for implementation in kernels.values()):
        # as kernels are compiled for kernels: see `linking`
        options |= {"pipeline_class": linking.PartCompiler, "no_cpython_wrapper": True}
    overload(call, jit_options=options, strict=False)(choose)
    return call
