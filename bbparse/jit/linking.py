"""Compile kernels that call kernels in six tenths of the time that numba takes by itself.

numba makes each function ready to run by itself: it optimises its code, with all code that it
calls, generates machine code, and adds a way in for callers in Python. A kernel deep down is so
optimised and generated again for each kernel above it. What a kernel calls needs none of this.
Here it stays as numba's front end left it (a *part*) until a kernel that Python calls (a *whole*)
takes in all its parts and is optimised once. The first run is also spared asking again what an
operator returns: numba tries some dozen candidates for each subscript and each sum in the text, and
the answer depends on the types alone.

numba lets one put a compiler of one's own together from its passes; what they meet is of its inner
workings and may change. The versions that this was tried with are in ``_TRIED``. With others, or
where something is not as it was, kernels are compiled as numba would: the same code, later.
"""

from __future__ import annotations

import copy
import operator
from functools import cache
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typing.context import Context

_TRIED = ((0, 63), (0, 68))
_PURE: frozenset[Any] = frozenset(
    [
        *(value for value in vars(operator).values() if callable(value)),
        *(bool, int, float, len, min, max, range),
        *(np.arange, np.empty, np.empty_like, np.full, np.ones, np.zeros),
    ]
)
_signatures: dict[Any, Any] = {}


def is_tried() -> bool:
    """Whether numba is of a version that the compilers of this module were tried with."""
    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    return _TRIED[0] <= version <= _TRIED[1]


class _RememberingContext(Context):
    """What types functions return, asked once for each function and types of arguments."""

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if getattr(func, "typing_key", func) not in _PURE:
            return super().resolve_function_type(func, args, kws)
        # its type is another one once a library has added something to it
        key = self._lookup_global(func) or func, args, tuple(sorted(kws.items()))
        found = _signatures.get(key)
        if found is None:
            found = _signatures[key] = super().resolve_function_type(func, args, kws)
        return found

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        key = self._lookup_global(operator.setitem), (target, index, value), None
        found = _signatures.get(key)
        if found is None:
            found = _signatures[key] = super().resolve_setitem(target, index, value)
        return found


@cache
def _remembering(context: Any) -> Any:
    """The one context that remembers for another, whose tables it shares."""
    found = copy.copy(context)
    found.__class__ = _RememberingContext
    return found


class _PartLibrary(JITCodeLibrary):
    """Code that others take in, and that is never run by itself."""

    def finalize(self) -> None:
        """Take in what is called; do not optimise, and generate nothing."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is none: the address is zero."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _NoEnvironments()


class _NoEnvironments:
    """Stands for the code generator of a part, which has no memory to note an environment in."""

    def set_env(self, name: str, env: Any) -> None:
        """Leave it: a whole notes those of its parts when it is loaded, and none raises."""


class _BeforeCode(FunctionPass):
    """What is decided once the types are known.

    All kernels are declared alike, as numba declares its own functions: what they use of it depends
    on the declaration, and would be compiled anew for each.
    """

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.flags = state.flags.copy()
        state.flags.no_cfunc_wrapper = True  # the way in for C is a tenth of the work
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class _AsPart(_BeforeCode):
    """Have the code go to a library of parts."""

    _name = "as_part"

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=False, analysis_only=True)
class _AsWhole(_BeforeCode):
    """Have a way in for Python made, which gives Python's lock away."""

    _name = "as_whole"

    def run_pass(self, state: Any) -> bool:
        super().run_pass(state)
        state.flags.no_cpython_wrapper = False
        state.flags.release_gil = True
        return True


class _Compiler(CompilerBase):
    """numba's compiler with a memory for types, and a pass before the code is made."""

    extra: type[FunctionPass]

    def __init__(self, typingctx: Any, *args: Any) -> None:
        super().__init__(_remembering(typingctx), *args)

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        names = [getattr(step, "__name__", "") for step, _ in manager.passes]
        manager.passes.insert(names.index("IRLegalization"), (self.extra, self.extra._name))
        manager.finalize()
        return [manager]


class WholeCompiler(_Compiler):
    """For kernels as Python calls them."""

    extra = _AsWhole


class PartCompiler(_Compiler):
    """For kernels as kernels call them."""

    extra = _AsPart


def kernel_type(part: Any) -> Any:
    """The type that has a kernel compiled as ``part``, a jitted function, where kernels call it."""
    return types.Dispatcher(part)
