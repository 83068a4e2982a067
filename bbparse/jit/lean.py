"""What numba does over and over while it compiles a function, done once or not at all.

In force while a kernel is compiled, under numba's lock; functions that are compiled otherwise are
compiled as always.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import errors, event, ir, ssa, transforms
from numba.core.cpu import CPUContext
from numba.core.postproc import PostProcessor, VariableLifetime

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
