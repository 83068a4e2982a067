"""The four recurrences as data: the states that they keep and the parts that they score.

All of them run on one chart builder (`inference.oracles.projective.build`), because they differ
only in what a half span and an incomplete span remember:

==============  ==================  =======================  =========  ======================
recurrence      half span keyed by  incomplete span keyed by dense cost source
==============  ==================  =======================  =========  ======================
``first``       word                arc                      O(n^3)     Eisner 1996
``sibling``     word                arc                      O(n^3)     McDonald & Pereira 2006
``carreras``    arc into the word   arc                      O(n^4)     Carreras 2007
``grandsib``    arc into the word   arc and the arc above    O(n^4)     Koo & Collins 2010
==============  ==================  =======================  =========  ======================

With k candidate heads per word, the cost of the last two falls to O(n^2 k^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from bbparse.core import Problem
from bbparse.core.parts import KINDS
from bbparse.runtime.errors import ProblemError


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A dynamic program: its states, and therefore the parts that it scores."""

    name: str  #: Name in configurations and on the command line.
    mode: int  #: Mode of the chart builder.
    holds: frozenset[str]  #: Part kinds (prefixes of the ``Problem`` arrays) that it scores.


#: By name, the cheapest first.
RECURRENCES = {
    name: Recurrence(name, mode, frozenset(holds))
    for mode, (name, holds) in enumerate(
        {"first": (), "sibling": ("sib",), "carreras": ("sib", "ogc"), "grandsib": KINDS}.items()
    )
}
GRANDSIB = RECURRENCES["grandsib"]

_SCORES = [(kind, f"{kind}_score") for kind in KINDS]


@cache
def _cheapest(parts: frozenset[str]) -> Recurrence:
    """Return the cheapest recurrence that scores all the given part kinds."""
    return next(r for r in RECURRENCES.values() if parts <= r.holds)


def part_kinds(problem: Problem) -> frozenset[str]:
    """Return the part kinds for which a problem has scores."""
    return frozenset([kind for kind, name in _SCORES if len(getattr(problem, name))])


def recurrence_for(problem: Problem, name: str | None) -> Recurrence:
    """Return the recurrence with a name, or the cheapest one that can score a problem."""
    parts = part_kinds(problem)
    if name is None:
        return _cheapest(parts)
    if name not in RECURRENCES:
        raise ProblemError(f"unknown backbone {name!r}: one of {', '.join(RECURRENCES)}")
    if not parts <= RECURRENCES[name].holds:
        missing = ", ".join(sorted(parts - RECURRENCES[name].holds))
        raise ProblemError(f"the {name} backbone cannot score parts of kind {missing}")
    return RECURRENCES[name]
