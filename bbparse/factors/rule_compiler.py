"""From the Python of a family's `factors` to instructions of `bbparse.factors.rule_kernel`.

The method is read, not run. `bbparse.factors.rules.RuleFamily` says what part of Python it may
use. Values are known by what they are: constants, registers, items of columns (a question to a
word), slices of columns, and tuples of values. Items are loaded when they are needed, and tests of
an item against constants become columns of their own, answered once for each distinct word.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from functools import partial
from types import FunctionType
from typing import Any

from bbparse.factors import rule_kernel as k
from bbparse.factors.family import FactorFamily, canonical
from bbparse.factors.rule_assembler import Program
from bbparse.factors.rule_expressions import Expressions
from bbparse.factors.rule_values import (
    THE_VIEW,
    Column,
    Const,
    Item,
    Label,
    Reg,
    Scope,
    Seq,
    Words,
    changing_names,
    negation,
)

__all__ = ["Program", "compile_families"]


def compile_families(families: Sequence[FactorFamily]) -> Program:
    """One program of several families, in their order.

    Raises
    ------
    FactorError
        If a family uses what cannot be compiled, naming family and line.
    OSError
        If the source of a family is not there.
    """
    compiler = Compiler()
    for number, family in enumerate(families):
        compiler.family(number, family)
    return compiler.program()


class Compiler(Expressions):
    """Statements and functions."""

    # --- families and functions -----------------------------------------------------------------

    def family(self, number: int, family: FactorFamily) -> None:
        function: Any = type(family).factors
        self.name = family.name
        self.emit(k.FAMILY, number)
        prefix = f"{len(family.name)}:{family.name}"
        tree = self.source(function)
        scope = self.scope(function, tree, [Const(family), THE_VIEW])
        scope.give = partial(self.factor, prefix)
        self.body(tree.body, scope)
        self.place(scope.end)

    def source(self, function: FunctionType) -> ast.FunctionDef:
        text = textwrap.dedent(inspect.getsource(function))
        self.line = function.__code__.co_firstlineno - 1
        tree = ast.parse(text).body[0]
        if not isinstance(tree, ast.FunctionDef):
            self.fail("what is not a function", tree)
        return tree

    def scope(self, function: FunctionType, tree: ast.FunctionDef, values: list[Any]) -> Scope:
        names = [argument.arg for argument in tree.args.args]
        if len(names) != len(values) or tree.args.kwonlyargs or tree.args.vararg:
            self.fail("these arguments", tree)
        env = dict(zip(names, values))
        return Scope(env, function.__globals__, changing_names(tree), None, Label(), [])

    def inline(self, function: FunctionType, values: list[Any], give: Any, node: ast.AST) -> Any:
        """The body of a function in place of a call; what it returns, or gives one by one."""
        line, tree = self.line, self.source(function)
        scope = self.scope(function, tree, values)
        scope.give = give
        if give is None and not isinstance(tree.body[-1], ast.Return):
            self.fail(f"{function.__name__}: it does not end with return", node)
        self.body(tree.body, scope)
        self.place(scope.end)
        self.line = line
        return scope.result

    # --- statements -----------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self.statement(statement, scope)

    def statement(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(ast.Yield(value)) if value is not None and scope.give is not None:
                scope.give(value, scope)
            case ast.Expr(ast.Call(ast.Attribute(target, "add"), [word])):
                words = self.value(target, scope)
                if not isinstance(words, Words):
                    self.fail("add to what is no set", node)
                number = self.number(self.value(word, scope), word).number
                self.emit(k.SET_ADD, words.number, number)
            case ast.Assign([target], value):
                self.bind(target, self.value(value, scope), scope)
            case ast.AnnAssign(ast.Name() as target, _, value) if value is not None:
                self.bind(target, self.value(value, scope), scope)
            case ast.AugAssign(ast.Name(name), op, value):
                own = scope.env[name]
                self.arithmetic(op, own, self.value(value, scope), node, own)
            case ast.If(test, then, otherwise):
                other, end = Label(), Label()
                self.jump(test, other, False, scope)
                self.body(then, scope)
                if otherwise:
                    self.emit(k.JUMP, end)
                self.place(other)
                self.body(otherwise, scope)
                self.place(end)
            case ast.While(test, body, []):
                top, end = Label(), Label()
                self.place(top)
                self.jump(test, end, False, scope)
                self.loop(body, scope, top, end)
                self.emit(k.JUMP, top)
                self.place(end)
            case ast.For(target, source, body, []):
                self.for_loop(target, source, body, scope)
            case ast.Continue():
                self.emit(k.JUMP, scope.loops[-1][0])
            case ast.Break():
                self.emit(k.JUMP, scope.loops[-1][1])
            case ast.Return(None):
                self.emit(k.JUMP, scope.end)
            case ast.Return(value) if value is not None and scope.give is None:
                scope.result = self.value(value, scope)
            case _:
                self.fail(f"{type(node).__name__.lower()} statement", node)

    def loop(self, body: list[ast.stmt], scope: Scope, again: Label, end: Label) -> None:
        scope.loops.append((again, end))
        self.body(body, scope)
        scope.loops.pop()

    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Tuple):
            if not isinstance(value, Seq) or len(value.items) != len(target.elts):
                self.fail("this assignment", target)
            for part, item in zip(target.elts, value.items):
                self.bind(part, item, scope)
            return
        if not isinstance(target, ast.Name):
            self.fail("assignment to what is no name", target)
        if target.id not in scope.mutable:
            scope.env[target.id] = value
        elif isinstance(scope.env.get(target.id), Reg):
            source, own = self.load(value, target), scope.env[target.id]
            if source.type is not own.type:
                self.fail(f"{target.id}: values of two types", target)
            self.emit(k.MOVE, own.number, source.number)
        else:
            scope.env[target.id] = self.copy(value, target)

    def for_loop(
        self, target: ast.expr, source: ast.expr, body: list[ast.stmt], scope: Scope
    ) -> None:
        top, again, end = Label(), Label(), Label()
        match source:
            case ast.Call(ast.Name("range"), [*bounds]) if 1 <= len(bounds) <= 2:
                low = Const(0) if len(bounds) == 1 else self.value(bounds[0], scope)
                high = self.copy(self.value(bounds[-1], scope), source)
                self.counting(target, low, high, None, body, scope)
            case ast.Call(ast.Name("enumerate"), [ast.expr() as listed]):
                column = self.value(listed, scope)
                if not isinstance(column, Column) or not isinstance(target, ast.Tuple):
                    self.fail("enumerate of this", source)
                high = self.new(int)
                self.emit(k.ADD, high.number, 0, self.load(Const(1), source).number)
                self.counting(target.elts[0], Const(0), high, (target.elts[1], column), body, scope)
            case ast.Call(ast.Attribute(owner, "heads_of" | "modifiers_of" as what), [word]) if (
                self.value(owner, scope) is THE_VIEW
            ):
                heads = what == "heads_of"
                place, _ = self.new(int), self.new(int)
                word_reg = self.number(self.value(word, scope), word)
                self.emit(k.HEADS if heads else k.MODS, place.number, word_reg.number)
                variable = self.new(int)
                self.bind(target, variable, scope)
                self.place(top)
                next_op = k.NEXT_HEAD if heads else k.NEXT_MOD
                self.emit(next_op, place.number, variable.number, end)
                self.loop(body, scope, top, end)
                self.emit(k.JUMP, top)
            case ast.Call(ast.Name(name), arguments) if isinstance(
                scope.names.get(name), FunctionType
            ):
                def give(value: ast.expr, inner: Scope) -> None:
                    after = Label()
                    self.bind(target, self.value(value, inner), scope)
                    line, self.line = self.line, outer_line
                    self.loop(body, scope, after, end)
                    self.line = line
                    self.place(after)

                outer_line = self.line
                values = [self.value(argument, scope) for argument in arguments]
                self.inline(scope.names[name], values, give, source)
            case _:
                items = self.value(source, scope)
                if not isinstance(items, Seq):
                    self.fail("a loop over this", source)
                for item in items.items:
                    self.bind(target, item, scope)
                    again = Label()
                    self.loop(body, scope, again, end)
                    self.place(again)
        self.place(end)

    def counting(
        self, target: ast.expr, low: Any, high: Reg, listed: Any, body: list[ast.stmt],
        scope: Scope,
    ) -> None:  # fmt: skip
        """A loop over numbers, and what a column says of each where `listed` is given.

        Where the loop begins by passing over words that fail a test, the test is made a column,
        and one instruction goes on to the next word that passes.
        """
        top, end = Label(), Label()
        place, variable = self.copy(low, target), self.new(int)
        self.bind(target, variable, scope)
        if listed is not None:
            self.bind(listed[0], Item(self.field(listed[1].name), variable, 0), scope)
        self.place(top)
        body = list(body)
        match body[0]:
            case ast.If(test, [ast.Continue()], []):
                first, *others = (
                    test.values
                    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
                )
                found = self.tested(first, scope)
                if found is not None and found.word == variable and found.offset == 0:
                    keep = self.asked(found, "not", negation, bool)
                    self.emit(
                        k.FIND, place.number, variable.number, end, high.number, keep.column
                    )
                    body[:1] = [
                        ast.copy_location(ast.If(other, [ast.Continue()], []), test)
                        for other in others
                    ]
                    self.loop(body, scope, top, end)
                    self.emit(k.JUMP, top)
                    self.place(end)
                    return
            case _:
                pass
        self.emit(k.NEXT, place.number, variable.number, end, high.number)
        self.loop(body, scope, top, end)
        self.emit(k.JUMP, top)
        self.place(end)

    # --- factors --------------------------------------------------------------------------------

    def factor(self, prefix: str, node: ast.expr, scope: Scope) -> None:
        """The instructions of ``yield arcs, features``."""
        if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
            self.fail("yield of other than arcs and features", node)
        arcs = self.value(node.elts[0], scope)
        if not isinstance(arcs, Seq) or not 2 <= len(arcs.items) <= k.MOST_ARCS:
            self.fail(f"a factor of other than 2 to {k.MOST_ARCS} arcs", node)
        words: list[int] = []
        for arc in arcs.items:
            if not isinstance(arc, Seq) or len(arc.items) != 2:
                self.fail("an arc of other than two words", node)
            words += [self.number(word, node).number for word in arc.items]
        end = Label()
        self.emit(k.FACTOR, len(self.args), len(arcs.items), end)
        self.args += words
        features = self.value(node.elts[1], scope)
        if not isinstance(features, Seq):
            self.fail("features that are no list", node)
        loaded: dict[Item, Reg] = {}
        for feature in features.items:
            pieces: list[tuple[int, Any]] = [(k.LITERAL, prefix)]
            self.pieces(feature, pieces, loaded, node)
            start = len(self.args)
            literal = ""
            for kind, piece in [*pieces, (k.LITERAL, "")]:
                if kind == k.LITERAL:
                    literal += piece
                if literal and (kind != k.LITERAL or piece == ""):
                    raw = literal.encode("utf-8", "surrogatepass")
                    self.args += [k.LITERAL, self.constant(raw)]
                    literal = ""
                if kind != k.LITERAL:
                    self.args += [kind, piece]
            self.emit(k.FEATURE, start, (len(self.args) - start) // 2)
        self.emit(k.DONE)
        self.place(end)

    def pieces(
        self, value: Any, out: list[tuple[int, Any]], loaded: dict[Item, Reg], node: ast.AST
    ) -> None:
        """The canonical text of a feature, as literals and registers."""
        if isinstance(value, Seq):
            out.append((k.LITERAL, "("))
            for item in value.items:
                self.pieces(item, out, loaded, node)
            out.append((k.LITERAL, ")"))
        elif isinstance(value, Const):
            out.append((k.LITERAL, canonical(value.value)))
        else:
            if isinstance(value, Item):
                if value not in loaded:
                    loaded[value] = self.load(value, node)
                value = loaded[value]
            reg = self.load(value, node)
            out.append((k.TEXT if reg.type is str else k.NUMBER, reg.number))
