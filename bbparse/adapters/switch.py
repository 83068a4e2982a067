"""Switching a parser over: its methods are replaced on one object, and put back."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from bbparse.runtime.errors import ProblemError
from bbparse.treebank import Sentence, read_conllu

#: Attribute of a parser that is switched over.
_MARK = "_bbparse_switch"
#: Attribute of a sentence that has its `bbparse.ScoredTree` objects, best first.
TREES = "bbparse_trees"


class Switch(ExitStack):
    """A parser that decodes with bbparse, until `uninstall` or the end of a ``with`` block."""

    def __init__(self, parser: Any) -> None:
        super().__init__()
        if hasattr(parser, _MARK):
            raise ProblemError(
                f"this {type(parser).__name__} decodes with bbparse already: uninstall that first"
            )
        object.__setattr__(parser, _MARK, self)
        self.callback(vars(parser).pop, _MARK)

    def replace(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        """Give one object a method of its own in place of that of its class."""
        if name in vars(owner):
            self.uninstall()
            raise ProblemError(f"{name} of this {type(owner).__name__} is replaced already")
        object.__setattr__(owner, name, function)
        self.callback(vars(owner).pop, name)

    def uninstall(self) -> None:
        """Give the parser its own decoder back; nothing happens the second time."""
        self.close()


def uninstall(parser: Any) -> None:
    """Give a parser its own decoder back, if it decodes with bbparse."""
    switch = getattr(parser, _MARK, None)
    if switch is not None:
        switch.uninstall()


def sentence_of(text: str) -> Sentence:
    """Read one sentence of CoNLL-U, which a parser has printed."""
    return next(iter(read_conllu(io.StringIO(text))))
