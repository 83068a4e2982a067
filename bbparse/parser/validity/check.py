"""Faults of a labelled tree: the validity rules that it breaks, and how it breaks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from bbparse.parser.validity.compiled import CompiledRules
from bbparse.treebank import Sentence
from bbparse.treebank.trees import find_cycle

#: Word at which faults are reported, by kind of rule; for other kinds, the modifier of the arc.
_AT = {"beside": "head", "inside": "head", "below": "other"}

#: Entry of faults that break no rule: the heads form no tree, or a relation is unknown.
NO_ENTRY = -1

#: An arc as (head, modifier).
Arc = tuple[int, int]


class Fault(NamedTuple):
    """A validity rule that a tree breaks, and where."""

    name: str  #: Name of the rule.
    word: int  #: Word at which it is reported; 0 is the root.
    #: Modifiers of the arcs that break it together: of the first and the second arc, and of arcs
    #: through which these two cross.
    arcs: tuple[int, ...]
    entry: int  #: Index into `CompiledRules.entries`, or `NO_ENTRY`.

    def text(self, sentence: Sentence, heads: Sequence[int], labels: Sequence[str]) -> str:
        """Describe the fault in words; heads and labels are those of the words 1 to n."""

        def arc(m: int) -> str:
            head = heads[m - 1]
            head_form = sentence.forms[head - 1] if head > 0 else "_" if head else "ROOT"
            return f"{head_form} -{labels[m - 1]}-> {sentence.forms[m - 1]}"

        return f"{self.name}: " + ", ".join(f"word {m}: {arc(m)}" for m in self.arcs)


def tree_faults(heads: Sequence[int], *, single_root: bool) -> list[Fault]:
    """Return what keeps heads (-1: none) from being a tree, under the names of UD's validator."""
    words = range(1, len(heads) + 1)
    faults = [Fault("head-self-loop", m, (m,), NO_ENTRY) for m in words if heads[m - 1] == m]
    cycle = tuple(find_cycle(heads))
    if len(cycle) > 1:
        faults.append(Fault("non-tree", min(cycle), cycle, NO_ENTRY))
    roots = tuple(m for m in words if heads[m - 1] == 0)
    if single_root and len(roots) > 1:
        faults.append(Fault("multiple-roots", roots[1], roots, NO_ENTRY))
    return faults


class RuledSentence:
    """A sentence under validity rules; its own heads and labels are not read."""

    def __init__(self, rules: CompiledRules, sentence: Sentence) -> None:
        self.rules = rules
        self.sentence = sentence
        self.words = rules.of_words(sentence)

    def between(self, head: int, mod: int) -> int:
        """Return the conditions that an arc may fulfil, as far as its words decide."""
        side = self.rules.left if mod < head else self.rules.right
        return self.words[head].head & self.words[mod].mod & side

    def bits(self, arc: Arc, labels: Sequence[str]) -> list[int]:
        """Return the conditions that an arc fulfils with each of some labels."""
        of_words = self.between(*arc)
        return [of_words & of_label for of_label in map(self.rules.of_label, labels)]

    def faults(
        self, heads: Sequence[int], labels: Sequence[str], projective: bool = False
    ) -> list[Fault]:
        """Return the faults of a tree, given by heads (-1: none) and labels of the words 1 to n."""
        table, words = self.rules, self.words
        arcs = [0]  # the conditions that hold of each arc
        for m, (head, bits) in enumerate(zip(heads, map(table.of_label, labels)), start=1):
            side = table.left if m < head else table.right
            arcs.append(bits & words[head].head & words[m].mod & side if head >= 0 else 0)
        faults: list[Fault] = []
        of_kind = table.of_kind
        across = of_kind["inside"], 0 if projective else of_kind["crossing"]
        found = chain(self._near(heads, arcs), self._across(heads, arcs, *across))
        for hits, first, *others in found:
            for e in ones(hits):
                exception = self.rules.bit(e, 2)
                if not any(bits & exception and h == first for h, bits in zip(heads, arcs[1:])):
                    rule = self.rules.entries[e].rule
                    reported_at = rule.at or _AT.get(rule.kind, "mod")
                    modifier = others[0] if reported_at == "other" else first
                    word = heads[first - 1] if reported_at == "head" else modifier
                    faults.append(Fault(rule.name, word, (first, *others), e))
        return faults

    def _near(self, heads: Sequence[int], arcs: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield entries about one arc, and about arcs that share a word, with their words."""
        size, of_kind = self.rules.size, self.rules.of_kind
        alone, below, beside = of_kind[""], of_kind["below"], of_kind["beside"]
        beside_bits = beside | beside << size
        siblings: dict[int, list[int]] = {}
        for m, (head, bits) in enumerate(zip(heads, arcs[1:]), start=1):
            if bits & alone:
                yield bits & alone, m
            if (firsts := arcs[head] & below) and (hits := bits >> size & firsts):
                yield hits, head, m
            if bits & beside_bits:
                for x in siblings.setdefault(head, []):
                    yield arcs[x] & bits >> size & beside, x, m
                    yield bits & arcs[x] >> size & beside & ~self.rules.mutual, m, x
                siblings[head].append(m)

    def _across(
        self, heads: Sequence[int], arcs: Sequence[int], inside: int, crossing: int
    ) -> Iterator[tuple[int, ...]]:
        """Yield entries about arcs inside or across others, with their words."""
        size = self.rules.size
        for m, (head, bits) in enumerate(zip(heads, arcs[1:]), start=1):
            if not bits & (inside | crossing):
                continue
            low, high = (m, head) if m < head else (head, m)
            for x, head_of_x in enumerate(heads if high - low > 1 else (), start=1):
                is_between = low < x < high
                if is_between and (hits := bits & inside & arcs[x] >> size):
                    yield hits, m, x
                if is_between != (low < head_of_x < high) and (
                    hits := bits & crossing & arcs[x] >> size
                ):
                    related = relation("crossing", (head, m), (head_of_x, x))
                    above: list[int] = []
                    word = head_of_x
                    while related == PERHAPS and word > 0 and word != head:
                        above.append(word)
                        word = heads[word - 1]
                    if related and (not above or word != head):
                        yield hits, m, x, *above


NEVER, PERHAPS, ALWAYS = range(3)


def relation(kind: str, arc: Arc, other: Arc) -> int:
    """Return whether an arc and another are what rules of a kind, inside or crossing, forbid.

    PERHAPS they cross: the other arc makes this one non-projective unless it is below its head.
    """
    (head, mod), low, high = arc, min(arc), max(arc)
    is_inside = [low < word < high for word in other]
    if kind == "inside":
        return ALWAYS if is_inside[1] else NEVER
    if is_inside[0] == is_inside[1] or {*arc} & {*other}:
        return NEVER
    outer = other[0] if is_inside[1] else other[1]
    return ALWAYS if (outer > mod) == (mod > head) or other[0] == 0 else PERHAPS


def ones(bits: int) -> Iterator[int]:
    """Yield the indices of the bits that are set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
