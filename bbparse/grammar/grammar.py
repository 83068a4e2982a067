"""A head-driven grammar, lexicalized and unlexicalized (Collins 1999, Model 1).

A phrase P generates a head child H and then, on each side, modifiers from the head outwards until
STOP. In the lexicalized grammar, H depends on P and its head word and tag. The category and tag of
a modifier depend on the side, on P and H, on the head word and tag, and on what lies between
(`STATES`); its word depends on all of these and on its tag. In the unlexicalized grammar, both
depend only on P, H, side and adjacency; it prunes the chart of the lexicalized one. Only rules
observed in training are possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bbparse.grammar.counts import (
    Table,
    backed_off,
    estimate,
    event,
    kind_of_context,
    mix,
    open_table,
)
from bbparse.grammar.phrases import JOIN, SPLIT, Phrase
from bbparse.runtime.arrays import Float32s, Ints
from bbparse.runtime.jit import kernel

PUNCTUATION, COORDINATION, VERBAL, OTHER = 1, 2, 3, 4
#: Number of states between head and modifier. 0: nothing in between; otherwise the kind of the
#: previous modifier, plus 4 if there was a verb. 9: as 0, on the left of a head with modifiers on
#: the right.
STATES = 10
#: The factor f of `bbparse.grammar.counts`.
FACTOR = 5.0
FLOOR = 1e-6
#: Weight of log probabilities of words, which are unreliable for rare words.
WORDS = 0.5
_VERBAL = frozenset("VP S SBAR SQ SINV SBARQ VB VBD VBG VBN VBP VBZ MD TO VH VV".split())
_PUNCTUATION = frozenset([",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"])


class Pairs(NamedTuple):
    """The unlexicalized grammar; a pair x is a category with the category of a head child.

    Scores are log probabilities, by side (0: left) and adjacency to the head (0: adjacent).
    """

    parent: Ints  # int32[X]: symbols of pairs
    head: Ints
    score: Float32s  # float32[X]: log P(H | P)
    stop: Float32s  # float32[2, 2, X]: log P(STOP | P, H), by side and adjacency
    rule_ptr: Ints  # the rules of modifier M are rule_ptr[M]:rule_ptr[M+1]
    rule_pair: Ints
    rule_side: Ints
    rule_score: Float32s  # float32[R, 2]: log P(M | P, H, side), by adjacency
    root: Float32s  # float32[S]: log P(M | ROOT), -inf for symbols that are never the root


class Forms(NamedTuple):
    """Back-off symbols for sparse contexts, int32[S]."""

    plain: Ints  # the symbol without the category of the parent
    base: Ints  # the lowest of joined categories


class HeadChild(NamedTuple):
    """The context of the next modifier of a head child; numbers."""

    side: int  # of the modifier: 1 right, 0 left, 2 below the root
    parent: int
    head: int
    state: int
    tag: int
    word: int


class Modifier(NamedTuple):
    """A modifier's category (-1: STOP), and the tag and the word of its head; numbers."""

    label: int
    tag: int
    word: int


@kernel
def next_state(state, kind):
    """Return the state after a modifier of some kind."""
    verb = kind == VERBAL or (state > OTHER and state < STATES - 1)
    return (OTHER if verb else 0) + kind


@kernel
def head_contexts(parent, tag, word, forms, out):
    """Write the context levels of a head child into uint64[4]."""
    out[3] = mix(kind_of_context(1), parent)
    out[2] = mix(mix(out[3], 7), tag)
    out[1] = mix(mix(mix(kind_of_context(5), forms.plain[parent]), tag), word)
    out[0] = mix(out[2], word)


@kernel
def label_contexts(child, forms, out):
    """Write the context levels of a modifier's category and tag into uint64[7]."""
    side, parent, head, state, tag, word = child
    state = 0 if state == STATES - 1 else state
    out[6] = mix(mix(kind_of_context(2), side), forms.base[parent])
    key = mix(mix(mix(kind_of_context(3), side), forms.plain[parent]), forms.plain[head])
    out[5] = mix(key, state)
    key = mix(mix(mix(kind_of_context(4), side), parent), head)
    out[4] = mix(key, state)
    out[3] = mix(out[5], tag)
    out[2] = mix(out[4], tag)
    out[1] = mix(out[3], word)
    out[0] = mix(out[2], word)


@kernel
def word_contexts(child, modifier, forms, out):
    """Write the context levels of a modifier's word into uint64[5]."""
    side, parent, head, state, tag, word = child
    label = forms.plain[modifier.label]
    out[4] = mix(kind_of_context(6), modifier.tag)
    out[3] = mix(mix(out[4], 7), label)
    out[2] = mix(mix(mix(mix(out[3], 9), side), forms.base[parent]), tag)
    out[1] = mix(out[2], word)
    key = mix(mix(mix(out[3], side), forms.plain[parent]), forms.plain[head])
    out[0] = mix(mix(mix(key, 1 if state % (STATES - 1) else 0), tag), word)


@kernel
def head_weight(table, parent, head, tag, word, forms, scratch):
    """Compute log P(H | P, head word and tag)."""
    head_contexts(parent, tag, word, forms, scratch)
    return backed_off(table, scratch[:4], head, FLOOR)


@kernel
def modifier_weight(table, child, modifier, forms, scratch):
    """Compute log P(category and tag of a modifier) + WORDS·log P(its word)."""
    label_contexts(child, forms, scratch)
    score = backed_off(table, scratch, (modifier.label + 1) * 256 + modifier.tag, FLOOR)
    if modifier.label >= 0:
        word_contexts(child, modifier, forms, scratch)
        score += WORDS * backed_off(table, scratch[:5], modifier.word, FLOOR)
    return score


@kernel
def _keys(heads, modifiers, forms, head_keys, label_keys, word_keys):
    """Compute the keys of all observations: contexts [0] and outcomes [1]."""
    for i in range(heads.shape[0]):
        parent, head, tag, word = heads[i]
        out = head_keys[0, i]
        head_contexts(parent, tag, word, forms, out)
        for level in range(out.shape[0]):
            head_keys[1, i, level] = event(out[level], head)
    at = 0
    for i in range(modifiers.shape[0]):
        side, parent, head, state, tag, word, label, mod_tag, mod_word = modifiers[i]
        child = HeadChild(side, parent, head, state, tag, word)
        out = label_keys[0, i]
        label_contexts(child, forms, out)
        for level in range(out.shape[0]):
            label_keys[1, i, level] = event(out[level], (label + 1) * 256 + mod_tag)
        if label >= 0:
            out = word_keys[0, at]
            word_contexts(child, Modifier(label, mod_tag, mod_word), forms, out)
            for level in range(out.shape[0]):
                word_keys[1, at, level] = event(out[level], mod_word)
            at += 1


def _no_table() -> Table:
    return open_table(np.empty(0, np.uint64), np.empty(0, np.float32))


@dataclass
class Grammar:
    """Symbols and probabilities of a grammar.

    ``kind`` maps symbols to their kinds (see `STATES`); ``tag_number`` and ``number`` map tags and
    categories to symbols.
    """

    symbols: list[str]  #: Tags first, then categories.
    n_tags: int
    pairs: Pairs
    table: Table = field(default_factory=_no_table)  #: Lexicalized probabilities.

    def __post_init__(self) -> None:
        # a tag and a category may have the same name
        self.tag_number = {tag: i for i, tag in enumerate(self.symbols[: self.n_tags])}
        self.number = {s: i for i, s in enumerate(self.symbols) if i >= self.n_tags}
        plain = [symbol.split(SPLIT)[0] for symbol in self.symbols]
        base = [symbol.split(JOIN)[-1] for symbol in plain]
        plain[: self.n_tags] = base[: self.n_tags] = self.symbols[: self.n_tags]
        self.kind = np.array([_kind(symbol) for symbol in plain], np.int32)
        self.forms = Forms(
            *(
                np.array(
                    [i if i < self.n_tags else self.number[s] for i, s in enumerate(names)]
                ).astype(np.int32)
                for names in (plain, base)
            )
        )


def _kind(symbol: str) -> int:
    if symbol in _PUNCTUATION:
        return PUNCTUATION
    if symbol in ("CC", "CONJP"):
        return COORDINATION
    return VERBAL if not _VERBAL.isdisjoint(symbol.split(JOIN)) else OTHER


_NO_PAIRS = Pairs(*(np.empty(0, np.int32),) * 9)  # type: ignore[arg-type]


def learn_grammar(phrases: Sequence[Phrase], numbers: Sequence[Sequence[int]]) -> Grammar:
    """Estimate a grammar from phrases and the numbers of their words (`Vocabulary.numbers`)."""
    nodes = [list(_nodes(phrase)) for phrase in phrases]
    tags = {n.label for tree in nodes for n in tree if n.head is None}
    split = {n.label for tree in nodes for n in tree if n.head is not None}
    plain = {label.split(SPLIT)[0] for label in split}
    base = {label.split(JOIN)[-1] for label in plain}
    symbols = sorted(tags) + sorted(split | plain | base)
    tag_of = {tag: i for i, tag in enumerate(sorted(tags))}
    category_of = {label: i for i, label in enumerate(symbols) if i >= len(tags)}
    grammar = Grammar(symbols, len(tags), _NO_PAIRS)

    def symbol(phrase: Phrase) -> int:
        return tag_of[phrase.label] if phrase.head is None else category_of[phrase.label]

    heads, modifiers, roots = [], [], []
    for tree, words in zip(nodes, numbers):
        roots.append(symbol(tree[0]))
        for n in tree:
            if n.head is None:
                continue
            p, h, t, w = category_of[n.label], symbol(n.head), tag_of[n.tag], words[n.word]
            heads.append((p, h, t, w))
            for side, side_modifiers in enumerate((n.left, n.right)):
                state = 0
                for m in side_modifiers:
                    label = symbol(m)
                    modifiers.append((side, p, h, state, t, w, label, tag_of[m.tag], words[m.word]))
                    state = int(next_state(state, grammar.kind[label]))
                modifiers.append((side, p, h, state, t, w, -1, 0, 0))
        top = tree[0]  # the tree is a modifier of ROOT
        modifiers.append((2, 0, 0, 0, 0, 0, symbol(top), tag_of[top.tag], words[top.word]))
    head_array = np.array(heads, np.int64).reshape(-1, 4)  # empty if all trees are single words
    modifier_array = np.array(modifiers, np.int64)
    grammar.pairs = _pairs(head_array, modifier_array, roots, len(symbols))
    grammar.table = _learn_table(head_array, modifier_array, grammar.forms)
    return grammar


def _learn_table(heads: Any, modifiers: Any, forms: Forms) -> Table:
    """Estimate the lexicalized probabilities from observations."""
    head_keys = np.empty((2, len(heads), 4), np.uint64)
    label_keys = np.empty((2, len(modifiers), 7), np.uint64)
    word_keys = np.empty((2, int((modifiers[:, 6] >= 0).sum()), 5), np.uint64)
    _keys(heads, modifiers, forms, head_keys, label_keys, word_keys)
    parts = [
        estimate(contexts, outcomes, FACTOR, FLOOR)
        for contexts, outcomes in (head_keys, label_keys, word_keys)
    ]
    keys, at = np.unique(np.concatenate([keys for keys, _ in parts]), return_index=True)
    values = np.concatenate([values for _, values in parts])[at]
    return open_table(keys, values)


def _nodes(phrase: Phrase) -> Any:
    waiting = [phrase]
    while waiting:
        node = waiting.pop()
        yield node
        if node.head is not None:
            waiting += [node.head] + node.left + node.right


def _pairs(heads: Any, modifiers: Any, roots: list[int], n_symbols: int) -> Pairs:
    """Estimate relative frequencies; those by adjacency back off to those without it."""
    count = Counter(map(tuple, heads[:, :2].tolist()))
    pairs = sorted(count)
    number_of_pair = {pair: x for x, pair in enumerate(pairs)}
    parents = Counter(parent for parent, _ in count.elements())
    score = [np.log(count[pair] / parents[pair[0]]) for pair in pairs]
    count_of: Counter[tuple[int, int, int]] = Counter()  # side, pair, outcome
    count_near: Counter[tuple[int, int, int, int]] = Counter()
    for side, p, h, state, _, _, label, _, _ in modifiers.tolist():
        if side < 2:
            count_of[side, number_of_pair[p, h], label] += 1
            count_near[side, number_of_pair[p, h], label, int(state > 0)] += 1
    total: Counter[tuple[int, int]] = Counter()
    total_near: Counter[tuple[int, int, int]] = Counter()
    for (side, x, _, far), c in count_near.items():
        total[side, x] += c
        total_near[side, x, far] += c

    def value(side: int, x: int, label: int, far: int) -> float:
        plain = (count_of[side, x, label] + 1e-3) / total[side, x]
        near, n_near = count_near[side, x, label, far], total_near[side, x, far]
        return float(np.log((near + 5 * plain) / (n_near + 5)))

    stop = np.array(
        [[[value(s, x, -1, far) for x in range(len(pairs))] for far in (0, 1)] for s in (0, 1)]
    )
    rules = sorted((label, side, x) for side, x, label in count_of if label >= 0)
    ptr = np.searchsorted([label for label, _, _ in rules], np.arange(n_symbols + 1))
    root = np.full(n_symbols, -np.inf)
    for label, c in Counter(roots).items():
        root[label] = np.log(c / len(roots))
    return Pairs(
        np.array([p for p, _ in pairs], np.int32),
        np.array([h for _, h in pairs], np.int32),
        np.array(score, np.float32),
        stop.astype(np.float32),
        ptr.astype(np.int32),
        np.array([x for _, _, x in rules], np.int32),
        np.array([s for _, s, _ in rules], np.int32),
        np.array(
            [[value(s, x, label, f) for f in (0, 1)] for label, s, x in rules], np.float32
        ).reshape(-1, 2),
        root.astype(np.float32),
    )
