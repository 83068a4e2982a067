"""What the compiler of families knows of values, and the questions to words that columns are."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bbparse.factors.rule_words import Question


@dataclass(frozen=True)
class Const:
    """Known when the family is compiled."""

    value: Any


@dataclass(frozen=True)
class Reg:
    """A register; `type` is int, bool or str."""

    number: int
    type: type


@dataclass(frozen=True)
class Column:
    """One of the lists of a view."""

    name: str


@dataclass(frozen=True)
class Item:
    """What column `column` says of the word in a register plus an offset."""

    column: int
    word: Reg
    offset: int


@dataclass(frozen=True)
class Slice:
    """A stretch of a list."""

    name: str
    low: Reg
    high: Reg


@dataclass(frozen=True)
class Seq:
    """A tuple or list."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Words:
    """A set of words."""

    number: int


class View:
    """The view itself."""


THE_VIEW = View()
Env = dict[str, Any]


class Label:
    place = -1


@dataclass
class Scope:
    """A function that is being compiled."""

    env: Env
    names: dict[str, Any]
    mutable: frozenset[str]
    #: What to do with a value that is yielded, and where a return leads.
    give: Callable[[ast.expr, Scope], None] | None
    end: Label
    loops: list[tuple[Label, Label]]
    result: Any = None


# --- questions to words --------------------------------------------------------------------------


def field_of(name: str, word: dict[str, str]) -> str:
    return word[name]


def chain(ask: Callable[[Any], Any], question: Question, word: dict[str, str]) -> Any:
    return ask(question(word))


def always(value: Any, word: dict[str, str]) -> Any:
    return value


def answer_of(function: Callable[..., Any], given: list[Question], word: dict[str, str]) -> Any:
    return function(*(question(word) for question in given))


def negation(value: Any) -> bool:
    return not value


def equals(wanted: Any, value: Any) -> bool:
    return bool(value == wanted)


def is_in(wanted: Any, value: Any) -> bool:
    return value in wanted


def has(wanted: Any, value: Any) -> bool:
    return wanted in value


def folded(value: Any) -> Any:
    """A tuple of constants as a constant."""
    if isinstance(value, Seq) and all(isinstance(item, Const) for item in value.items):
        return Const(tuple(item.value for item in value.items))
    return value


def is_simple(node: ast.expr) -> bool:
    """Whether an expression is a name, a constant, an item or such: one without instructions."""
    match node:
        case ast.Constant() | ast.Name():
            return True
        case ast.Subscript(_, ast.Name() | ast.Constant()):
            return True
        case ast.Subscript(_, ast.BinOp(ast.Name(), _, ast.Constant())):
            return True
        case ast.Tuple(elements):
            return all(isinstance(element, ast.Constant) for element in elements)
        case ast.Attribute():
            return True
        case ast.Call(ast.Name(), arguments):
            return bool(arguments) and all(map(is_simple, arguments))
        case _:
            return False


def changing_names(tree: ast.FunctionDef) -> frozenset[str]:
    """Names that need a register of their own, as what they stand for changes.

    They are assigned more than once, or in a loop and read outside of it or before.
    """
    assigned: dict[str, list[tuple[ast.Name, ast.stmt]]] = {}
    read: dict[str, list[ast.Name]] = {}

    def visit(node: ast.AST, loop: ast.stmt) -> None:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        assigned.setdefault(name.id, []).append((name, loop))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.setdefault(node.id, []).append(node)
        inner = node if isinstance(node, ast.For | ast.While) else loop
        for child in ast.iter_child_nodes(node):
            visit(child, inner)

    visit(tree, tree)
    changing = set()
    for name, places in assigned.items():
        target, loop = places[0]
        first = (target.lineno, target.col_offset)
        last = (loop.end_lineno or 0, loop.end_col_offset or 0)
        if len(places) > 1 or any(
            not first <= (node.lineno, node.col_offset) <= last for node in read.get(name, [])
        ):
            changing.add(name)
    return frozenset(changing)
