"""Combine several parses of the same words into the valid tree with the most votes.

This is reparsing (Sagae & Lavie 2006), with labels and validity rules. A parse votes for its arcs
and, with as many votes again, for their labels. The score of a labelled arc is an integer:

1. the votes for the arc and its label, weighted;
2. then, so small that it decides between equal votes only, whether the first parse has them;
3. for an arc that nobody votes for, and which only a rule can make necessary, minus its length.

All pairs of words are candidates, so that the result is the best of all valid trees, with a proof.
Further trees differ from better ones in a head, or in a label that a parse votes for: of trees that
differ in other labels only, the best one counts.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from bbparse.parser.parse import trees_of
from bbparse.parser.validity.check import Fault
from bbparse.parser.validity.repair import (
    MAX_WEIGHT,
    MAX_WORDS,
    WEIGHT_STEPS,
    RepairOptions,
    best_valid,
    faults_in,
    label_names,
    weight_steps,
)
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.arrays import Flags, Float64s
from bbparse.runtime.errors import TreebankError
from bbparse.treebank import NO_HEAD, Sentence
from bbparse.treebank.evaluation import check_same_words
from bbparse.treebank.sentence import ScoredTree, misc_values
from bbparse.treebank.writing import with_columns, with_misc

#: Columns that are decided by votes of their own.
TAGS = ("lemmas", "upos", "xpos", "feats")


class Vote(NamedTuple):
    """The head and label of a word in a parse that differs from the result."""

    parse: int  #: Number of the parse, from 1.
    head: int  #: -1: none.
    label: str


class Combination(NamedTuple):
    """Result of `combine`."""

    sentence: Sentence  #: The first parse with the tags that got most votes.
    trees: list[ScoredTree]  #: Best first, at least one; scores are sums of weights.
    #: For each tree and each word, the parses that differ from it.
    disputes: list[list[list[Vote]]]
    disputed_tags: bool  #: True if parses differ in a tag.
    faults: list[list[Fault]]  #: Rules that each tree breaks: no tree keeps all, or a limit.
    obstacle: str = ""  #: Why the tree is that of a parse.

    @property
    def disputed(self) -> bool:
        """True if a person should look: the parses differ, or no valid tree is proved."""
        proved = self.trees[0].proved and not self.faults[0]
        return self.disputed_tags or any(self.disputes[0]) or not proved


def combine(
    parses: Sequence[Sentence],
    rules: Rules,
    weights: Sequence[Sequence[float]] | None = None,
    options: RepairOptions | None = None,
    k_best: int = 1,
) -> Combination:
    """Find the k valid trees with the most votes among all trees of a sentence.

    Words without head (-1) give no vote. ``weights`` are those of each word of each parse, from 0
    to 10, rounded as in `repair`; 1 by default.
    """
    first = parses[0]
    for parse in parses[1:]:
        check_same_words(first, parse)
    every = [None] * len(parses) if weights is None else weights
    steps = [weight_steps(*own).tolist() for own in zip(parses, every, strict=True)]
    columns = {name: [getattr(parse, name) for parse in parses] for name in TAGS}
    tags = {
        name: [_winner(votes, w) for votes, w in zip(zip(*values), zip(*steps))]
        for name, values in columns.items()
    }
    disputed_tags = any(len({*votes}) > 1 for rows in columns.values() for votes in zip(*rows))
    sentence = with_columns(first, **tags) if disputed_tags else first
    rules = rules.binding
    names = label_names(rules, sentence, [label for parse in parses for label in parse.deprels])
    nothing = Combination(sentence, [], [], disputed_tags, [])
    options = options or RepairOptions()
    if first.n_words > MAX_WORDS:
        nothing = nothing._replace(obstacle=f"it has more than {MAX_WORDS} words")
        return _best_given(parses, steps, nothing, rules, options)
    table, voted, unit = _votes(parses, steps, names)
    valid = best_valid(sentence, rules, names, table, options, k_best, voted)
    solution = valid.solution
    if not len(solution):
        nothing = nothing._replace(obstacle=f"no tree was found ({solution.status})")
        return _best_given(parses, steps, nothing, rules, options)

    def votes_of(score: float) -> float:
        slack = first.n_words**2  # at most that much is taken for arcs without votes
        return score if score == np.inf else (score + slack) // unit / WEIGHT_STEPS

    trees = [
        replace(tree, score=votes_of(tree.score), upper_bound=votes_of(tree.upper_bound))
        for tree in trees_of(sentence, valid)
    ]
    disputes = [_disputes(parses, tree) for tree in trees]
    return Combination(sentence, trees, disputes, disputed_tags, valid.faults)


def _best_given(
    parses: Sequence[Sentence],
    steps: Sequence[Sequence[int]],
    nothing: Combination,
    rules: Rules,
    options: RepairOptions,
) -> Combination:
    """Return the parse with the fewest faults, of these the one with most votes.

    It is proved if it has no fault and every word has the arc with most votes.
    """
    votes: list[Counter[tuple[int, str]]] = [Counter() for _ in nothing.sentence.forms]
    for parse, row in zip(parses, steps):
        for own, head, label, step in zip(votes, parse.heads, parse.deprels, row):
            if head != NO_HEAD:
                own[head, label] += step
                own[head, ""] += step
    most = sum(max((n + own[h, ""] for (h, x), n in own.items() if x), default=0) for own in votes)
    found: list[tuple[int, int, list[Fault]]] = []
    for parse in parses:
        arcs = zip(votes, parse.heads, parse.deprels)
        total = sum(own[head, label] + own[head, ""] for own, head, label in arcs)
        given = replace(nothing.sentence, heads=parse.heads, deprels=parse.deprels)
        faults = faults_in(given, rules, options)
        found.append((total, len(faults), faults))
    i, (total, _, faults) = min(enumerate(found), key=lambda item: (item[1][1], -item[1][0]))
    heads, labels = (*parses[i].heads,), (*parses[i].deprels,)
    is_best = total == most and not faults
    texts = tuple(fault.text(nothing.sentence, heads, labels) for fault in faults)
    tree = ScoredTree(
        heads, total / WEIGHT_STEPS, most / WEIGHT_STEPS, is_best, labels, broken=texts
    )
    return nothing._replace(
        trees=[tree],
        disputes=[_disputes(parses, tree)],
        faults=[faults],
        obstacle="" if is_best else f"the tree is that of file {i + 1}: {nothing.obstacle}",
    )


def _disputes(parses: Sequence[Sentence], tree: ScoredTree) -> list[list[Vote]]:
    """Return for each word the parses that differ from a tree."""
    return [
        [
            Vote(i, parse.heads[m], parse.deprels[m])
            for i, parse in enumerate(parses, start=1)
            if (parse.heads[m], parse.deprels[m]) != arc
        ]
        for m, arc in enumerate(zip(tree.heads, tree.labels))
    ]


def accuracy_weights(files: Iterable[Sequence[Sentence]], gold: Iterable[Sentence]) -> list[float]:
    """Return a weight for each file, from 0.01 to 10: the log odds that a labelled arc is right.

    With it, a vote of independent voters is most often right (Nitzan & Paroush 1982).
    """
    trees = {tuple(sentence.forms): sentence for sentence in gold}
    weights = []
    for sentences in files:
        right = words = 0
        for sentence in sentences:
            correct = trees.get(tuple(sentence.forms))
            if correct is not None:
                arcs = zip(correct.heads, correct.deprels)
                right += sum(map(tuple.__eq__, zip(sentence.heads, sentence.deprels), arcs))
                words += correct.n_words
        if not words:
            source = sentences[0].source if sentences else "a file"
            raise TreebankError(f"{source}: none of its sentences is in the file of --weights")
        odds = math.log((right + 0.5) / (words - right + 0.5))  # never infinite
        weights.append(round(min(MAX_WEIGHT, max(1 / WEIGHT_STEPS, odds)), 2))
    return weights


def _winner(values: Sequence[str], steps: Sequence[int]) -> str:
    """Return the value with most votes; of equal ones, the one that comes first."""
    votes: defaultdict[str, int] = defaultdict(int)
    for value, step in zip(values, steps):
        votes[value] += step if value != "_" else 0
    return max(votes, key=votes.__getitem__)


def _votes(
    parses: Sequence[Sentence], steps: Sequence[Sequence[int]], names: Sequence[str]
) -> tuple[Float64s, Flags, float]:
    """Score labelled arcs, float64[head, modifier, label].

    Also return which of them have votes for their labels, and the score of one step.
    """
    n = parses[0].n_words
    number = {name: i for i, name in enumerate(names)}
    words = np.arange(n + 1)
    table = np.repeat(-np.abs(words[:, None] - words)[:, :, None], len(names), axis=2).astype(float)
    voted = np.zeros(table.shape, np.bool_)
    for parse in parses:
        for m, head in enumerate(parse.heads, start=1):
            if head != NO_HEAD:
                table[head, m] = 0.0
    preferred = float(n * n + 1)
    unit = preferred * (2 * n + 1)
    for i, (parse, row) in enumerate(zip(parses, steps)):
        for m, (head, label, step) in enumerate(zip(parse.heads, parse.deprels, row), start=1):
            if head != NO_HEAD:
                vote = unit * step + (preferred if i == 0 else 0.0)
                table[head, m] += vote
                if label in number:
                    table[head, m, number[label]] += vote
                    voted[head, m, number[label]] |= vote > 0.0
    table[:, 0] = table[words, words] = -np.inf
    return table, voted, unit


def with_disputes(result: Combination, k: int = 0) -> Sentence:
    """Return the sentence with the parses that differ from tree k in MISC: ``Differs=2:4:obl,…``.

    Commas, bars and percent signs of labels are written as in URLs: %2C, %7C, %25.
    """
    sentence = result.sentence
    lines = sentence.lines.copy()
    for line, votes in zip(sentence.word_lines, result.disputes[k]):
        texts = [
            f"{v.parse}:{'_' if v.head == NO_HEAD else v.head}:{_escaped(v.label)}" for v in votes
        ]
        lines[line] = with_misc(lines[line], "Differs", ",".join(texts))
    return replace(sentence, lines=lines)


def _escaped(label: str) -> str:
    """Return a label without the characters that separate items of MISC and of ``Differs``."""
    return re.sub("[%,|]", lambda found: f"%{ord(found[0]):02X}", label)


def alternatives(sentence: Sentence) -> list[tuple[str, list[int], list[str]]]:
    """Return the trees that `with_disputes` wrote: the parses that have them, heads and labels."""
    trees: dict[str, tuple[list[int], list[str]]] = {}
    for m, texts in enumerate(misc_values(sentence, "Differs")):
        for parse, head, label in re.findall(r"(\d+):(\d+|_):([^,]+)", "".join(texts)):
            heads, labels = trees.setdefault(parse, ([*sentence.heads], [*sentence.deprels]))
            heads[m], labels[m] = NO_HEAD if head == "_" else int(head), unquote(label)
    distinct: dict[str, tuple[list[str], list[int], list[str]]] = {}
    for parse, (heads, labels) in sorted(trees.items(), key=lambda item: int(item[0])):
        if NO_HEAD not in heads and max(heads) <= len(heads):
            distinct.setdefault(str((heads, labels)), ([], heads, labels))[0].append(parse)
    return [(", ".join(parses), heads, labels) for parses, heads, labels in distinct.values()]
