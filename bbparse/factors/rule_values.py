"""What stands for words in rules, and for what is asked of them; see `AnySentence`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partialmethod
from typing import Any, TypeAlias

from bbparse.errors import FactorError
from bbparse.factors import rule_kernel as k

#: Attributes of a word, in the order of `bbparse.factors.rules`.
FIELDS = ("form", "lower", "lemma", "upos", "xpos", "feats")

Loop: TypeAlias = "Callable[[int, int, list[Any], int], Iterator[AnyWord]]"
"""Instructions to begin and to go on, operands, and how many words each turn gives."""

_OPPOSITE = {"<": "<=", "<=": "<", "==": "!=", "!=": "=="}
_WRITTEN_ONCE = (
    "rules are written once for all sentences: use require, when, choose, isin, & and | "
    "instead of if, in, and, or, not and chains of comparisons"
)


class AnyValue:
    """Text, a number or a truth value that depends on the sentence.

    Comparisons and ``+``, ``-``, ``&``, ``|``, ``~`` give others.
    """

    def __init__(self, key: tuple[Any, ...], *, is_text: bool = False) -> None:
        self.key = key
        self.is_text = is_text

    def isin(self, wanted: Iterable[Hashable]) -> AnyValue:
        """Whether it is one of some constants; of a word's attributes or answers."""
        return self._asks("in", frozenset(wanted))

    def has(self, wanted: str) -> AnyValue:
        """Whether it is a text with some text in it; of a word's attributes or answers."""
        return self._asks("has", wanted)

    def _asks(self, what: str, wanted: Hashable) -> AnyValue:
        if self.key[0] != "load":
            raise FactorError(f"{what}: expected what a word is or answers")
        _, question, *place = self.key
        return AnyValue(("load", (what, question, wanted), *place))

    def _two(self, operation: str, other: Any, turned: bool = False) -> AnyValue:
        pair = (other, self) if turned else (self, other)
        texts = {isinstance(one, str) or getattr(one, "is_text", False) for one in pair}
        if texts == {True, False} or (True in texts and operation not in ("==", "!=")):
            raise FactorError(f"{operation}: expected two numbers, or == or != of two texts")
        return AnyValue((operation, *(key_of(one) for one in pair)))

    def __eq__(self, other: object) -> AnyValue:  # type: ignore[override]
        if self.key[0] == "load" and not isinstance(other, AnyValue):
            return self.isin([other])
        return self._two("==", other)

    def __ne__(self, other: object) -> AnyValue:  # type: ignore[override]
        return ~(self == other)

    __lt__ = partialmethod(_two, "<")
    __le__ = partialmethod(_two, "<=")
    __gt__ = partialmethod(_two, "<", turned=True)
    __ge__ = partialmethod(_two, "<=", turned=True)
    __and__ = partialmethod(_two, "and")
    __or__ = partialmethod(_two, "or")

    def __add__(self, other: Any) -> AnyValue:
        return self._two("+", other)

    def __sub__(self, other: Any) -> AnyValue:
        return self._two("-", other)

    def __invert__(self) -> AnyValue:
        operation, *operands = self.key
        if operation == "load":
            return self._asks("not", None)
        if operation in ("==", "!="):
            return AnyValue((_OPPOSITE[operation], *operands))
        if operation in ("<", "<="):
            return AnyValue((_OPPOSITE[operation], *reversed(operands)))
        return AnyValue(("==", self.key, ("constant", int, 0)))

    def __bool__(self) -> bool:
        raise FactorError(_WRITTEN_ONCE)

    __iter__ = None
    __hash__ = None  # type: ignore[assignment]


class AnyWord(AnyValue):
    """A word, as its number: ``word + 1`` is the next one, whether the sentence has it or not.

    Its attributes are ``form``, ``lower``, ``lemma``, ``upos``, ``xpos`` and ``feats``, texts.
    The root's are ``<root>``, and those of words that are not there empty.
    """

    def __init__(self, loop: Loop, key: tuple[Any, ...], offset: int = 0) -> None:
        super().__init__(("+", key, ("constant", int, offset)) if offset else key)
        self._loop = loop
        self._place = key, offset

    def __getattr__(self, name: str) -> AnyValue:
        if name not in FIELDS:
            raise AttributeError(f"a word has no {name!r}; it has {', '.join(FIELDS)}")
        return AnyValue(("load", ("field", name), *self._place), is_text=True)

    def ask(self, function: Callable[..., str | int], *attributes: str) -> AnyValue:
        """What a function of some attributes says; it is asked once for each distinct word."""
        answer = function(*("<root>" for _ in attributes))
        question = ("ask", function, *attributes)
        return AnyValue(("load", question, *self._place), is_text=isinstance(answer, str))

    @property
    def heads(self) -> Iterator[AnyWord]:
        """Candidate heads, ascending; 0 is the root."""
        return self._loop(k.HEADS, k.NEXT_HEAD, [self.key], 1)

    @property
    def modifiers(self) -> Iterator[AnyWord]:
        """Candidate modifiers, ascending."""
        return self._loop(k.MODS, k.NEXT_MOD, [self.key], 1)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, int):
            return AnyWord(self._loop, self._place[0], self._place[1] + other)
        return super().__add__(other)

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, int) else super().__sub__(other)


def key_of(value: Any) -> tuple[Any, ...]:
    """What a value or constant is made of."""
    if isinstance(value, AnyValue):
        return value.key
    if isinstance(value, str):
        return ("constant", str, value)
    if isinstance(value, int):
        return ("constant", int, int(value))
    raise FactorError(f"expected text, an integer or what rules give, found {value!r}")
