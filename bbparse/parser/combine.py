"""Combine several parses of the same words into the valid tree with the most votes.

This is reparsing (Sagae & Lavie 2006), with labels and validity rules. A parse votes for its arcs
and, with as many votes again, for their labels. The score of a labelled arc is an integer:

1. the votes for the arc and its label, weighted;
2. then, so small that it decides between equal votes only, whether the first parse has them;
3. for an arc that nobody votes for, and which only a rule can make necessary, minus its length.

All pairs of words are candidates, so that the result is the best of all valid trees, with a proof.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bbparse.parser.parse import Parse
from bbparse.parser.validity.check import Fault
from bbparse.parser.validity.repair import (
    MAX_WEIGHT,
    MAX_WORDS,
    WEIGHT_STEPS,
    RepairOptions,
    best_valid,
    label_names,
    weight_steps,
)
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.arrays import Float64s
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
    trees: list[ScoredTree]  #: Best first; scores are sums of weights. Empty if none was found.
    disputes: list[list[Vote]]  #: For each word, the parses that differ from the best tree.
    disputed_tags: bool  #: True if parses differ in a tag.
    faults: list[list[Fault]]  #: Rules that each tree breaks: no tree keeps all, or a limit.
    obstacle: str = ""  #: Why there is no tree.

    @property
    def disputed(self) -> bool:
        """True if a person should look: the parses differ, or no valid tree is proved."""
        proved = bool(self.trees) and self.trees[0].proved and not self.faults[0]
        return self.disputed_tags or any(self.disputes) or not proved


def combine(
    parses: Sequence[Sentence],
    rules: Rules,
    weights: Sequence[Sequence[float]] | None = None,
    options: RepairOptions | None = None,
    k_best: int = 1,
) -> Combination:
    """Find the k valid trees with the most votes among all trees of a sentence.

    Words without head (-1) give no vote. ``weights`` are those of each word of each parse, from 0
    to 10 in hundredths; 1 by default.
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
    nothing = Combination(sentence, [], [[] for _ in first.forms], disputed_tags, [])
    if first.n_words > MAX_WORDS:
        return nothing._replace(obstacle=f"it has more than {MAX_WORDS} words")
    rules = rules.binding
    names = label_names(rules, sentence, [label for parse in parses for label in parse.deprels])
    table, unit = _votes(parses, steps, names)
    valid = best_valid(sentence, rules, names, table, options or RepairOptions(), k_best)
    solution = valid.solution
    if not len(solution):
        return nothing._replace(obstacle=f"no tree was found ({solution.status})")

    def votes_of(score: float) -> float:
        slack = first.n_words**2  # at most that much is taken for arcs without votes
        return score if score == np.inf else (score + slack) // unit / WEIGHT_STEPS

    trees = [
        replace(tree, score=votes_of(tree.score), upper_bound=votes_of(tree.upper_bound))
        for tree in Parse(sentence, solution, valid.labels, valid.faults).trees
    ]
    best = zip(trees[0].heads, trees[0].labels)
    disputes = [
        [
            Vote(i, parse.heads[m], parse.deprels[m])
            for i, parse in enumerate(parses, start=1)
            if (parse.heads[m], parse.deprels[m]) != arc
        ]
        for m, arc in enumerate(best)
    ]
    return Combination(sentence, trees, disputes, disputed_tags, valid.faults)


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
) -> tuple[Float64s, float]:
    """Score labelled arcs, float64[head, modifier, label]; also return the score of one step."""
    n = parses[0].n_words
    number = {name: i for i, name in enumerate(names)}
    words = np.arange(n + 1)
    table = np.repeat(-np.abs(words[:, None] - words)[:, :, None], len(names), axis=2).astype(float)
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
    table[:, 0] = table[words, words] = -np.inf
    return table, unit


def with_disputes(result: Combination) -> Sentence:
    """Return the sentence of a result with the differing parses in MISC: ``Differs=2:4:obl,…``."""
    sentence = result.sentence
    lines = sentence.lines.copy()
    for line, votes in zip(sentence.word_lines, result.disputes):
        texts = [f"{v.parse}:{'_' if v.head == NO_HEAD else v.head}:{v.label}" for v in votes]
        lines[line] = with_misc(lines[line], "Differs", ",".join(texts))
    return replace(sentence, lines=lines)


def alternatives(sentence: Sentence) -> list[tuple[str, list[int], list[str]]]:
    """Return the trees that `with_disputes` wrote: the parses that have them, heads and labels."""
    trees: dict[str, tuple[list[int], list[str]]] = {}
    for m, texts in enumerate(misc_values(sentence, "Differs")):
        for parse, head, label in re.findall(r"(\d+):(\d+|_):([^,]+)", "".join(texts)):
            heads, labels = trees.setdefault(parse, ([*sentence.heads], [*sentence.deprels]))
            heads[m], labels[m] = NO_HEAD if head == "_" else int(head), label
    distinct: dict[str, tuple[list[str], list[int], list[str]]] = {}
    for parse, (heads, labels) in sorted(trees.items(), key=lambda item: int(item[0])):
        if NO_HEAD not in heads and max(heads) <= len(heads):
            distinct.setdefault(str((heads, labels)), ([], heads, labels))[0].append(parse)
    return [(", ".join(parses), heads, labels) for parses, heads, labels in distinct.values()]
