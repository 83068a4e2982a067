"""Checks on trees, over lists of heads: index i is the head of word i+1, 0 is the root."""

from __future__ import annotations

from collections.abc import Sequence

from bbparse.errors import TreebankError
from bbparse.treebank.sentence import NO_HEAD, Sentence


def find_cycle(heads: Sequence[int]) -> list[int]:
    """The words of one cycle, in the order modifier, head, head of the head, …; empty if none.

    O(n): every word is walked through once. A word with head -1 starts no cycle.
    """
    n = len(heads)
    seen_in_walk = [0] * (n + 1)  # 0: not yet; k: during the walk from word k
    for start in range(1, n + 1):
        word = start
        while word > 0 and seen_in_walk[word] == 0:
            seen_in_walk[word] = start
            word = heads[word - 1]
        if word > 0 and seen_in_walk[word] == start:
            cycle = [word]
            word = heads[word - 1]
            while word != cycle[0]:
                cycle.append(word)
                word = heads[word - 1]
            return cycle
    return []


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two arcs cross, the arcs of the root (position 0) included.

    Words with head -1 have no arc, and words with themselves as head cross nothing. One pass from
    left to right, O(n log n): the arcs that are open at a position must be nested, so a new arc may
    not end after the one opened last.
    """
    n = len(heads)
    ends: list[list[int]] = [[] for _ in range(n + 1)]
    for modifier, head in enumerate(heads, 1):
        if head < 0 or head == modifier:
            continue
        if head < modifier:
            ends[head].append(modifier)
        else:
            ends[modifier].append(head)
    open_ends: list[int] = []
    for position in range(n + 1):
        while open_ends and open_ends[-1] == position:
            open_ends.pop()
        for end in sorted(ends[position], reverse=True):
            if open_ends and open_ends[-1] < end:
                return False
            open_ends.append(end)
    return True


def crossing_words(heads: Sequence[int]) -> set[int]:
    """The words whose arc crosses another, the arcs of the root (position 0) included.

    O(n log n) where no arcs cross, O(n²) otherwise.
    """
    if is_projective(heads):
        return set()
    spans = [
        (min(head, modifier), max(head, modifier), modifier)
        for modifier, head in enumerate(heads, 1)
        if head >= 0
    ]
    return {
        modifier
        for low, high, modifier in spans
        if any(a < low < b < high or low < a < high < b for a, b, _ in spans)
    }


def check_tree(sentence: Sentence, *, single_root: bool = True) -> None:
    """Check that the heads of a sentence make a tree, with one root or at least one.

    `TreebankError` if a word has no head, a head is out of range, there is a cycle, no root, or one
    too many; names the file, the line and the sentence.
    """
    heads = sentence.heads
    n = len(heads)
    for i, head in enumerate(heads):
        if head == NO_HEAD:
            raise _error(sentence, i, f"word {i + 1} has no head, expected 0 to {n}")
        if not 0 <= head <= n:
            raise _error(sentence, i, f"head of word {i + 1} is {head}, expected 0 to {n}")
    roots = [i for i, head in enumerate(heads) if head == 0]
    if not roots:
        expected = "exactly" if single_root else "at least"
        raise _error(sentence, 0, f"no word has head 0, expected {expected} one root")
    cycle = find_cycle(heads)
    if cycle:
        chain = " → ".join(str(word) for word in [*cycle, cycle[0]])
        raise _error(sentence, min(cycle) - 1, f"the heads {chain} form a cycle, expected a tree")
    if single_root and len(roots) > 1:
        words = ", ".join(str(i + 1) for i in roots)
        raise _error(sentence, roots[1], f"words {words} have head 0, expected exactly one root")


def _error(sentence: Sentence, index: int, message: str) -> TreebankError:
    return TreebankError(f"{sentence.place(index)}: {message}")
