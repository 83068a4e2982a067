"""Which rules a tree with labels breaks, and what else would break them in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bbparse.treebank import Sentence
from bbparse.treebank.sentence import find_cycle
from bbparse.validity.table import RuleTable

#: The word that faults are reported at, by kind; it is the arc's modifier for others.
_AT = {"beside": "head", "inside": "head", "below": "other"}

#: The entry of faults that are no rule's: of what is no tree, or has relations of another scheme.
NO_ENTRY = -1

#: An arc, as (head, modifier), of which some labels are meant.
Arc = tuple[int, int]


class Fault(NamedTuple):
    """A rule that a tree breaks."""

    name: str  #: Of the rule.
    word: int  #: Where it is reported; 0 is the root.
    #: The words whose arcs break it together: of the first and the second arc, and of others that
    #: these are in each other's way by.
    arcs: tuple[int, ...]
    entry: int  #: Which of `Rules.entries`; `NO_ENTRY`: of none.

    def text(self, sentence: Sentence, heads: Sequence[int], labels: Sequence[str]) -> str:
        """The fault in words, of a tree with its heads and labels of the words 1 to n."""

        def arc(m: int) -> str:
            head = sentence.forms[heads[m - 1] - 1] if heads[m - 1] else "ROOT"
            return f"{head} -{labels[m - 1]}-> {sentence.forms[m - 1]}"

        return f"{self.name}: " + ", ".join(f"word {m}: {arc(m)}" for m in self.arcs)


def tree_faults(heads: Sequence[int], *, single_root: bool) -> list[Fault]:
    """What keeps heads from being a tree, by the names of UD's official validator where it has one.

    Words that are their own head, a cycle, and more roots than one if there may be but one. Words
    without a head (-1) are in nobody's way.
    """
    words = range(1, len(heads) + 1)
    found = [Fault("head-self-loop", m, (m,), NO_ENTRY) for m in words if heads[m - 1] == m]
    cycle = tuple(find_cycle(heads))
    if len(cycle) > 1:
        found.append(Fault("non-tree", min(cycle), cycle, NO_ENTRY))
    roots = tuple(m for m in words if heads[m - 1] == 0)
    if single_root and len(roots) > 1:
        found.append(Fault("multiple-roots", roots[1], roots, NO_ENTRY))
    return found


class RuledSentence:
    """A sentence under rules; its heads and labels are not looked at."""

    def __init__(self, rules: RuleTable, sentence: Sentence) -> None:
        self.rules = rules
        self.sentence = sentence
        self.words = rules.bits.of_words(sentence)

    def _between(self, head: int, mod: int) -> int:
        """Conditions that hold of an arc as far as its words tell."""
        bits = self.rules.bits
        side = bits.left if mod < head else bits.right
        return self.words[head].head & self.words[mod].mod & side

    def faults(self, heads: Sequence[int], labels: Sequence[str]) -> list[Fault]:
        """What is wrong with a tree; int[n] and n texts. Words whose head is -1 have no arc."""
        size, of_kind = self.rules.size, self.rules.of_kind
        found: list[Fault] = []
        # conditions that hold: bits e, size + e and 2 size + e are those of the first arc, the
        # second arc and the exception of entry e
        arcs = [0]
        words, functions = self.words, self.rules.bits.functions
        left, right = self.rules.bits.left, self.rules.bits.right
        for m, (head, bits) in enumerate(zip(heads, self.rules.bits.of_labels(labels)), start=1):
            bits &= words[head].head & words[m].mod & (left if m < head else right)
            for bit, function in functions if head >= 0 else ():
                if function(self.sentence, head, m, labels[m - 1]):
                    bits |= bit
            arcs.append(bits if head >= 0 else 0)

        def add(hits: int, head: int, first: int, *others: int) -> None:
            for e in ones(hits):
                entry = self.rules.entries[e]
                excepted = 1 << 2 * size + e if entry.unless is not None else 0
                if any(
                    bits & excepted and heads[x] == first for x, bits in enumerate(arcs[1:])
                ):
                    continue
                rule = entry.rule
                at = rule.at or _AT.get(rule.kind, "mod")
                word = head if at == "head" else others[0] if at == "other" else first
                found.append(Fault(rule.name, word, (first, *others), e))

        alone, below, beside = of_kind[""], of_kind["below"], of_kind["beside"]
        either = beside | beside << size
        rivals: dict[int, list[int]] = {}
        for m, bits in enumerate(arcs):
            if bits & alone:
                add(bits & alone, heads[m - 1], m)
            head = heads[m - 1]
            if (firsts := arcs[head] & below) and (hits := bits >> size & firsts):
                add(hits, heads[head - 1], head, m)
            if bits & either:
                for x in rivals.setdefault(head, []):
                    add(arcs[x] & bits >> size & beside, head, x, m)
                    add(bits & arcs[x] >> size & beside & ~self.rules.mutual, head, m, x)
                rivals[head].append(m)
        inside, crossing = of_kind["inside"], of_kind["crossing"]
        for m, bits in enumerate(arcs):
            if not bits & (inside | crossing):
                continue
            low, high = sorted((m, heads[m - 1]))
            for x, other in enumerate(heads if high - low > 1 else (), start=1):
                among = low < x < high
                if among != (low < other < high) or (among and bits & inside):
                    hits = bits & arcs[x] >> size
                    for kind, others in self._lying(heads, m, x) if hits else ():
                        add(hits & of_kind[kind], heads[m - 1], m, x, *others)
        return found

    @staticmethod
    def _lying(heads: Sequence[int], m: int, x: int) -> Iterator[tuple[str, list[int]]]:
        """The kinds that the arcs of m and x are of, far from each other as they may be, and the
        words whose arcs make them so, too."""
        head, other = heads[m - 1], heads[x - 1]
        low, high = min(m, head), max(m, head)
        if low < x < high:
            yield "inside", []
        relation = crosses((head, m), (other, x))
        if relation == NEVER:
            return
        above: list[int] = []
        if relation == PERHAPS:  # beyond the head: harmless where all of it is below the head
            while other > 0 and other != head:
                above.append(other)
                other = heads[other - 1]
            if other == head:
                return
        yield "crossing", above

    def labels_of(
        self, entry: int, part: int, arcs: Iterable[Arc], labels: tuple[str, ...]
    ) -> dict[Arc, frozenset[int]]:
        """Numbers of the labels under which arcs are the first (part 0), the second (1) or an
        exception (2) of an entry; without those arcs that never are. -1 is among them where all
        labels are."""
        bits, bit = self.rules.bits, part * self.rules.size + entry
        functions = [function for own, function in bits.functions if own >> bit & 1]
        if functions:
            (holds,) = functions
            found = {
                arc: frozenset(i for i, x in enumerate(labels) if holds(self.sentence, *arc, x))
                for arc in arcs
            }
            return {arc: numbers for arc, numbers in found.items() if numbers}
        allowed = bits.labels_with(1 << bit, labels)
        if len(allowed) == len(labels):
            allowed |= {-1}
        return {arc: allowed for arc in arcs if allowed and self._between(*arc) >> bit & 1}

    def never(self, arcs: Iterable[Arc], labels: tuple[str, ...]) -> dict[Arc, frozenset[int]]:
        """Numbers of the labels that rules about one arc forbid it, by arc."""
        found = {}
        for arc in arcs:
            bits = self._between(*arc) & self.rules.alone
            if forbidden := self.rules.bits.labels_with(bits, labels):
                found[arc] = forbidden
        return found


NEVER, PERHAPS, ALWAYS = range(3)


def crosses(arc: Arc, other: Arc) -> int:
    """Whether an arc gets in the other's way: perhaps, if it depends on what is below the head."""
    (head, mod), low, high = arc, min(arc), max(arc)
    inside = [low < word < high for word in other]
    if inside[0] == inside[1] or {*arc} & {*other}:
        return NEVER
    outer = other[0] if inside[1] else other[1]
    return ALWAYS if (outer > mod) == (mod > head) or other[0] == 0 else PERHAPS


def ones(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
