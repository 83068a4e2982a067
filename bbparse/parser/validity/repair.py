"""Repair of annotated trees: the valid tree that keeps most of the given heads and labels.

Every pair of words is a candidate arc, with every label that the rules know. The score of a
labelled arc is an integer of three parts, each of which outweighs all that follow it in a tree:

1. the weight of the word if its head is kept, and again if its label is;
2. minus one if the word changes;
3. the model's score of the arc; without a model minus the length of the arc if its head is new.

So the best valid tree (`parser.validity.lazily`) keeps most; among these it changes the fewest
words; and so on. A search is exact up to 1e-12 of the largest sum. The first two parts are always
larger than that; in sentences of more than some 40 words with fine weights the third may not be.
The choice among trees that are still equal is arbitrary, but always the same
(`bbparse.core.order`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.inference.solve import solve
from bbparse.parser.spans import Spans
from bbparse.parser.validity.check import NO_ENTRY, Fault, RuledSentence
from bbparse.parser.validity.constraints import Candidates
from bbparse.parser.validity.lazily import ValidTrees, solve_valid
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.arrays import Flags, Float64s, Longs
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import TreebankError
from bbparse.treebank import NO_HEAD, Sentence
from bbparse.treebank.trees import crossing_words
from bbparse.treebank.variation import Analysis

if TYPE_CHECKING:
    from bbparse.parser.arc_scores import ModelScores

#: Analyses that sequences of words must have, by the first and the last word.
Wanted: TypeAlias = Mapping[tuple[int, int], Analysis]
_ANY: Wanted = {}
#: Most words of a sentence that is repaired: it has the square of this many arcs.
MAX_WORDS = 300
#: Weights are multiples of 1 / `WEIGHT_STEPS`, at most `MAX_WEIGHT`.
WEIGHT_STEPS, MAX_WEIGHT = 100, 10.0
#: A model's log-probabilities are rounded to multiples of 1 / `SCORE_STEPS`, at least `LEAST`.
SCORE_STEPS, LEAST = 64, -32.0
#: Hyperedges that the search for one sentence may visit without a time limit: ten seconds or so.
WORK_LIMIT = 2e8
#: Hyperedges that take as long as a node by itself, and the share of time that is for searches.
_NODE, _SEARCH = 1e4, 0.8


@dataclass(frozen=True, kw_only=True)
class RepairOptions:
    """Options of `repair`."""

    #: Change heads of words with the relation punct, and nothing else.
    only_punct: bool = False
    #: The tree must have no crossing arcs.
    projective: bool = False
    #: Choose among trees that keep as much and change as few words.
    scores: ModelScores | None = None
    #: Words that form one subtree. If they are soft, their weight is in the unit of the weights of
    #: words, and a tree with a broken one is no fault, but it is repaired if that keeps more.
    spans: Spans | None = None
    #: Seconds for one sentence; by default the limit is some ten seconds' work, the same on every
    #: machine.
    time_limit: float | None = None


class Change(NamedTuple):
    """A word with another head or label, and why."""

    word: int
    old: tuple[int, str]  #: Head (-1: none) and label.
    new: tuple[int, str]
    #: Faults that the repaired tree has if this word alone keeps its old head and label.
    reasons: tuple[str, ...]


class Repair(NamedTuple):
    """Result of `repair`."""

    sentence: Sentence  #: The sentence as it was.
    heads: list[int]  #: Head of each word in the repaired tree.
    labels: list[str]
    changes: list[Change]
    before: list[Fault]  #: Faults of the given tree, without warnings.
    after: list[Fault]  #: Faults that are left.
    #: True if no valid tree keeps more, or if none is valid, none with as few faults.
    proved: bool
    obstacle: str = ""  #: Why the sentence was left as it was in spite of faults.
    #: Faults left, weights of what is not kept, changed words, and what their new arcs take off.
    cost: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)


def repair(
    sentence: Sentence,
    rules: Rules,
    weights: Sequence[float] | None = None,
    options: RepairOptions = RepairOptions(),
    wanted: Wanted = _ANY,
) -> Repair:
    """Find the valid tree that keeps most of the heads and labels of a sentence.

    Ties go to the tree that changes the fewest words, then to the one with the best scores of the
    model, or without a model to the one with the shortest new arcs. If no tree satisfies all rules,
    the result has the fewest faults. If a limit stops the search before a valid tree is found, the
    result is the best projective tree, or the sentence stays unchanged.

    The tree of the sentence may have any fault: cycles, several roots, words without a head (-1).
    Rules that are only warnings are ignored. ``weights`` are the values of keeping the head, and of
    keeping the label, of each word: 0 to 10, rounded to hundredths, but at least one if positive; 1
    by default. Raises `TreebankError` if there are not n of them. ``wanted`` are analyses that the
    repaired tree must have.
    """
    rules = rules.binding
    spans = options.spans
    is_soft = spans is not None and spans.weight is not None
    steps, unit = _steps(sentence, weights, spans)
    asked = faults_in(sentence, rules, options, True)
    before = faults_in(sentence, rules, options)
    unchanged = Repair(sentence, sentence.heads, sentence.deprels, [], before, before, not before)
    if not asked and all(Analysis.of(sentence, *at) == own for at, own in wanted.items()):
        return unchanged
    unchanged = unchanged._replace(cost=(math.inf, 0.0, 0.0, 0.0))
    if sentence.n_words > MAX_WORDS:
        return unchanged._replace(obstacle=f"it has more than {MAX_WORDS} words")
    if options.only_punct:
        names = sorted({*sentence.deprels})
    else:
        known = {analysis.label for analysis in wanted.values() if analysis.side}
        known.update(options.scores.labels if options.scores else ())
        names = label_names(rules, sentence, known)
    ties = _ties(sentence, names, options.scores)
    table, kept = _table(sentence, names, steps, ties)
    if options.only_punct:
        table = _only_punct(sentence, names, table)
    _require(wanted, names, table)
    for span in spans.of(sentence) if spans is not None and is_soft else ():
        outside = [h for h in range(len(table)) if h not in span.words]
        table[np.ix_(outside, span.words)] -= kept * steps[-1]
    trees = best_valid(sentence, rules, names, table, options)
    status = trees.solution.status
    if status == "infeasible":
        kind = "spans, and " if spans is not None and not is_soft else ""
        return unchanged._replace(obstacle=f"no tree has all {kind}the heads that must stay")
    if status != "optimal" and not _is_valid(trees):
        trees = best_valid(sentence, rules, names, table, replace(options, projective=True))
        if not _is_valid(trees):
            return unchanged._replace(obstacle="no valid tree was found within the limit")
    heads, labels = trees.solution.heads[0, 1:].tolist(), trees.labels[0]
    after = faults_in(replace(sentence, heads=heads, deprels=labels), rules, options)
    if after and spans is not None:

        def count(others: Spans) -> float:
            return len(repair(sentence, rules, weights, replace(options, spans=others)).after)

        against = spans.blame(sentence, count, len(after))
        after = [fault._replace(name=fault.name + against) for fault in after]
    changes = _changes(sentence, heads, labels, rules, options, wanted)
    cost = (len(after), *_cost(changes, names, unit * steps, ties))
    return Repair(sentence, heads, labels, changes, before, after, status == "optimal", cost=cost)


def _require(wanted: Wanted, names: Sequence[str], table: Float64s) -> None:
    """Forbid in the table all that differs from wanted analyses."""
    for (first, last), analysis in wanted.items():
        head, mod = (last, first) if analysis.side == "left" else (first, last)
        of_arc = np.where(np.array(names) == analysis.label, table[head, mod], -np.inf)
        table[first, last] = table[last, first] = -np.inf
        if analysis.side:
            table[:, mod] = -np.inf
            table[head, mod] = of_arc


def _cost(
    changes: Sequence[Change], names: Sequence[str], weights: Longs, ties: Float64s
) -> tuple[float, float, float]:
    """Return the weight of what is not kept, the number of changes, and what new arcs take off."""
    lost = taken = 0.0
    for word, (head, label), new, _ in changes:
        lost += float(weights[word - 1]) * ((head != new[0]) + (label != new[1]))
        is_known = head != NO_HEAD and label in names
        old = ties[head, word, names.index(label)] if is_known else ties.min()
        taken += float(old - ties[new[0], word, names.index(new[1])])
    return lost, len(changes), taken


def _is_valid(trees: ValidTrees) -> bool:
    return len(trees.solution) > 0 and not trees.faults[0]


def label_names(rules: Rules, sentence: Sentence, known_labels: Iterable[str] = ()) -> list[str]:
    """Return the labels that words may get; of equally good ones of an arc, the first is taken.

    ``dep``, UD's relation for what is not known, is the first.
    """
    known = {*sentence.deprels, *known_labels} - {"_"}
    relations = rules.relations
    if not relations:
        return sorted(known) or ["_"]
    subtypes = sorted(label for label in known if label.partition(":")[0] in relations)
    dep = [label for label in relations if label == "dep"]
    return list(dict.fromkeys([*dep, *sorted(relations), *subtypes]))


def faults_in(
    sentence: Sentence, rules: Rules, options: RepairOptions, soft: bool = False
) -> list[Fault]:
    """Return the faults of a tree: broken rules and spans, and arcs that cross but must not."""
    faults = rules.faults(sentence)
    missing = tuple(m for m, head in enumerate(sentence.heads, start=1) if head == NO_HEAD)
    crossing = tuple(sorted(crossing_words(sentence.heads))) if options.projective else ()
    for name, words in (("no-head", missing), ("crossing-arcs", crossing)):
        if words:
            faults.append(Fault(name, words[0], words, NO_ENTRY))
    if options.spans is not None and (soft or options.spans.weight is None):
        for span in options.spans.of(sentence):
            entries = tuple(span.entries(sentence.heads))
            if len(entries) > 1:
                faults.append(Fault(span.name, entries[0], entries, NO_ENTRY))
    return faults


def weight_steps(sentence: Sentence, weights: Sequence[float] | None) -> Longs:
    """Return the weights of the words 1 to n in steps of 1 / `WEIGHT_STEPS`; 1 by default."""
    n = sentence.n_words
    if weights is None:
        return np.full(n, WEIGHT_STEPS)
    if len(weights) != n:
        raise TreebankError(f"{sentence.place()}: found {len(weights)} weights, expected {n}")
    for i, weight in enumerate(weights):
        if not 0.0 <= weight <= MAX_WEIGHT:
            raise TreebankError(
                f"{sentence.place(i)}: the weight of word {i + 1} is {weight}, expected 0 to"
                f" {MAX_WEIGHT:g}"
            )
    return _rounded(np.asarray(weights, np.float64))


def _rounded(weights: Float64s) -> Longs:
    """Return weights in steps; a positive one has at least one step."""
    return np.maximum(np.rint(weights * WEIGHT_STEPS), weights > 0.0).astype(np.int64)


def _steps(
    sentence: Sentence, weights: Sequence[float] | None, spans: Spans | None
) -> tuple[Longs, int]:
    """Return the weights of the words 1 to n and of a span as small integers, and their unit."""
    of_span = 0.0 if spans is None or spans.weight is None else spans.weight
    if of_span > MAX_WEIGHT:
        raise TreebankError(f"the weight of spans is {of_span:g}, expected 0 to {MAX_WEIGHT:g}")
    steps = np.append(weight_steps(sentence, weights), _rounded(np.array([of_span])))
    unit = max(1, gcd(*steps.tolist()))
    return steps // unit, unit


def _ties(sentence: Sentence, names: Sequence[str], scores: ModelScores | None) -> Float64s:
    """Return what chooses among equals, float64[n + 1, n + 1, L]: scores, or new arcs' lengths."""
    words = np.arange(sentence.n_words + 1)
    shape = (len(words), len(words), len(names))
    if scores is None:
        is_new = words[:, None] != [NO_HEAD, *sentence.heads]
        lengths = np.where(is_new, -np.abs(words[:, None] - words), 0).astype(np.float64)
        return np.broadcast_to(lengths[:, :, None], shape)
    ties = np.full(shape, LEAST)
    places = {label: i for i, label in enumerate(scores.labels)}
    known = [i for i, name in enumerate(names) if name in places]
    opinion = scores(sentence).transpose(1, 0, 2)  # heads first, as the table
    ties[:, :, known] = opinion[:, :, [places[names[i]] for i in known]]
    return np.rint(np.clip(ties, LEAST, 0.0) * SCORE_STEPS)


def _table(
    sentence: Sentence, names: Sequence[str], steps: Longs, ties: Float64s
) -> tuple[Float64s, float]:
    """Score labelled arcs, float64[head, modifier, label]; also return the score of one step."""
    n = sentence.n_words
    words = np.arange(n + 1)
    keeps_head = (words[:, None] == [NO_HEAD, *sentence.heads])[:, :, None]
    keeps_label = np.array([(), *sentence.deprels], object)[:, None] == [*names]
    change = n * float(np.ptp(ties)) + 1.0
    kept = (n + 1) * change
    counts = np.add(keeps_head, keeps_label, dtype=np.float64)
    table: Float64s = kept * np.append(0, steps[:-1])[:, None] * counts
    table += ties - change * ~(keeps_head & keeps_label)
    table[:, 0] = table[words, words] = -np.inf
    return table, kept


def _only_punct(sentence: Sentence, names: Sequence[str], table: Float64s) -> Float64s:
    """Forbid all that changes a label, or the head of a word that is no punctuation."""
    for m, (head, label) in enumerate(zip(sentence.heads, sentence.deprels), start=1):
        table[:, m, [name != label for name in names]] = -np.inf
        if label.partition(":")[0] != "punct":
            table[np.arange(len(table)) != head, m] = -np.inf
    return table


def best_valid(
    sentence: Sentence,
    rules: Rules,
    names: Sequence[str],
    table: Float64s,
    options: RepairOptions,
    k_best: int = 1,
    apart: Flags | None = None,
) -> ValidTrees:
    """Find the k best valid trees under whole scores by head, modifier and label (-inf: never).

    Labels ``apart``, bool[head, modifier, label], make different trees; see `solve_valid`.
    """
    best = table.max(axis=2)
    head, mod = np.nonzero(best > -np.inf)
    problem = Problem(
        sentence.n_words,
        head,
        mod,
        best[head, mod],
        projective=options.projective,
        single_root="root" in rules.relations,
        quantum=1.0,
    )
    if options.spans is not None and options.spans.weight is None:
        problem = options.spans.onto(problem, sentence)
    deadline = Deadline.after(options.time_limit)
    search = deadline
    if k_best > 1 and options.time_limit is not None:  # the rest is for checking the trees
        search = deadline.within(_SEARCH * options.time_limit)
    left, least = WORK_LIMIT, 0.1 * WORK_LIMIT

    def find(problem: Problem, k: int) -> Solution:
        nonlocal left, least
        limits: dict[str, Any] = {"time_limit": search.limit()}
        if options.time_limit is None:
            limits = {"work_limit": left, "node_limit": math.ceil(left / _NODE)}
        solution = solve(problem, k_best=k, explain=False, **limits)
        left -= max(solution.work, _NODE * solution.stats.get("nodes", 0))
        if left < least:  # a search that follows a long one must not end at once
            left, least = least, least / 2.0
        return solution

    candidates = Candidates(
        problem,
        names,
        RuledSentence(rules, sentence),
        None if apart is None else lambda h, m: apart[h, m],
    )
    return solve_valid(candidates, lambda h, m: table[h, m], find, k_best=k_best, deadline=deadline)


def _changes(
    sentence: Sentence,
    heads: list[int],
    labels: list[str],
    rules: Rules,
    options: RepairOptions,
    wanted: Wanted,
) -> list[Change]:
    """Return the words that differ, each with the faults that its old arc brings back."""
    repaired = replace(sentence, heads=heads, deprels=labels)
    left = faults_in(repaired, rules, options, True)
    old_arcs = zip(sentence.heads, sentence.deprels)
    changes = []
    for i, (old, new) in enumerate(zip(old_arcs, zip(heads, labels))):
        if old != new:
            kept = replace(repaired, heads=heads.copy(), deprels=labels.copy())
            kept.heads[i], kept.deprels[i] = old
            faults = [fault for fault in faults_in(kept, rules, options, True) if fault not in left]
            reasons = [fault.text(kept, kept.heads, kept.deprels) for fault in faults]
            for (first, last), analysis in wanted.items():
                if Analysis.of(kept, first, last) != analysis:
                    words = " ".join(sentence.forms[first - 1 : last])
                    reasons.append(f"consistency: {words!r} has {analysis} elsewhere")
            changes.append(Change(i + 1, old, new, tuple(reasons)))
    return changes
