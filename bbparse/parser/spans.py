"""Words that should form one subtree: entities, quotations, chunks, by brackets in MISC.

``Entity=(3-person`` opens a span at a word and ``Entity=3)`` closes it at another; ``(4-place)`` is
a word alone, and ``)`` closes the span that was opened last (CorefUD, GUM). The words of a span
form one subtree if one of them only has its head outside; other words may hang from them. A firm
span allows no other trees; a soft one takes its weight off a tree for each further head outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from bbparse.core import Problem
from bbparse.runtime.errors import ProblemError, TreebankError
from bbparse.treebank import NO_HEAD, Sentence
from bbparse.treebank.sentence import misc_values

#: Times the number of arcs into the words of a span, it must stay a valid score.
_MOST_WEIGHT = 1e90
_EXPECTED = f"expected KEY or KEY:WEIGHT, with a weight of 0 to {_MOST_WEIGHT:g}"


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring words, and how messages name them."""

    name: str
    words: range

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
        """Return the spans of two words or more; `TreebankError` names a bracket without other."""
        spans: list[Span] = []
        opened: list[tuple[str, int]] = []
        for m, values in enumerate(misc_values(sentence, self.key), start=1):
            for value in values:
                item = f"{self.key}={value}"
                brackets = re.findall(r"\([^()]*|[^()]*\)", value)
                if "".join(brackets) != value:
                    raise TreebankError(f"{sentence.place(m - 1)}: {item}: expected brackets")
                for bracket in brackets:
                    if bracket[0] == "(":
                        opened.append((bracket, m))
                        continue
                    name = bracket[:-1]
                    fits = [
                        i
                        for i, (other, _) in enumerate(opened)
                        if not name or name in (other[1:], other[1:].partition("-")[0])
                    ]
                    if not fits:
                        raise TreebankError(f"{sentence.place(m - 1)}: {item} closes no span")
                    other, first = opened.pop(fits[-1])
                    if first < m:
                        title = f"{self.key}={other}, words {first} to {m}"
                        spans.append(Span(title, range(first, m + 1)))
        for other, m in opened:
            raise TreebankError(f"{sentence.place(m - 1)}: {self.key}={other} is never closed")
        return [span for span in spans if span.name != self.without]

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
        return any(misc_values(sentence, self.key))

    def check_found(self, found: bool, source: str) -> None:
        """Raise `TreebankError` if no word of a source has the key."""
        if not found:
            raise TreebankError(f"{source}: no word has {self.key}= in MISC")
