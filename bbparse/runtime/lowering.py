"""Lowering without reference counts for what a kernel is given.

numba counts the references to every array that a variable holds, also to those that the caller
keeps anyway. Kernels take records of dozens of arrays, such as a whole oracle: with counts, small
problems with crossing arcs take 1.2 times as long. Here, variables that only hold arguments or
their members are not counted.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from numba.core import ir, lowering
from numba.core.compiler_machinery import register_pass
from numba.core.funcdesc import default_mangler
from numba.core.typed_passes import NativeLowering
from numba.core.types.containers import BaseTuple


def _member(expression: Any, kind: Any) -> int | None:
    """Return the index of the tuple member that an expression reads; None if it reads none."""
    if not isinstance(kind, BaseTuple):
        return None
    if expression.op == "static_getitem" and isinstance(expression.index, int):
        return expression.index % len(kind) if len(kind) else None
    if expression.op == "getattr" and expression.attr in getattr(kind, "fields", ()):
        index: int = kind.fields.index(expression.attr)
        return index
    return None


class _Lower(lowering.Lower):
    """Lowering of numba, except for variables whose content is borrowed from the caller."""

    def init(self) -> None:
        super().init()
        self._borrowed = self._find_borrowed()

    def _find_borrowed(self) -> set[str]:
        """Find variables that only hold arguments or their members, which the caller keeps."""
        sources: dict[str, set[str]] = {}
        owned = set()
        for block in self.func_ir.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                name, value = assignment.target.name, assignment.value
                if isinstance(value, ir.Arg):
                    sources.setdefault(name, set())
                    if self.typeof(name) != self.typeof("arg." + value.name):
                        owned.add(name)
                elif isinstance(value, ir.Var) and self.typeof(name) == self.typeof(value.name):
                    sources.setdefault(name, set()).add(value.name)
                elif isinstance(value, ir.Expr) and value.op in ("getattr", "static_getitem"):
                    kind = self.typeof(value.value.name)
                    member = _member(value, kind)
                    if member is None or kind[member] != self.typeof(name):
                        owned.add(name)
                    sources.setdefault(name, set()).add(value.value.name)
                else:
                    owned.add(name)
        if self.generator_info:
            return set()
        borrowed = {name for name in sources if name not in owned}
        while owned_indirectly := {name for name in borrowed if not sources[name] <= borrowed}:
            borrowed -= owned_indirectly
        return borrowed

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        if inst.target.name not in self._borrowed:
            return super().lower_assign(ty, inst)
        value = inst.value
        if isinstance(value, ir.Arg):
            return self.fnargs[value.index]
        if isinstance(value, ir.Var):
            return self.loadvar(value.name)
        member = _member(value, self.typeof(value.value.name))
        return self.builder.extract_value(self.loadvar(value.value.name), member)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if name in self._borrowed:
            self._alloca_var(name, self.typeof(name))
            if name in self._singly_assigned_vars:
                self._blk_local_varmap[name] = value
            else:
                self.builder.store(value, self.getvar(name))
        else:
            super().storevar(value, name, argidx)

    def delvar(self, name: str) -> None:
        if name not in self._borrowed:
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)
            self._alloca_var(name, self.typeof(name))

    def _lower_call_RecursiveCall(self, fnty: Any, expr: Any, signature: Any) -> Any:
        """Call this kernel, or one that is not finished, by the name that it has in the whole.

        numba would look up the address of the other one, which has none.
        """
        called, description = fnty.get_overloads(signature.args), copy(self.fndesc)
        description.mangled_name = (self.context.mangler or default_mangler)(
            called.qualname, signature.args, abi_tags=self.fndesc.abi_tags, uid=called.uid
        )
        description.args = [f"arg.{i}" for i in range(len(signature.args))]
        description.argtypes, description.restype = signature.args, signature.return_type
        values = self.fold_call_args(fnty, signature, expr.args, expr.vararg, expr.kws)
        return self.context.call_internal(self.builder, description, signature, values)


@register_pass(mutates_CFG=True, analysis_only=False)
class Lower(NativeLowering):
    """Lowering pass of kernels."""

    _name = "lower"

    @property
    def lowering_class(self) -> Any:
        return _Lower
