"""Compile kernels that call kernels in half of the time that numba takes by itself.

numba makes each function ready to run by itself: it optimises its code, with all code that it
calls, generates machine code, and adds a way in for callers in Python. A kernel deep down is so
optimised and generated again for each kernel above it. What a kernel calls needs none of this.
Here it stays much as numba's front end left it (a *part*) until a kernel that Python calls (a
*whole*) takes in all its parts and is optimised once. The same goes for numba's own functions that
kernels call. The first run is also spared asking again what an operator returns: numba tries some
dozen candidates for each subscript and each sum in the text, and the answer depends on the types
alone. And what numba does over and over is done once or not at all (`lean`), while a kernel is
compiled, under numba's lock; functions that are compiled otherwise are compiled as always.

numba lets one put a compiler of one's own together from its passes; what they meet is of its inner
workings and may change. The versions that this was tried with are in ``_TRIED``. With others, or
where something is not as it was, kernels are compiled as numba would: the same code, later.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite.binding.newpassmanagers import create_new_function_pass_manager
from numba.core import errors, event, ir, ssa, transforms, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.cpu import CPUContext
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.types.containers import Tuple, UniTuple
from numba.core.types.misc import unliteral
from numba.core.typing.context import Context

from bbparse.jit.lowering import LowerPart, LowerWhole

_run_whole = PostProcessor.run
_Names = dict[int, tuple[Any, set[str]]]


def _run_lazily(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """What follows a pass; which variables live is asked only where blocks are resumed."""
    if self.func_ir.is_generator:
        _run_whole(self, emit_dels, extend_lifetimes)
        return
    self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _variables(_: Any, value: Any) -> list[Any]:
    """The variables of an instruction, by the exact types of what it has."""
    found = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind is ir.Var:
            found.append(one)
        elif kind is dict:
            waiting.extend(reversed(one.values()))
        elif kind is list or kind is tuple:
            waiting.extend(reversed(one))
        elif isinstance(one, ir.Inst):
            found.extend(one.list_vars())
    return found


def _rewrite_where_named(names: _Names, blocks: Any, states: Any, handler: Any) -> Any:
    """Put a variable into the form of single assignment, in blocks that name it."""
    rewritten = {}
    for label, block in blocks.items():
        if id(block) not in names:
            named = {one.name for stmt in block.body for one in stmt.list_vars()}
            names[id(block)] = block, named
        named = names[id(block)][1]
        if states["varname"] in named:
            new = ir.Block(scope=block.scope, loc=block.loc)
            states["label"], states["block"] = label, block
            for stmt in block.body:
                assigns = isinstance(stmt, ir.Assign)
                new.body.append((handler.on_assign if assigns else handler.on_other)(states, stmt))
            names[id(new)] = new, named  # new names are never asked for
            block = new
        rewritten[label] = block
    return rewritten


_run_ssa = ssa._run_ssa


def _run_ssa_with_names(blocks: Any) -> Any:
    names: _Names = {}

    def rewrite(*given: Any) -> Any:
        return _rewrite_where_named(names, *given)

    with _changed([(ssa, "_run_block_rewrite", rewrite)]):
        return _run_ssa(blocks)


def _start_event(kind: str, data: Any = None) -> None:
    if event._registered[kind]:
        event.broadcast(event.Event(kind, event.EventStatus.START, data))


def _end_event(kind: str, data: Any = None, exc_details: Any = None) -> None:
    if event._registered[kind]:
        event.broadcast(event.Event(kind, event.EventStatus.END, data, exc_details))


def _none(*_: Any) -> None:
    """There are no callers in C."""


def _plain(self: Any, text: str, *_: Any) -> str:
    """Most errors only tell that a function is not for such types, and are never shown."""
    return text


_CHANGES = [
    (PostProcessor, "run", _run_lazily),
    (ir.Inst, "_rec_list_vars", _variables),
    (ssa, "_run_ssa", _run_ssa_with_names),
    (event, "start_event", _start_event),
    (event, "end_event", _end_event),
    (CPUContext, "create_cfunc_wrapper", _none),
]
if hasattr(errors, "HighlightColorScheme"):  # there are colours
    _CHANGES.append((errors.HighlightColorScheme, "_markup", _plain))
for _place, _name, _new in _CHANGES:  # in another numba, one may be missing
    getattr(_place, _name)


@contextmanager
def _changed(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    before = [(place, name, getattr(place, name)) for place, name, _ in changes]
    try:
        for place, name, new in changes:
            setattr(place, name, new)
        yield
    finally:
        for place, name, old in before:
            setattr(place, name, old)


@contextmanager
def lean() -> Iterator[None]:
    """Have numba do less for what is compiled meanwhile."""
    if PostProcessor.run is _run_lazily:  # a kernel within a kernel
        yield
    else:
        with _changed(_CHANGES):
            yield


_TRIED = ((0, 63), (0, 68))
# Those for which it makes no difference whether a number is known: numba compiles its own functions
# anew for each one that is.
_ANY_NUMBER: frozenset[Any] = frozenset(
    [
        *(bool, int, float, min, max),
        *(np.arange, np.empty, np.empty_like, np.full, np.ones, np.zeros),
    ]
)
_PURE = _ANY_NUMBER | {range, len, *filter(callable, vars(operator).values())}
_NUMBERS = (types.IntegerLiteral, types.BooleanLiteral, Tuple, UniTuple)
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
        if getattr(func, "typing_key", func) in _ANY_NUMBER:
            args = _unknown(args)
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


def _unknown(args: Any) -> Any:
    """Types of arguments, of numbers that are written in the text as of any others."""
    return tuple(unliteral(a) if isinstance(a, _NUMBERS) else a for a in args)


@cache
def _remembering(context: Any) -> Any:
    """The one context that remembers for another, whose tables it shares."""
    found = copy.copy(context)
    found.__class__ = _RememberingContext
    return found


class _PartLibrary(JITCodeLibrary):
    """Code that others take in: it is made ready to run only where it has a way in for Python."""

    _runs = False

    def _optimize_functions(self, ll_module: Any) -> None:
        """Make the code smaller by what costs little; all of it is optimised in the whole."""
        ll_module.data_layout = self._codegen._data_layout
        builder, passes = self._codegen._pass_builder(), create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        """Take in what is called; do not optimise, and generate nothing."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """An address for Python; zero where it has no way in, as in all parts of kernels."""
        self._ensure_finalized()
        if not self._runs:
            try:
                if self._final_module.get_function(name).is_declaration:
                    return 0
            except NameError:
                return 0
            self._runs = True  # a jitted function of somebody else's
            self._optimize_final_module()
            self._final_module.verify()
            self._finalize_final_module()
        address: int = super().get_pointer_to_function(name)
        return address

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        return JITCodeLibrary._unserialize(codegen, state)

    @property
    def codegen(self) -> Any:
        return self._codegen if self._runs else _NoEnvironments()


class _WholeLibrary(JITCodeLibrary):
    """Code that Python calls."""

    _optimize_functions = _PartLibrary._optimize_functions  # all is optimised when it is linked


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
        state.library = _WholeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_cpython_wrapper = False
        state.flags.release_gil = True
        return True


class _Compiler(CompilerBase):
    """numba's compiler with a memory for types, and a pass before the code is made."""

    extra: type[FunctionPass]
    lowering: type[FunctionPass]

    def __init__(self, typingctx: Any, *args: Any) -> None:
        super().__init__(_remembering(typingctx), *args)

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        names = [getattr(step, "__name__", "") for step, _ in manager.passes]
        manager.passes[names.index("NativeLowering")] = self.lowering, self.lowering._name
        manager.passes.insert(names.index("IRLegalization"), (self.extra, self.extra._name))
        manager.finalize()
        return [manager]

    def compile_extra(self, func: Any) -> Any:
        """Compile; what is compiled on the way, numba's own functions, are parts as well."""
        codegen = self.state.targetctx.codegen()
        before = codegen._library_class
        codegen._library_class = _PartLibrary
        try:
            with lean():
                return super().compile_extra(func)
        finally:
            codegen._library_class = before


class WholeCompiler(_Compiler):
    """For kernels as Python calls them."""

    extra, lowering = _AsWhole, LowerWhole


class PartCompiler(_Compiler):
    """For kernels as kernels call them."""

    extra, lowering = _AsPart, LowerPart


def kernel_type(part: Any) -> Any:
    """The type that has a kernel compiled as ``part``, a jitted function, where kernels call it."""
    return types.Dispatcher(part)


def for_any_number(part: Any) -> Any:
    """Have a part compiled once for numbers that callers have in their text, and all others."""
    get = part.get_call_template
    part.get_call_template = lambda args, kws: get(
        _unknown(args), {name: _unknown([kind])[0] for name, kind in kws.items()}
    )
    return part
