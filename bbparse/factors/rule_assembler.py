"""Instructions, registers, constants and columns of a program of compiled families."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import FactorError
from bbparse.factors import rule_kernel as k
from bbparse.factors.rule_values import Column, Const, Item, Label, Reg, Slice, chain, field_of
from bbparse.factors.rule_words import Question

__all__ = ["Assembler", "Program"]


@dataclass(frozen=True)
class Program:
    """Compiled families; the arrays are those of `bbparse.factors.rule_kernel.run_rules`.

    `constants` and `questions` are for `bbparse.factors.rule_words.RuleWords`.
    """

    code: NDArray[np.int64]
    args: NDArray[np.int64]
    registers: NDArray[np.int64]
    n_sets: int
    constants: list[str | bytes]
    questions: list[Question]


class Assembler:
    """A program in the making."""

    def __init__(self) -> None:
        self.code: list[list[Any]] = []
        self.args: list[int] = []
        self.registers: list[int] = [0]
        self.constants: dict[str | bytes, int] = {}
        self.columns: dict[Any, tuple[int, Question, type]] = {}
        self.known: dict[tuple[type, Any], Reg] = {}
        self.n_sets = 0
        self.line = 0
        self.name = ""
        self.words = Reg(0, int)


    def fail(self, what: str, node: ast.AST | None = None) -> NoReturn:
        where = f"line {self.line + getattr(node, 'lineno', 0)}" if node is not None else "factors"
        raise FactorError(f"factor family {self.name!r}, {where}: cannot compile {what}")

    def emit(self, *instruction: Any) -> None:
        self.code.append([*instruction, *([0] * (6 - len(instruction)))])

    def place(self, label: Label) -> None:
        label.place = len(self.code)

    def new(self, type_: type) -> Reg:
        self.registers.append(0)
        return Reg(len(self.registers) - 1, type_)

    def constant(self, piece: str | bytes) -> int:
        return self.constants.setdefault(piece, len(self.constants))

    def column(self, key: Any, question: Question, type_: type) -> int:
        return self.columns.setdefault(key, (len(self.columns), question, type_))[0]

    def field(self, name: str) -> int:
        return self.column(name, partial(field_of, name), str)

    def about(self, column: int) -> tuple[Any, Question, type]:
        """Key, question and type of a column."""
        return next(
            (key, question, type_)
            for key, (number, question, type_) in self.columns.items()
            if number == column
        )

    def type_of(self, value: Any) -> Any:
        if isinstance(value, Const):
            return type(value.value)
        if isinstance(value, Item):
            return self.about(value.column)[2]
        return value.type if isinstance(value, Reg) else None

    def load(self, value: Any, node: ast.AST) -> Reg:
        """A register with the value."""
        if isinstance(value, Reg):
            return value
        if isinstance(value, Item):
            out = self.new(self.type_of(value))
            self.emit(k.LOAD, out.number, value.column, value.word.number, value.offset)
            return out
        if isinstance(value, Const) and isinstance(value.value, str | int):
            key = (type(value.value), value.value)
            if key not in self.known:
                reg = self.new(type(value.value))
                number = value.value
                self.registers[reg.number] = (
                    self.constant(number) if isinstance(number, str) else int(number)
                )
                self.known[key] = reg
            return self.known[key]
        self.fail("this as a value", node)

    def number(self, value: Any, node: ast.AST) -> Reg:
        reg = self.load(value, node)
        if reg.type is str:
            self.fail("text where a number is expected", node)
        return reg

    def copy(self, value: Any, node: ast.AST) -> Reg:
        """A register of its own with the value."""
        source = self.load(value, node)
        out = self.new(source.type)
        self.emit(k.MOVE, out.number, source.number)
        return out

    def asked(self, item: Item, key: Any, ask: Callable[[Any], Any], type_: type) -> Item:
        """The item of a column that asks something about what an item says."""
        inner_key, question, _ = self.about(item.column)
        column = self.column((key, inner_key), partial(chain, ask, question), type_)
        return Item(column, item.word, item.offset)

    def count(self, stretch: Column | Slice, wanted: Any, node: ast.AST) -> Reg:
        """How often a value stands in a column or slice."""
        column = self.field(stretch.name)
        return self.count_in(column, stretch, self.load(wanted, node), node)

    def count_in(self, column: int, stretch: Column | Slice, value: Reg, node: ast.AST) -> Reg:
        if isinstance(stretch, Slice):
            low, high = stretch.low, stretch.high
        else:
            low, high = self.load(Const(0), node), self.new(int)
            self.emit(k.ADD, high.number, 0, self.load(Const(1), node).number)
        out = self.new(int)
        self.emit(k.COUNT, out.number, column, low.number, high.number, value.number)
        return out

    def program(self) -> Program:
        self.emit(k.END)
        code = [
            [cell.place if isinstance(cell, Label) else cell for cell in instruction]
            for instruction in self.code
        ]
        return Program(
            np.array(code, np.int64), np.array(self.args, np.int64),
            np.array(self.registers, np.int64), self.n_sets, list(self.constants),
            [question for _, question, _ in self.columns.values()],
        )  # fmt: skip
