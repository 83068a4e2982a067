"""Parts of non-projective problems as terms: arcs that must be there, and arcs that must not.

A projective tree comes apart into spans that know its parts, and a proof bounds parts exactly. Of
non-projective trees only sums over arcs can be maximised exactly, so that parts are bounded by
multipliers as factors are. This is the order in which a proof gives these; plain Python, without
the solver's code, as the checker reads it too.
"""

from __future__ import annotations

from dataclasses import dataclass

from bbparse.problem.base import ProblemArrays
from bbparse.problem.parts import rows_of

#: Arcs into one word, and whether the word must have one of them (False) or none (True).
Literal = tuple[tuple[int, ...], bool]


@dataclass(frozen=True, slots=True)
class Term:
    """A score for the trees that keep all literals."""

    weight: float
    literals: tuple[Literal, ...]

    def renumbered(self, place: list[int]) -> Term:
        """The same with arcs by their places."""
        literals = [(tuple(place[a] for a in arcs), negated) for arcs, negated in self.literals]
        return Term(self.weight, tuple(literals))


def part_terms(problem: ProblemArrays) -> list[Term]:
    """The parts of a non-projective problem: sib, gc, ogc and gsib, each in the problem's order.

    The arcs that a part needs come first: grand → head, head → mod, head → inner, as far as there
    are such. Then come those it forbids: head → x for each x between neighbours, or beyond an
    outermost modifier, ascending. A part that needs an arc which is no candidate is left out, and
    so is what it forbids where there is no such arc. Projective problems have no terms.
    """
    p = problem
    if p.projective:
        return []
    by_words: dict[tuple[int, int], tuple[int, ...]] = {}
    for a, pair in enumerate(zip(p.arc_head.tolist(), p.arc_mod.tolist())):
        by_words[pair] = (*by_words.get(pair, ()), a)
    terms: list[Term] = []

    def add(score: float, needed: list[tuple[int, int]], head: int, without: range) -> None:
        arcs = [by_words.get(pair, ()) for pair in needed]
        if all(arcs):
            gone = [by_words[head, x] for x in without if (head, x) in by_words]
            literals = [(a, False) for a in arcs] + [(a, True) for a in gone]
            terms.append(Term(score, tuple(literals)))

    def sibling(score: float, above: list[tuple[int, int]], h: int, inner: int, m: int) -> None:
        near = h if inner == -1 else inner
        needed = [*above, (h, m)] + ([] if inner == -1 else [(h, inner)])
        add(score, needed, h, range(min(near, m) + 1, max(near, m)))

    for h, inner, m, s in rows_of(p.parts.sib):
        sibling(s, [], h, inner, m)
    for g, h, m, s in rows_of(p.parts.gc):
        add(s, [(g, h), (h, m)], h, range(0))
    for g, h, m, s in rows_of(p.parts.ogc):
        add(s, [(g, h), (h, m)], h, range(m + 1, p.n_words + 1) if m > h else range(1, m))
    for g, h, inner, m, s in rows_of(p.parts.gsib):
        sibling(s, [] if g == -1 else [(g, h)], h, inner, m)
    return terms
