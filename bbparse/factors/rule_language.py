"""The language of rules: what stands for a sentence, its words and what is asked of them.

`RuleFamily.rules` is run once, not once for a sentence. It is given an `AnySentence`; what it asks
becomes instructions of `bbparse.factors.rule_kernel`. A loop over words gives one `AnyWord`, which
stands for all of them, and a comparison an `AnyValue`, whose truth nobody knows yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bbparse.errors import FactorError
from bbparse.factors import rule_kernel as k
from bbparse.factors.rule_values import AnyValue, AnyWord, key_of
from bbparse.factors.table import CLOSE, NUMBER, OPEN, TEXT
from bbparse.factors.view import FactorView

Relation = Callable[[FactorView], Iterable[Sequence[int]]]
"""Plain Python that gives tuples of words of a sentence; it must not ask for arcs."""

_OPERATIONS = {
    "+": k.ADD, "-": k.SUB, "min": k.MIN, "max": k.MAX, "and": k.MIN, "or": k.MAX, "<": k.LT,
    "<=": k.LE, "==": k.EQ, "!=": k.NE, "arc": k.ARC, "load": k.LOAD, "choose": k.CHOOSE,
}  # fmt: skip
_ONE_WORD = ("word of a test",)


class _Spot:
    """A place in a program, or a constant, whose number is known in the end."""

    number = -1


class AnySentence:
    """Stands for the sentences that rules will be run for; makes the program of several families.

    Attributes
    ----------
    n_words : AnyWord
        The last word.
    root : AnyWord
    """

    def __init__(self) -> None:
        self._code: list[list[Any]] = []
        self._operands: list[Any] = []
        self._n_registers = 1
        self._blocks: list[_Spot] = []
        self._constants: dict[tuple[type, Any], _Spot] = {}
        self.questions: dict[Any, int] = {}
        self.relations: dict[Relation, int] = {}
        self.n_words = AnyWord(self._loop, ("register", 0))
        self.root = AnyWord(self._loop, ("constant", int, 0))

    # --- what rules say -------------------------------------------------------------------------

    def words(self, low: Any = 1, high: Any = None) -> Iterator[AnyWord]:
        """Words from ``low`` to ``high - 1``, ascending; all of them if left out."""
        end = self.n_words + 1 if high is None else high
        return self._loop(k.WORDS, k.NEXT_WORD, [key_of(low), key_of(end)], 1, -1)

    def word(self, number: AnyValue) -> AnyWord:
        """The word of some number."""
        return AnyWord(self._loop, number.key)

    def tuples(self, relation: Relation, size: int) -> Iterator[Any]:
        """Tuples of words that a function in plain Python gives for a sentence."""
        number = self.relations.setdefault(relation, len(self.relations))
        return self._loop(k.ROWS, k.NEXT_ROW, [number], size, size)

    def has_arc(self, head: AnyWord, mod: AnyWord) -> AnyValue:
        """Whether an arc is a candidate."""
        return AnyValue(("arc", head.key, mod.key))

    def require(self, *tests: AnyValue) -> None:
        """Leave the innermost loop's turn (or `when`, or the family) unless all tests hold."""
        for test in tests:
            operation, *operands = test.key
            if operation == "and":
                self.require(*map(AnyValue, operands))
            elif operation in ("<", "<=", "==", "!=", "arc", "load"):
                self._test(operation, operands)
            else:
                self._test("!=", [test.key, ("constant", int, 0)])

    @contextmanager
    def when(self, *tests: AnyValue) -> Iterator[None]:
        """What follows is for where all tests hold."""
        end = _Spot()
        self._blocks.append(end)
        self.require(*tests)
        yield
        self._close(end)
        end.number = len(self._code)

    def choose(self, test: AnyValue, then: Any, otherwise: Any) -> AnyValue:
        """One value where a test holds, another where it does not."""
        key = ("choose", test.key, key_of(then), key_of(otherwise))
        return AnyValue(key, is_text=isinstance(then, str) or getattr(then, "is_text", False))

    def smaller(self, a: Any, b: Any) -> AnyValue:
        """The smaller of two numbers."""
        return AnyValue(("min", key_of(a), key_of(b)))

    def larger(self, a: Any, b: Any) -> AnyValue:
        """The larger of two numbers."""
        return AnyValue(("max", key_of(a), key_of(b)))

    def count(self, test: Callable[[AnyWord], AnyValue], low: Any, high: Any) -> AnyValue:
        """How many of the words from ``low`` to ``high - 1`` pass a test of an attribute.

        The test may be an equality of an attribute and of what another word's is.
        """
        operation, *operands = test(AnyWord(self._loop, _ONE_WORD)).key
        wanted: tuple[Any, ...] = ("constant", int, 1)
        if operation == "==":
            (operation, *operands), wanted = operands
        if operation != "load" or operands[1:] != [_ONE_WORD, 0]:
            raise FactorError("count: expected a test of one attribute of the word")
        column = self._column(operands[0])
        keys = (key_of(low), key_of(high), wanted)
        out, registers = self._registers(1), [self._value(key, {}) for key in keys]
        self._emit(k.COUNT, out, column, *registers)
        return AnyValue(("register", out))

    # --- loops ----------------------------------------------------------------------------------

    def _loop(
        self, begin: int, again: int, keys: list[Any], size: int, more: int = 0
    ) -> Iterator[Any]:
        place, first = self._registers(2), self._registers(size)
        self._emit(begin, place, *(self._value(key, {}) if isinstance(key, tuple) else key
                                   for key in keys))  # fmt: skip
        top, end = _Spot(), _Spot()
        top.number = len(self._code)
        self._emit(again, place, first, end, more)
        words = [AnyWord(self._loop, ("register", first + i)) for i in range(size)]
        before = len(self._code), len(self._operands), self._n_registers
        written: list[Any] = []
        for _ in range(2):  # the second turn must be as the first
            del self._code[before[0] :], self._operands[before[1] :]
            self._code[top.number][4] = more
            self._n_registers = before[2]
            self._blocks.append(top)
            yield words[0] if size == 1 else tuple(words)
            self._close(top)
            written.append(_numbers([self._code[before[0] - 1 :], self._operands[before[1] :]]))
        if written[0] != written[1]:
            raise FactorError(
                "a loop whose second turn is not like its first: rules are written once for all "
                "words, and cannot count or collect"
            )
        self._emit(k.JUMP, top)
        end.number = len(self._code)

    def _close(self, block: _Spot) -> None:
        if self._blocks.pop() is not block:
            raise FactorError("a loop was left by break")

    # --- instructions ---------------------------------------------------------------------------

    def _emit(self, *instruction: Any) -> None:
        self._code.append([*instruction, *([0] * (6 - len(instruction)))])

    def _registers(self, number: int) -> int:
        self._n_registers += number
        return self._n_registers - number

    def _column(self, question: Any) -> int:
        return self.questions.setdefault(question, len(self.questions))

    def _test(self, operation: str, operands: list[Any]) -> None:
        """Leave the innermost block unless a test holds."""
        leave = self._blocks[-1]
        if operation == "load":
            question, word, offset = operands
            column, loop = self._column(question), self._code[-1]
            begins = leave.number == len(self._code) - 1 and loop[0] == k.NEXT_WORD
            if begins and loop[4] < 0 and (word, offset) == (("register", loop[2]), 0):
                loop[4] = column  # goes on to the next word that passes
                return
            self._emit(k.LOAD, -1, column, self._value(word, {}), offset, leave)
        else:
            a, b = (self._value(key, {}) for key in operands)
            self._emit(_OPERATIONS[operation], -1, a, b, 0, leave)

    def _value(self, key: tuple[Any, ...], known: dict[Any, Any]) -> Any:
        """The register of a value; `known` are those of values that were made before."""
        operation, *operands = key
        if operation == "register":
            return operands[0]
        if operation == "constant":
            spot = self._constants.setdefault((operands[0], operands[1]), _Spot())
            if spot.number == -1:
                spot.number = -1 - len(self._constants)  # tells it from others for now
            return spot
        if key not in known:
            if operation == "load":
                question, word, offset = operands
                parts = [self._column(question), self._value(word, known), offset]
            elif operation in _OPERATIONS:
                parts = [self._value(operand, known) for operand in operands]
            else:
                raise FactorError("the word of a test outside of the test")
            known[key] = self._registers(1)
            self._emit(_OPERATIONS[operation], known[key], *parts)
        return known[key]

    # --- factors --------------------------------------------------------------------------------

    def add(self, name: str, rules: Callable[[AnySentence], Iterable[tuple[Any, Any]]]) -> None:
        """Add the rules of a family; `FactorError` if they are no rules."""
        end = _Spot()
        self._blocks = [end]
        for arcs, features in rules(self):
            self._factor(name, list(arcs), features)
        self._close(end)
        end.number = len(self._code)

    def _factor(self, name: str, arcs: list[Any], features: Any) -> None:
        known: dict[Any, Any] = {}
        if not 2 <= len(arcs) <= k.MOST_ARCS:
            raise FactorError(f"expected a factor of 2 to {k.MOST_ARCS} arcs, found {len(arcs)}")
        if isinstance(features, str | AnyValue):
            raise FactorError(f"features: expected a sequence of features, found {features!r}")
        places = [self._value(key_of(word), known) for arc in arcs for word in arc]
        end = _Spot()
        self._emit(k.FACTOR, len(self._operands), len(arcs), end)
        self._operands += places
        for feature in features:
            made = [self._value(("constant", str, name), known), *self._pieces(feature, known)]
            self._emit(k.FEATURE, len(self._operands), len(made) // 2)
            self._operands += made
        self._emit(k.DONE)
        end.number = len(self._code)

    def _pieces(self, feature: Any, known: dict[Any, Any]) -> Iterator[Any]:
        """Kind and register of each token of a feature."""
        if isinstance(feature, tuple):
            yield from (OPEN, 0)
            for item in feature:
                yield from self._pieces(item, known)
            yield from (CLOSE, 0)
        else:
            is_text = isinstance(feature, str) or getattr(feature, "is_text", False)
            yield TEXT if is_text else NUMBER
            yield self._value(key_of(feature), known)

    def program(self) -> tuple[k.Program, list[str]]:
        """The program, and the texts that are its first: number i stands for text i."""
        self._emit(k.END)
        values, texts = [0] * self._n_registers, {"": 0}
        for (type_, value), spot in self._constants.items():
            spot.number = len(values)
            values.append(texts.setdefault(value, len(texts)) if type_ is str else value)
        code = np.array(_numbers(self._code), np.int64)
        operands = np.array(_numbers(self._operands), np.int64)
        return k.Program(code, operands, np.array(values, np.int64)), list(texts)


def _numbers(program: Any) -> Any:
    if isinstance(program, list):
        return [_numbers(item) for item in program]
    return program.number if isinstance(program, _Spot) else program
