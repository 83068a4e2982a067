"""Lowering to less LLVM code: frequent operations of kernels in as few instructions as possible.

Half of the compilation time is spent on code that numba writes only for LLVM to remove: the seven
fields of an array are unpacked wherever one is read, reference counts rise and fall for objects
that the caller keeps anyway, and records of arrays are flattened into hundreds of arguments
wherever one kernel calls another. Here

* values from arguments are not counted, and counted ones are reached by one instruction;
* elements of arrays are addressed without a copy of the array;
* parts take records and arrays as they are.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, ir, lowering, types
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.funcdesc import default_mangler
from numba.core.runtime.context import NRTContext
from numba.core.typed_passes import NativeLowering
from numba.core.types.containers import BaseTuple
from numba.core.types.iterators import RangeType
from numba.core.types.misc import NoneType
from numba.np import arrayobj

_NITEMS, _DATA, _SHAPE, _STRIDES = 2, 4, 5, 6  # fields of an array
_NUMBERS = (types.Number, types.Boolean)
_POWERS = (operator.pow, operator.ipow)
_signatures: dict[Any, Any] = {}


class ByValue(types.Type):
    """Type of an argument that is not unpacked. Callers who look up its plain type find it, too."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(name=f"by value({kind})")

    def __eq__(self, other: object) -> bool:
        return other == self.kind or (isinstance(other, ByValue) and other.kind == self.kind)

    __hash__ = types.Type.__hash__


@register_default(ByValue)
class _ByValueModel(models.PrimitiveModel):
    """Data model in which the value itself is the argument."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager.lookup(kind.kind).get_value_type())

    def as_argument(self, builder: Any, value: Any) -> Any:
        value_type = self.get_value_type()
        if value.type == value_type:
            return value
        struct = llvm.Constant(value_type, llvm.Undefined)  # `*args` is a struct
        for i in range(len(value.type)):
            struct = builder.insert_value(struct, builder.extract_value(value, i), i)
        return struct


@cache
def _paths(kind: Any) -> tuple[tuple[int, ...], ...] | None:
    """Return the paths to reference counts in a value of a type; None if only numba knows them."""
    if isinstance(kind, types.Array):
        return ((0,),)
    if isinstance(kind, BaseTuple):
        paths: list[tuple[int, ...]] = []
        for i, member in enumerate(kind):
            inner = _paths(member)
            if inner is None:
                return None
            paths += [(i, *path) for path in inner]
        return tuple(paths)
    if isinstance(kind, (*_NUMBERS, NoneType, RangeType)):
        return ()
    return None


class _Counts(NRTContext):
    """Reference counts."""

    def get_meminfos(self, builder: Any, ty: Any, val: Any) -> Any:
        paths = _paths(ty)
        if paths is None:
            return super().get_meminfos(builder, ty, val)
        return [(ty, builder.extract_value(val, path)) for path in paths]


def _is_counted(kind: Any) -> bool:
    return _paths(kind) != ()


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
    """Lowering from numba's own code to LLVM, changed for frequent operations of kernels."""

    def init(self) -> None:
        super().init()
        self.context.nrt = _Counts(self.context, self.context.enable_nrt)
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

    # --- references -------------------------------------------------------------------------------

    def incref(self, typ: Any, val: Any) -> None:
        if _is_counted(typ):
            super().incref(typ, val)

    def decref(self, typ: Any, val: Any) -> None:
        if _is_counted(typ):
            super().decref(typ, val)

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
        if name in self._borrowed or not _is_counted(self.typeof(name)):
            self._alloca_var(name, self.typeof(name))
            if name in self._singly_assigned_vars:
                self._blk_local_varmap[name] = value
            else:
                self.builder.store(value, self.getvar(name))
        else:
            super().storevar(value, name, argidx)

    def delvar(self, name: str) -> None:
        if name not in self._borrowed and _is_counted(self.typeof(name)):
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)
            self._alloca_var(name, self.typeof(name))

    # --- numbers ----------------------------------------------------------------------------------

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Lower an operator without regard to constants, on which only powers depend."""
        kinds = self.typeof(expr.lhs.name), self.typeof(expr.rhs.name)
        if op in _POWERS or not all(isinstance(kind, _NUMBERS) for kind in kinds):
            return super().lower_binop(resty, expr, op)
        call_type, cast, builder = self.fndesc.calltypes[expr], self.context.cast, self.builder
        function = self.context.typing_context.resolve_value_type(op)
        values = [
            cast(builder, self.loadvar(operand.name), kind, to)
            for operand, kind, to in zip((expr.lhs, expr.rhs), kinds, call_type.args)
        ]
        key = op, call_type.args
        if key not in _signatures:
            _signatures[key] = function.get_call_type(
                self.context.typing_context, call_type.args, {}
            )
        result = self.context.get_function(function, _signatures[key])(builder, values)
        return cast(builder, result, call_type.return_type, resty)

    # --- elements and attributes of arrays -------------------------------------------------------

    def _address_of(self, kind: Any, array: Any, index_type: Any, index: Any) -> Any:
        """Return the address of an element; None if this is not one element of a plain array."""
        if not isinstance(kind, types.Array) or not isinstance(kind.dtype, _NUMBERS):
            return None
        builder = self.builder
        if isinstance(index_type, BaseTuple):
            index_types = tuple(index_type)
        else:
            index_types = (index_type,)
        if len(index_types) != kind.ndim or not kind.ndim or self.context.enable_boundscheck:
            return None
        if not all(isinstance(index_type, types.Integer) for index_type in index_types):
            return None
        indices = [index]
        if isinstance(index_type, BaseTuple):
            indices = [builder.extract_value(index, i) for i in range(kind.ndim)]
        shape: dict[int, Any] = {}

        def size(i: int) -> Any:
            if i not in shape:
                shape[i] = builder.extract_value(array, (_SHAPE, i))
            return shape[i]

        for i, axis_type in enumerate(index_types):
            if not axis_type.signed:
                indices[i] = self.context.cast(builder, indices[i], axis_type, types.uintp)
                continue
            indices[i] = self.context.cast(builder, indices[i], axis_type, types.intp)
            if isinstance(indices[i], llvm.Constant) and indices[i].constant >= 0:
                continue
            negative = builder.icmp_signed("<", indices[i], indices[i].type(0))
            indices[i] = builder.select(negative, builder.add(indices[i], size(i)), indices[i])
        data = builder.extract_value(array, _DATA)
        if kind.layout == "C":
            offset = indices[0]
            for i in range(1, kind.ndim):
                offset = builder.add(builder.mul(offset, size(i)), indices[i])
            return builder.gep(data, [offset])
        address = builder.bitcast(data, llvm.IntType(8).as_pointer())
        for i, axis_index in enumerate(indices):
            stride = builder.extract_value(array, (_STRIDES, i))
            address = builder.gep(address, [builder.mul(axis_index, stride)])
        return builder.bitcast(address, data.type)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        kind, index_type = self.typeof(value.name), self.typeof(index.name)
        if kind == signature.args[0] and isinstance(kind, types.Array) and resty == kind.dtype:
            address = self._address_of(
                kind, self.loadvar(value.name), index_type, self.loadvar(index.name)
            )
            if address is not None:
                return arrayobj.load_item(self.context, self.builder, kind, address)
        return super().lower_getitem(resty, expr, value, index, signature)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        kind, index_type = self.typeof(target_var.name), self.typeof(index_var.name)
        value_type = self.typeof(value_var.name)
        if isinstance(kind, types.Array) and isinstance(value_type, _NUMBERS):
            address = self._address_of(
                kind, self.loadvar(target_var.name), index_type, self.loadvar(index_var.name)
            )
            if address is not None:
                value = self.loadvar(value_var.name)
                value = self.context.cast(self.builder, value, value_type, kind.dtype)
                arrayobj.store_item(self.context, self.builder, kind, value, address)
                return None
        return super().lower_setitem(target_var, index_var, value_var, signature)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op == "getattr" and isinstance(self.typeof(expr.value.name), types.Array):
            if expr.attr == "shape":
                return self.builder.extract_value(self.loadvar(expr.value.name), _SHAPE)
            if expr.attr == "size":
                return self.builder.extract_value(self.loadvar(expr.value.name), _NITEMS)
        return super().lower_expr(resty, expr)


def _as_they_are(kinds: Any) -> tuple[Any, ...]:
    """Return types of arguments, with records and arrays by value."""
    by_value = (types.Array, BaseTuple)
    return tuple(ByValue(kind) if isinstance(kind, by_value) else kind for kind in kinds)


class _PartLower(_Lower):
    """Lowering of parts, which take records and arrays by value."""

    def __init__(self, context: Any, library: Any, fndesc: Any, *args: Any, **kwargs: Any) -> None:
        fndesc.argtypes = _as_they_are(fndesc.argtypes)
        super().__init__(context, library, fndesc, *args, **kwargs)

    def _lower_call_RecursiveCall(self, fnty: Any, expr: Any, signature: Any) -> Any:
        """Call this part, or one that is not finished, by the name that it has in the whole."""
        called, builder = fnty.get_overloads(signature.args), self.builder
        name = (self.context.mangler or default_mangler)(
            called.qualname, signature.args, abi_tags=self.fndesc.abi_tags, uid=called.uid
        )
        values = self.fold_call_args(fnty, signature, expr.args, expr.vararg, expr.kws)
        argument_types = _as_they_are(signature.args)
        function = cgutils.get_or_insert_function(
            builder.module,
            self.call_conv.get_function_type(signature.return_type, argument_types),
            name,
        )
        status, result = self.call_conv.call_function(
            builder, function, signature.return_type, argument_types, values
        )
        with cgutils.if_unlikely(builder, status.is_error):
            self.call_conv.return_status_propagate(builder, status)
        return result


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPart(NativeLowering):
    """Lowering pass of parts."""

    _name = "lower_part"

    @property
    def lowering_class(self) -> Any:
        return _PartLower


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerWhole(NativeLowering):
    """Lowering pass of wholes."""

    _name = "lower_whole"

    @property
    def lowering_class(self) -> Any:
        return _Lower
