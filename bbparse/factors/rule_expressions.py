"""Compiling expressions of families: tests, which lead to jumps, and values."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any

from bbparse.factors import rule_kernel as k
from bbparse.factors.rule_assembler import Assembler
from bbparse.factors.rule_values import (
    THE_VIEW,
    Column,
    Const,
    Item,
    Label,
    Reg,
    Scope,
    Seq,
    Slice,
    Words,
    always,
    answer_of,
    equals,
    folded,
    has,
    is_in,
    is_simple,
    negation,
)
from bbparse.factors.rule_words import FIELDS

__all__ = ["Expressions"]

_ORDER = {ast.Lt: k.JUMP_LT, ast.LtE: k.JUMP_LE, ast.Gt: k.JUMP_LT, ast.GtE: k.JUMP_LE}
_ARITHMETIC = {ast.Add: k.ADD, ast.Sub: k.SUB, ast.FloorDiv: k.DIV}


class Expressions(Assembler):
    """What values and tests of a family become."""

    def inline(self, function: FunctionType, values: list[Any], give: Any, node: ast.AST) -> Any:
        """The body of a function in place of a call; what it returns, or gives one by one."""
        raise NotImplementedError

    # --- tests ----------------------------------------------------------------------------------

    def tested(self, node: ast.expr, scope: Scope) -> Item | None:
        """The item of a truth value that a comparison of an item with constants is, if it is."""
        match node:
            case ast.UnaryOp(ast.Not(), operand):
                inner = self.tested(operand, scope)
                return None if inner is None else self.asked(inner, "not", negation, bool)
            case ast.Compare(left_node, [op], [right_node]) if isinstance(
                op, ast.In | ast.NotIn | ast.Eq | ast.NotEq
            ):
                if not (is_simple(left_node) and is_simple(right_node)):
                    return None
                left, right = self.value(left_node, scope), folded(self.value(right_node, scope))
                negative = isinstance(op, ast.NotIn | ast.NotEq)
                if isinstance(op, ast.Eq | ast.NotEq):
                    if isinstance(left, Const):
                        left, right = right, left
                    key, ask = "equal", equals
                elif isinstance(left, Item):
                    key, ask = "in", is_in
                else:
                    left, right, key, ask = right, left, "has", has
                if not isinstance(left, Item) or not isinstance(right, Const):
                    return None
                kept = right.value if isinstance(right.value, str | int) else frozenset(right.value)
                item = self.asked(left, (key, kept), partial(ask, kept), bool)
                return self.asked(item, "not", negation, bool) if negative else item
            case _:
                return None

    def jump(self, node: ast.expr, target: Label, want: bool, scope: Scope) -> None:
        """Go to a label if the truth of an expression is what is wanted."""
        match node:
            case ast.BoolOp(op, values):
                if isinstance(op, ast.And) != want:
                    for part in values:
                        self.jump(part, target, want, scope)
                    return
                skip = Label()
                for part in values[:-1]:
                    self.jump(part, skip, not want, scope)
                self.jump(values[-1], target, want, scope)
                self.place(skip)
                return
            case ast.UnaryOp(ast.Not(), operand):
                self.jump(operand, target, not want, scope)
                return
            case ast.Compare(left, ops, rights) if len(ops) > 1:
                parts = [
                    ast.copy_location(ast.Compare(a, [op], [b]), node)
                    for a, op, b in zip([left, *rights], ops, rights)
                ]
                chain = ast.copy_location(ast.BoolOp(ast.And(), list(parts)), node)
                self.jump(chain, target, want, scope)
                return
        item = self.tested(node, scope)
        if item is None and isinstance(node, ast.Compare):
            self.compare(node, target, want, scope)
            return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value, scope)
            if owner is not THE_VIEW or node.func.attr != "has_arc" or len(node.args) != 2:
                self.fail("this call", node)
            head, mod = (self.number(self.value(a, scope), a).number for a in node.args)
            self.emit(k.JUMP_ARC, target, head, mod, int(want))
            return
        value: Any = self.value(node, scope) if item is None else item
        if isinstance(value, Const):
            if bool(value.value) == want:
                self.emit(k.JUMP, target)
        elif isinstance(value, Item) and self.type_of(value) is not str:
            self.emit(
                k.JUMP_LOAD, target, value.column, value.word.number, value.offset, int(want)
            )
        else:
            reg = self.number(value, node)
            zero = self.load(Const(0), node)
            self.emit(k.JUMP_NE if want else k.JUMP_EQ, target, reg.number, zero.number)

    def compare(self, node: ast.Compare, target: Label, want: bool, scope: Scope) -> None:
        op = node.ops[0]
        left = self.value(node.left, scope)
        right = self.value(node.comparators[0], scope)
        if isinstance(op, ast.In | ast.NotIn):
            found = want != isinstance(op, ast.NotIn)
            if isinstance(right, Words):
                word = self.number(left, node).number
                self.emit(k.JUMP_SET, target, right.number, word, int(found))
                return
            if not isinstance(right, Column | Slice):
                self.fail("a test whether this is in that", node)
            count = self.count(right, left, node)
            zero = self.load(Const(0), node)
            self.emit(k.JUMP_NE if found else k.JUMP_EQ, target, count.number, zero.number)
            return
        a, b = self.load(left, node), self.load(right, node)
        if (a.type is str) != (b.type is str):
            self.fail("a comparison of text and number", node)
        if isinstance(op, ast.Eq | ast.NotEq):
            equal = want == isinstance(op, ast.Eq)
            self.emit(k.JUMP_EQ if equal else k.JUMP_NE, target, a.number, b.number)
            return
        if type(op) not in _ORDER or a.type is str:
            self.fail("this comparison", node)
        if isinstance(op, ast.Gt | ast.GtE):
            a, b = b, a
        less = _ORDER[type(op)]
        if not want:  # not a < b is b <= a
            a, b, less = b, a, k.JUMP_LE if less == k.JUMP_LT else k.JUMP_LT
        self.emit(less, target, a.number, b.number)

    # --- values ---------------------------------------------------------------------------------

    def value(self, node: ast.expr, scope: Scope) -> Any:
        match node:
            case ast.Constant(value):
                return Const(value)
            case ast.Name(name):
                if name in scope.env:
                    return scope.env[name]
                if name in scope.names:
                    return Const(scope.names[name])
                if hasattr(builtins, name):
                    return Const(getattr(builtins, name))
                self.fail(f"{name}, which has no value yet", node)
            case ast.Tuple(elements) | ast.List(elements):
                return Seq(tuple(self.elements(elements, scope)))
            case ast.Attribute(owner, name) if self.value(owner, scope) is THE_VIEW:
                if name == "n_words":
                    return self.words
                if name in FIELDS:
                    return Column(name)
                self.fail(f"view.{name}", node)
            case ast.Subscript(listed, ast.Slice(low, high, None)):
                column = self.value(listed, scope)
                if not isinstance(column, Column):
                    self.fail("a slice of this", node)
                start = self.load(Const(0), node)
                if low is not None:
                    start = self.number(self.value(low, scope), node)
                if high is not None:
                    return Slice(column.name, start, self.number(self.value(high, scope), node))
                end = self.new(int)
                self.emit(k.ADD, end.number, 0, self.load(Const(1), node).number)
                return Slice(column.name, start, end)
            case ast.Subscript(listed, index):
                return self.item(self.value(listed, scope), index, scope, node)
            case ast.BinOp(left, op, right):
                return self.arithmetic(op, self.value(left, scope), self.value(right, scope), node)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() as number)):
                return Const(-number)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()):
                return self.tested(node, scope) or self.truth(node, scope)
            case ast.IfExp(test, then, otherwise):
                return self.choice(test, then, otherwise, scope, node)
            case ast.Call():
                return self.call(node, scope)
            case _:
                self.fail(type(node).__name__.lower(), node)

    def elements(self, nodes: list[ast.expr], scope: Scope) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.value(node.value, scope)
                if not isinstance(inner, Seq):
                    self.fail("* of this", node)
                yield from inner.items
            else:
                yield self.value(node, scope)

    def item(self, column: Any, index: ast.expr, scope: Scope, node: ast.AST) -> Any:
        if isinstance(column, Seq):
            match index:
                case ast.Constant(int() as number) if 0 <= number < len(column.items):
                    return column.items[number]
        if not isinstance(column, Column):
            self.fail("an item of this", node)
        offset = 0
        match index:
            case ast.BinOp(inner, ast.Add() | ast.Sub() as op, ast.Constant(int() as number)):
                index, offset = inner, number if isinstance(op, ast.Add) else -number
        word = self.number(self.value(index, scope), node)
        if isinstance(index, ast.Name) and index.id in scope.mutable:
            word = self.copy(word, node)
        return Item(self.field(column.name), word, offset)

    def arithmetic(
        self, op: ast.operator, left: Any, right: Any, node: ast.AST, into: Any = None
    ) -> Any:
        if type(op) not in _ARITHMETIC:
            self.fail("this arithmetic", node)
        a, b = self.number(left, node), self.number(right, node)
        out = self.new(int) if into is None else into
        self.emit(_ARITHMETIC[type(op)], out.number, a.number, b.number)
        return out

    def truth(self, node: ast.expr, scope: Scope) -> Reg:
        """A register with the truth value of an expression."""
        if isinstance(node, ast.BoolOp):
            for part in node.values:
                if not isinstance(part, ast.Compare | ast.BoolOp | ast.UnaryOp):
                    self.fail("and/or of what is no comparison, as a value", part)
        out, end = self.new(bool), Label()
        self.emit(k.MOVE, out.number, self.load(Const(1), node).number)
        self.jump(node, end, True, scope)
        self.emit(k.MOVE, out.number, self.load(Const(0), node).number)
        self.place(end)
        return out

    def choice(
        self, test: ast.expr, then: ast.expr, otherwise: ast.expr, scope: Scope, node: ast.AST
    ) -> Any:
        other, end = Label(), Label()
        self.jump(test, other, False, scope)
        first = self.value(then, scope)
        pairs = isinstance(first, Seq)
        outs = [self.copy(v, node) for v in (first.items if pairs else [first])]
        self.emit(k.JUMP, end)
        self.place(other)
        second = self.value(otherwise, scope)
        others = second.items if isinstance(second, Seq) else (second,)
        if len(others) != len(outs) or isinstance(second, Seq) != pairs:
            self.fail("a choice of unlike things", node)
        for out, value in zip(outs, others):
            source = self.load(value, node)
            if source.type is not out.type:
                self.fail("a choice of unlike things", node)
            self.emit(k.MOVE, out.number, source.number)
        self.place(end)
        return Seq(tuple(outs)) if pairs else outs[0]

    def call(self, node: ast.Call, scope: Scope) -> Any:
        if isinstance(node.func, ast.Attribute):
            return self.truth(node, scope)
        function = self.value(node.func, scope)
        function = function.value if isinstance(function, Const) else None
        if function in (sum, any) and len(node.args) == 1:
            found = self.generated(node.args[0], scope, node)
            if function is sum:
                return found
            zero, out, end = self.load(Const(0), node), self.new(bool), Label()
            self.emit(k.MOVE, out.number, zero.number)
            self.emit(k.JUMP_EQ, end, found.number, zero.number)
            self.emit(k.MOVE, out.number, self.load(Const(1), node).number)
            self.place(end)
            return out
        values = [self.value(argument, scope) for argument in node.args]
        if node.keywords:
            self.fail("arguments by name", node)
        if function in (min, max) and len(values) == 2:
            out = self.new(int)
            a, b = (self.number(value, node).number for value in values)
            self.emit(k.MIN if function is min else k.MAX, out.number, a, b)
            return out
        if function is abs and len(values) == 1:
            out = self.new(int)
            self.emit(k.ABS, out.number, self.number(values[0], node).number)
            return out
        if function is set and not values:
            self.n_sets += 1
            self.emit(k.SET_CLEAR, self.n_sets - 1)
            return Words(self.n_sets - 1)
        if not isinstance(function, FunctionType):
            self.fail("this call", node)
        if any(value is THE_VIEW for value in values):
            return self.inline(function, values, None, node)
        return self.word_function(function, values, node)

    def word_function(self, function: FunctionType, values: list[Any], node: ast.AST) -> Item:
        """A function of the fields of one word: a column."""
        items = [value for value in values if isinstance(value, Item)]
        places = {(item.word, item.offset) for item in items}
        if len(places) != 1 or any(not isinstance(value, Item | Const) for value in values):
            self.fail(f"{function.__name__} of other than fields of one word and constants", node)
        key = (function, *((v.column, None) if isinstance(v, Item) else (-1, v.value)
                           for v in values))  # fmt: skip
        given = [
            self.about(v.column)[1] if isinstance(v, Item) else partial(always, v.value)
            for v in values
        ]
        question = partial(answer_of, function, given)
        answer = question(dict.fromkeys(FIELDS, "<root>"))
        type_ = bool if isinstance(answer, bool) else str if isinstance(answer, str) else int
        return Item(self.column(key, question, type_), items[0].word, items[0].offset)

    def generated(self, node: ast.expr, scope: Scope, where: ast.AST) -> Reg:
        """How many items of a slice pass a test: of ``test for item in slice``."""
        match node:
            case ast.GeneratorExp(test, [ast.comprehension(ast.Name(name), source, [], 0)]):
                pass
            case _:
                self.fail("sum or any of this", where)
        stretch = self.value(source, scope)
        if not isinstance(stretch, Column | Slice):
            self.fail("sum or any over this", where)
        any_word = Reg(-1, int)
        item = Item(self.field(stretch.name), any_word, 0)
        inner = Scope(
            {**scope.env, name: item}, scope.names, scope.mutable, None, scope.end, scope.loops
        )
        found = self.tested(test, inner)
        if found is not None and found.word == any_word:
            return self.count_in(found.column, stretch, self.load(Const(1), where), where)
        match test:
            case ast.Compare(ast.Name(left), [ast.Eq()], [right]) if left == name:
                return self.count(stretch, self.value(right, scope), where)
            case _:
                self.fail("this test in sum or any", where)
