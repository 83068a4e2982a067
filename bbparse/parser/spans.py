"""Words that should form one subtree: entities, quotations, chunks, by brackets in MISC.

``Entity=(3-person`` opens a span at a word and ``Entity=3)`` closes it at another; ``(4-place)`` is
a word alone, and ``)`` closes the span that was opened last (CorefUD, GUM). The parts of
``(e1[1/2]`` and ``(e1[2/2]`` are one span. At an empty node a span begins with the next word or
ends with the last one; at a multiword token it has all its words. A bracket without its other one
belongs to a mention across sentences, which binds no word. The words of a span form one subtree if
one of them only has its head outside; other words may hang from them. A firm span allows no other
trees; a soft one takes its weight off a tree for each further head outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from bbparse.core import Problem
from bbparse.runtime.errors import ProblemError, TreebankError
from bbparse.treebank import NO_HEAD, Sentence

#: The part of a mention: ``e1[1/2]``.
_PART = re.compile(r"(.*)\[(\d+)/(\d+)\]")
#: Times the number of arcs into the words of a span, it must stay a valid score.
_MOST_WEIGHT = 1e90
_EXPECTED = f"expected KEY or KEY:WEIGHT, with a weight of 0 to {_MOST_WEIGHT:g}"


@dataclass(frozen=True, slots=True)
class Span:
    """Words, and how messages name them."""

    name: str
    words: Sequence[int]

    def entries(self, heads: Sequence[int]) -> list[int]:
        """Return the words whose heads are outside; heads are those of the words 1 to n."""
        known = [(m, heads[m - 1]) for m in self.words]
        return [m for m, head in known if head != NO_HEAD and head not in self.words]


@dataclass(frozen=True, slots=True)
class Spans:
    """Which spans of a sentence count, and how much."""

    key: str
    weight: float | None = None  #: None: firm.
    without: str = ""  #: Name of a span that is left out.

    @classmethod
    def parsed(cls, text: str) -> Spans:
        """Read ``KEY`` or ``KEY:WEIGHT``; `ProblemError` if it is neither."""
        key, colon, number = text.partition(":")
        weight = -1.0 if colon else None
        with suppress(ValueError):
            weight = float(number) if colon else None
        if not key or "=" in key or not (weight is None or 0.0 <= weight <= _MOST_WEIGHT):
            raise ProblemError(f"spans is {text!r}, {_EXPECTED}")
        return cls(key, weight)

    def of(self, sentence: Sentence) -> list[Span]:
        """Return the spans of two words or more; `TreebankError` for brackets that do not fit."""
        spans: list[Span] = []
        opened: list[tuple[str, int]] = []
        closed: list[tuple[str, tuple[str, int]]] = []  # brackets that close none of those open
        parts: dict[str, list[int]] = {}
        for place, first, last, value in self._items(sentence):
            brackets = re.findall(r"\([^()]*|[^()]*\)", value)
            if "".join(brackets) != value:
                raise TreebankError(f"{place}: {self.key}={value:.60}: expected brackets")
            for bracket in brackets:
                if bracket[0] == "(":
                    opened.append((bracket, first))
                    continue
                name = bracket[:-1]
                names = [(other[1:], other[1:].partition("-")[0]) for other, _ in opened]
                fits = [i for i, known in enumerate(names) if not name or name in known]
                if not fits:
                    closed += [(f"{place}: {self.key}={bracket:.60}", each) for each in opened]
                    continue
                title, begin = opened.pop(fits[-1])
                words = [*range(begin, last + 1)]
                if part := _PART.fullmatch(names[fits[-1]][1]):
                    parts[part[1]] = words = parts.get(part[1], []) + words
                    if part[2] != part[3]:
                        continue
                    del parts[part[1]]
                if len(words) > 1:
                    where = f"{words[0]} to {words[-1]}"
                    spans.append(Span(f"{self.key}={title}, words {where}", words))
        for bracket, (other, m) in closed:
            if (other, m) in opened:  # in one sentence: no mention of several
                raise TreebankError(
                    f"{bracket} closes no span, and {other:.60} of word {m} is open"
                )
        return [span for span in spans if span.name != self.without]

    def _items(self, sentence: Sentence) -> Iterator[tuple[str, int, int, str]]:
        """Yield the place of each value, the words where it opens a span and closes one, and it."""
        key = f"{self.key}="
        for i, line in enumerate(sentence.lines):
            if line.startswith("#") or key not in line:
                continue
            number, *_, misc = line.rstrip("\r").split("\t")
            first, _, last = number.partition("-")
            m, dot, _ = first.partition(".")
            place = f"{sentence.source}, line {sentence.line_number + i}, {sentence.name}"
            for item in misc.split("|"):
                if item.startswith(key):
                    yield place, int(m) + bool(dot), int(last or m), item.removeprefix(key)

    def onto(self, problem: Problem, sentence: Sentence) -> Problem:
        """Return the problem of a sentence with its spans."""
        for span in self.of(sentence):
            problem = problem.with_subtree(span.words, complete=False, weight=self.weight)
        return problem

    def blame(self, sentence: Sentence, count: Callable[[Spans], float], now: float) -> str:
        """Name the firm spans without each of which `count` finds fewer faults than `now`."""
        spans = [] if self.without or self.weight is not None else self.of(sentence)
        names = [x.name for x in spans if count(replace(self, without=x.name)) < now]
        return f", against {' and '.join(names)}" if names else ""

    def are_in(self, sentence: Sentence) -> bool:
        """Return True if a word has the key in MISC."""
        return any(self._items(sentence))
