"""Faults of a labelled tree: the validity rules that it breaks, and how it breaks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bbparse.treebank import Sentence
from bbparse.treebank.sentence import find_cycle
from bbparse.validity.table import RuleTable

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
    entry: int  #: Index into `Rules.entries`, or `NO_ENTRY`.

    def text(self, sentence: Sentence, heads: Sequence[int], labels: Sequence[str]) -> str:
        """Describe the fault in words; heads and labels are those of the words 1 to n."""

        def arc(m: int) -> str:
            head = sentence.forms[heads[m - 1] - 1] if heads[m - 1] else "ROOT"
            return f"{head} -{labels[m - 1]}-> {sentence.forms[m - 1]}"

        return f"{self.name}: " + ", ".join(f"word {m}: {arc(m)}" for m in self.arcs)


def tree_faults(heads: Sequence[int], *, single_root: bool) -> list[Fault]:
    """Return what keeps heads from being a tree, under the names of UD's official validator.

    The faults are words that are their own head, a cycle, and several roots where one is required.
    Words without a head (-1) cause no fault.
    """
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

    def __init__(self, rules: RuleTable, sentence: Sentence) -> None:
        self.rules = rules
        self.sentence = sentence
        self.words = rules.bits.of_words(sentence)

    def _between(self, head: int, mod: int) -> int:
        """Return the conditions that hold of an arc as far as its words decide."""
        bits = self.rules.bits
        side = bits.left if mod < head else bits.right
        return self.words[head].head & self.words[mod].mod & side

    def faults(self, heads: Sequence[int], labels: Sequence[str]) -> list[Fault]:
        """Return the faults of a tree.

        Parameters
        ----------
        heads : sequence of int, length n
            -1 for a word without an arc.
        labels : sequence of str, length n
        """
        size, of_kind = self.rules.size, self.rules.of_kind
        faults: list[Fault] = []
        # Conditions that hold of each arc: bits e, size + e and 2 size + e are the first arc, the
        # second arc and the exception of entry e.
        arcs = [0]
        words, functions = self.words, self.rules.bits.functions
        left, right = self.rules.bits.left, self.rules.bits.right
        for m, (head, bits) in enumerate(zip(heads, self.rules.bits.of_labels(labels)), start=1):
            bits &= words[head].head & words[m].mod & (left if m < head else right)
            for bit, function in functions if head >= 0 else ():
                if function(self.sentence, head, m, labels[m - 1]):
                    bits |= bit
            arcs.append(bits if head >= 0 else 0)

        def add(hits: int, head: int, first: int, *above: int) -> None:
            for e in ones(hits):
                entry = self.rules.entries[e]
                excepted = 1 << 2 * size + e if entry.unless is not None else 0
                if any(
                    bits & excepted and heads[x] == first for x, bits in enumerate(arcs[1:])
                ):
                    continue
                rule = entry.rule
                reported_at = rule.at or _AT.get(rule.kind, "mod")
                others_word = above[0] if reported_at == "other" else first
                word = head if reported_at == "head" else others_word
                faults.append(Fault(rule.name, word, (first, *above), e))

        alone, below, beside = of_kind[""], of_kind["below"], of_kind["beside"]
        beside_bits = beside | beside << size
        siblings: dict[int, list[int]] = {}
        for m, bits in enumerate(arcs):
            if bits & alone:
                add(bits & alone, heads[m - 1], m)
            head = heads[m - 1]
            if (firsts := arcs[head] & below) and (hits := bits >> size & firsts):
                add(hits, heads[head - 1], head, m)
            if bits & beside_bits:
                for x in siblings.setdefault(head, []):
                    add(arcs[x] & bits >> size & beside, head, x, m)
                    add(bits & arcs[x] >> size & beside & ~self.rules.mutual, head, m, x)
                siblings[head].append(m)
        inside, crossing = of_kind["inside"], of_kind["crossing"]
        for m, bits in enumerate(arcs):
            if not bits & (inside | crossing):
                continue
            low, high = sorted((m, heads[m - 1]))
            for x, head_of_x in enumerate(heads if high - low > 1 else (), start=1):
                is_between = low < x < high
                if is_between != (low < head_of_x < high) or (is_between and bits & inside):
                    hits = bits & arcs[x] >> size
                    for kind, above in self._lying(heads, m, x) if hits else ():
                        add(hits & of_kind[kind], heads[m - 1], m, x, *above)
        return faults

    @staticmethod
    def _lying(heads: Sequence[int], m: int, x: int) -> Iterator[tuple[str, list[int]]]:
        """Yield the kinds of relation of two arcs, with the words whose arcs are part of it."""
        head, head_of_x = heads[m - 1], heads[x - 1]
        low, high = min(m, head), max(m, head)
        if low < x < high:
            yield "inside", []
        relation = crosses((head, m), (head_of_x, x))
        if relation == NEVER:
            return
        above: list[int] = []
        if relation == PERHAPS:   # beyond the head: no fault if the arc is below the head
            while head_of_x > 0 and head_of_x != head:
                above.append(head_of_x)
                head_of_x = heads[head_of_x - 1]
            if head_of_x == head:
                return
        yield "crossing", above

    def labels_of(
        self, entry: int, part: int, arcs: Iterable[Arc], labels: tuple[str, ...]
    ) -> dict[Arc, frozenset[int]]:
        """Map arcs to the labels with which they are a part of an entry.

        Parameters
        ----------
        entry : int
        part : {0, 1, 2}
            First arc, second arc, exception.
        arcs : iterable of Arc
        labels : tuple of str

        Returns
        -------
        dict
            Arc → indices of labels, with -1 among them if all labels will do. Arcs that no label
            makes a part are left out.
        """
        bits, bit = self.rules.bits, part * self.rules.size + entry
        functions = [function for mask, function in bits.functions if mask >> bit & 1]
        if functions:
            (holds,) = functions
            fitting = {
                arc: frozenset(i for i, x in enumerate(labels) if holds(self.sentence, *arc, x))
                for arc in arcs
            }
            return {arc: numbers for arc, numbers in fitting.items() if numbers}
        allowed = bits.labels_with(1 << bit, labels)
        if len(allowed) == len(labels):
            allowed |= {-1}
        return {arc: allowed for arc in arcs if allowed and self._between(*arc) >> bit & 1}

    def never(self, arcs: Iterable[Arc], labels: tuple[str, ...]) -> dict[Arc, frozenset[int]]:
        """Return the indices of the labels that rules about one arc forbid, by arc."""
        forbidden_labels = {}
        for arc in arcs:
            bits = self._between(*arc) & self.rules.alone
            if forbidden := self.rules.bits.labels_with(bits, labels):
                forbidden_labels[arc] = forbidden
        return forbidden_labels


NEVER, PERHAPS, ALWAYS = range(3)


def crosses(arc: Arc, other: Arc) -> int:
    """Return whether an arc crosses the other; PERHAPS: it depends on words below the head."""
    (head, mod), low, high = arc, min(arc), max(arc)
    is_inside = [low < word < high for word in other]
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
