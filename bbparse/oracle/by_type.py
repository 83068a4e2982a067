"""Kernels that the type of their first argument selects, so that what calls them is written once.

A kernel over oracles, as the one that bounds a node, is compiled for each type of oracle that it is
called with, and takes in only the kernels of that type: nobody waits for an oracle he does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba import config
from numba.extending import overload

from bbparse.jit import Kernel, linking


def by_type(kernels: Mapping[type, Any]) -> Callable[..., Any]:
    """One name for several kernels, for use in kernels as one of them.

    They are given by the NamedTuple class of their first parameter, and have as many parameters;
    one that always gives the same is given by what it gives.
    What calls them must import, by and by, the files of all, so that cached code is made anew when
    one of them changes.
    """

    def call(first: Any, *others: Any) -> Any:
        chosen = kernels[type(first)]
        return chosen(first, *others) if callable(chosen) else chosen

    if config.DISABLE_JIT:
        return call

    def choose(first: Any, *others: Any) -> Any:
        of: type = getattr(first, "instance_class", type(None))
        if of not in kernels:
            return None
        chosen = kernels[of]
        return chosen.py_func if callable(chosen) else lambda first, *others: chosen

    options: dict[str, Any] = {"nopython": True}
    if any(isinstance(chosen, Kernel) for chosen in kernels.values()):
        # as kernels are compiled for kernels: see `linking`
        options |= {"pipeline_class": linking.PartCompiler, "no_cpython_wrapper": True}
    overload(call, jit_options=options, strict=False)(choose)
    return call
