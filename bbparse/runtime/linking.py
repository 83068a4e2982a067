"""Compile kernels that call kernels in 0.63 of the time that numba takes.

numba re-optimizes a callee once per caller, and generates code and an entry point for Python each
time. Here, a callee stays much as numba's front end left it (a *part*), until a kernel that Python
calls (a *whole*) includes all its parts and is optimized once. This depends on numba's internals:
`pyproject.toml` limits its version.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from llvmlite.binding.newpassmanagers import create_new_function_pass_manager
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.types.containers import Tuple, UniTuple
from numba.core.types.misc import unliteral

#: Stands for the code generator of a part: a whole sets environments when it is loaded.
_NO_ENVIRONMENTS = SimpleNamespace(set_env=lambda name, env: None)
_NUMBERS = (types.IntegerLiteral, types.BooleanLiteral, Tuple, UniTuple)


class _WholeLibrary(JITCodeLibrary):
    def _optimize_functions(self, ll_module: Any) -> None:
        """Make the code smaller by cheap passes; everything is optimised when it is linked."""
        ll_module.data_layout = self._codegen._data_layout
        builder, passes = self._codegen._pass_builder(), create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class _PartLibrary(_WholeLibrary):
    """Code library of a part: made ready to run only if it has an entry point for Python."""

    _runs = False

    def finalize(self) -> None:
        """Link what is called; do not optimise, and generate no machine code."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return an address for Python; zero without an entry point, as in all parts of kernels."""
        self._ensure_finalized()
        if not self._runs:
            try:
                if self._final_module.get_function(name).is_declaration:
                    return 0
            except NameError:
                return 0
            self._runs = True  # a jitted function from another package
            self._optimize_final_module()
            self._final_module.verify()
            self._finalize_final_module()
        return int(super().get_pointer_to_function(name))

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        return JITCodeLibrary._unserialize(codegen, state)

    @property
    def codegen(self) -> Any:
        return self._codegen if self._runs else _NO_ENVIRONMENTS


class _Declare(FunctionPass):
    """Choose library and wrappers once the types are known, as numba's own functions."""

    library: type[JITCodeLibrary]

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags = state.flags.copy()
        state.flags.no_cfunc_wrapper = True  # the wrapper for C takes a tenth of the time
        if self.library is _WholeLibrary:
            state.flags.no_cpython_wrapper = False
            state.flags.release_gil = True
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class _AsPart(_Declare):
    _name, library = "as_part", _PartLibrary


@register_pass(mutates_CFG=False, analysis_only=True)
class _AsWhole(_Declare):
    _name, library = "as_whole", _WholeLibrary


class PartCompiler(CompilerBase):
    """Compiler of kernels for kernels."""

    declare: type[FunctionPass] = _AsPart

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        names = [getattr(step, "__name__", "") for step, _ in manager.passes]
        place = names.index("IRLegalization")
        manager.passes.insert(place, (self.declare, self.declare._name))
        manager.finalize()
        return [manager]

    def compile_extra(self, func: Any) -> Any:
        """Compile; numba's own functions that are compiled on the way are parts as well."""
        codegen = self.state.targetctx.codegen()
        library_class = codegen._library_class
        codegen._library_class = _PartLibrary
        try:
            return super().compile_extra(func)
        finally:
            codegen._library_class = library_class


class WholeCompiler(PartCompiler):
    """Compiler of kernels for Python."""

    declare = _AsWhole


def for_any_number(part: Any) -> Any:
    """Compile a part once for all numbers, constant or not: numba would for each constant."""

    def unknown(args: Any) -> Any:
        return tuple(unliteral(a) if isinstance(a, _NUMBERS) else a for a in args)

    get = part.get_call_template
    part.get_call_template = lambda args, kws: get(
        unknown(args), {name: unknown([kind])[0] for name, kind in kws.items()}
    )
    return part
