"""`PhraseParser`: words → phrase structure, alone or in agreement with a tagger and a parser."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.agreement import Agreement, agree
from bbparse.deadline import Deadline
from bbparse.errors import ConfigError, ModelError
from bbparse.options import check_options
from bbparse.oracle.protocol import Oracle
from bbparse.oracle.trees import ProjectiveTrees
from bbparse.parsing.parser import Parser
from bbparse.phrases.chart import FORBIDDEN, FREE, Chart, Leaves, build_chart
from bbparse.phrases.grammar import Grammar
from bbparse.phrases.listing import Combine
from bbparse.phrases.oracles import ChartOracle
from bbparse.phrases.prune import LEFT, RIGHT, dense_rules, divide, prune
from bbparse.phrases.tagger import TrigramTagger
from bbparse.phrases.trees import (
    ROOT,
    SPLIT,
    Phrase,
    PhraseTree,
    default_rules,
    from_phrase,
    sentence_of,
)
from bbparse.phrases.words import Vocabulary
from bbparse.problem import Problem
from bbparse.problem.parts import DTYPES
from bbparse.text.tokenizer import Tokenizer

WITH = ("none", "tags", "arcs", "both")
#: Longer sentences are parsed in parts.
LONGEST = 150


@dataclass(frozen=True)
class PhraseSettings:
    """How charts are pruned, how much each model's word counts, and how models are made to agree
    (`bbparse.agree`)."""

    #: What may score so much less than the best tree stays in the chart, by grammar.
    margins: tuple[float, ...] = (9.0, 8.0, 6.0)
    #: Share of the grammar with words in the score, above 0 to 1; the split one has the rest.
    lexical: float = 1.0
    arcs: float = 0.1  #: Weight of the dependency parser's scores, against the grammar's.
    method: str = "paper"
    step: float = 0.5
    root_calls: int = 50
    node_calls: int = 20


@dataclass(frozen=True)
class PhraseParse:
    """A sentence's trees, and how they were found."""

    trees: list[PhraseTree]  #: Best first.
    scores: list[float]
    #: The grammar has no tree for the sentence: it was parsed in parts, which are joined.
    fallback: bool
    #: There are as many trees as were asked for, or all of the chart: no fallback, and in time.
    complete: bool
    agreement: Agreement | None  #: Where models had to agree and could.
    #: Of the best tree: the head of each word, by the grammar's head rules; 0 for the root.
    heads: list[int] = field(default_factory=list)


class PhraseParser:
    """A grammar, a tagger and a dependency parser that were learned from the same trees.

    The grammars are the coarsest first, each finer than the one before: of kinds of categories, of
    plain ones, of split ones. The dependency parser is for `arcs` and `both`, the cutter for
    running text.
    """

    def __init__(
        self, vocabulary: Vocabulary, grammars: Sequence[Grammar], tagger: TrigramTagger,
        dependencies: Parser | None = None, settings: PhraseSettings | None = None,
        cutter: Tokenizer | None = None,
    ) -> None:  # fmt: skip
        self.vocabulary, self.grammars, self.grammar = vocabulary, list(grammars), grammars[-1]
        self.tagger, self.dependencies, self.cutter = tagger, dependencies, cutter
        self.settings = settings or PhraseSettings()
        self.rules = dense_rules(self.grammar.pairs)
        self.divisions = [
            divide(coarse, fine, default_rules()) for coarse, fine in pairwise(self.grammars)
        ]

    def needed_cutter(self) -> Tokenizer:
        """What cuts running text; raises `ModelError` if the model has none."""
        if self.cutter is None:
            raise ModelError("the model cannot cut running text: give sentences of words")
        return self.cutter

    def parse(
        self, words: Sequence[str], tags: Sequence[str] | None = None, *, use: str = "both",
        k: int = 1, heads: Sequence[int] | None = None, time_limit: float | None = None,
        node_limit: int | None = None,
    ) -> PhraseParse:  # fmt: skip
        """Parse a sentence, whose tags are the tagger's where none are given.

        `use`, one of `WITH`, says which models have to agree with the grammar. The trees are the
        `k` best different ones of the chart; the further ones by the score of the grammar alone,
        with the tags and arcs on which the models agree in the best one. Only trees with the
        `heads` given (0 for the root) are looked at, if there is any, with `use` none or tags.
        Limits are those of `bbparse.agree`; the time limit is also one for finding further trees.
        `ConfigError` if an argument is none that it can be, or does not go with the words.
        """
        if use not in WITH:
            raise ConfigError(f"with is {use!r}, expected one of {list(WITH)}")
        if use in ("arcs", "both") and self.dependencies is None:
            raise ConfigError(f"with is {use!r}: the model has no dependency parser")
        check_options({"k_best": k, "time_limit": time_limit, "node_limit": node_limit})
        if isinstance(words, str):
            raise ConfigError(f"words are {words!r:.60}, expected a list of words")
        for i, word in enumerate(words):
            if not isinstance(word, str) or not word:
                raise ConfigError(f"word {i + 1} is {word!r}, expected text")
        if tags is not None and len(tags) != len(words):
            raise ConfigError(f"tags: {len(tags)}, expected {len(words)}, one for each word")
        if heads is not None and (
            use in ("arcs", "both") or len(heads) != len(words)
            or not all(0 <= head <= len(words) for head in heads)
        ):  # fmt: skip
            raise ConfigError(
                f"heads: {len(heads)} with {use!r}, expected {len(words)} words from 0 to"
                f" {len(words)} and with none or tags"
            )
        if not words:
            return PhraseParse([PhraseTree(ROOT)], [0.0], False, True, None)
        sentence = _Sentence(self, words, tags, use)
        return sentence.parse(k, heads, time_limit, node_limit)


class _Sentence:
    """One sentence on its way through the grammars and the other models."""

    def __init__(
        self, parser: PhraseParser, words: Sequence[str], tags: Sequence[str] | None, use: str
    ) -> None:
        self.parser, self.words, self.use = parser, list(words), use
        self.leaves, self.tag_scores, self.labels = parser.tagger.leaves(words)
        self.tag_oracle: ChartOracle | None = None
        known = parser.grammar.tag_number
        self.tags = [] if tags is None else list(tags)
        if tags is None or not known.keys() >= set(tags):
            chart = parser.tagger.chart(self.leaves, self.tag_scores, self.labels)
            self.tag_oracle = ChartOracle(chart, self.leaves.word)
            best = np.flatnonzero(self.tag_oracle.best(np.zeros(len(self.leaves.word))).on)
            own = [parser.grammar.symbols[self.leaves.tag[q]] for q in best]
            self.tags = [a if a in known else b for a, b in zip(self.tags or own, own)]
        if tags is not None or use in ("none", "arcs"):
            self.tag_oracle = None
            n = len(self.words)
            self.leaves = Leaves(
                np.arange(n + 1, dtype=np.int32), np.arange(n, dtype=np.int32),
                np.array([known[tag] for tag in self.tags], np.int32),
                np.array(parser.vocabulary.numbers(words), np.int32),
                np.arange(n, dtype=np.int32), np.zeros(n),
            )  # fmt: skip
            self.tag_scores = np.zeros(n)

    def parse(
        self, k: int, heads: Sequence[int] | None, time_limit: float | None, node_limit: int | None
    ) -> PhraseParse:
        """With ever less asked for, until there is a tree."""
        s = self.parser.settings
        deadline = Deadline.after(time_limit)
        if len(self.words) > LONGEST:
            return self._in_parts()
        problem = self._problem()
        attempts = [(1.0, heads)] * (heads is not None) + [(1.0, None), (2.0, None)]
        for wider, fixed in attempts:
            made = self._chart(problem, fixed, wider)
            if made is None:
                continue
            chart, step_of = made
            n_tags = len(self.leaves.word)
            arc_mod = problem.arc_mod if problem is not None else np.empty(0, np.int32)
            group = np.append(self.leaves.word, len(self.words) + arc_mod).astype(np.int32)
            grammar = ChartOracle(chart, group)
            oracles: list[Oracle] = [grammar]
            names: list[Any] = [np.arange(len(group))]
            if self.tag_oracle is not None:
                oracles.append(self.tag_oracle)
                names.append(np.arange(n_tags))
            if problem is not None:
                weighted = {x: s.arcs * getattr(problem, x) for x in DTYPES if x.endswith("_score")}
                oracles.append(ProjectiveTrees(problem.changed(**weighted)))
                names.append(n_tags + np.arange(len(arc_mod)))
            found = None
            if len(oracles) > 1:
                found = agree(
                    oracles, names, method=s.method, step=s.step, root_calls=s.root_calls,
                    node_calls=s.node_calls, time_limit=time_limit, node_limit=node_limit,
                )  # fmt: skip
                if not found.on:
                    continue
                on = found.on[0]
                grammar = grammar.restrict(on, ~on)
            written = _written(self.parser.grammar, chart, step_of, self.leaves)
            best = grammar.k_steps(np.zeros(len(group)), k, written, deadline)
            phrases = [_derived(self.parser.grammar, chart, step_of, st, self) for _, st in best]
            return PhraseParse(
                [from_phrase(phrase, self.words) for phrase in phrases],
                [score for score, _ in best], False,
                len(best) == k or not deadline.is_over(), found, phrases[0].heads(),
            )  # fmt: skip
        return self._in_parts()

    def _problem(self) -> Problem | None:
        if self.use not in ("arcs", "both") or self.parser.dependencies is None:
            return None
        return self.parser.dependencies.problem(sentence_of(self.words, self.tags))

    def _chart(
        self, problem: Problem | None, heads: Sequence[int] | None, wider: float
    ) -> tuple[Chart, NDArray[np.int8]] | None:
        """The chart of the grammar with words, by way of those without them."""
        p, n = self.parser, len(self.words)
        margins = [wider * margin for margin in p.settings.margins]
        leaf = np.full((n, p.grammar.n_tags), -np.inf, np.float32)
        leaf[self.leaves.word, self.leaves.tag] = self.tag_scores
        best, kept, kept_pair = prune(leaf, p.grammars[0].pairs, margins[0])
        for grammar, division, margin in zip(p.grammars[1:], p.divisions, margins[1:]):
            if best == -np.inf:
                return None
            within = division, kept, kept_pair
            best, kept, kept_pair = prune(leaf, grammar.pairs, margin, within)
        if best == -np.inf:
            return None
        arcs = np.full((n + 1, n), FREE, np.int32)
        if problem is not None:
            arcs[:] = FORBIDDEN
            arcs[problem.arc_head, problem.arc_mod - 1] = len(self.leaves.word) + np.arange(
                len(problem.arc_mod)
            )
        elif heads is not None:
            arcs[:] = FORBIDDEN
            arcs[list(heads), range(n)] = FREE
        g, room = p.grammar, 1000 + 16 * int(np.count_nonzero(kept_pair))  # most have fewer steps
        while True:
            chart, step_of, full = build_chart(
                self.leaves, g.forms, g.kind, g.pairs, p.rules, g.table, kept, kept_pair, arcs,
                p.settings.lexical, room,
            )  # fmt: skip
            if not full:
                return (chart, step_of) if len(chart.symbol) > 1 else None
            room *= 4

    def _in_parts(self) -> PhraseParse:
        """Halves at a comma or the like if there is one, joined under one more phrase."""
        n = len(self.words)
        if n == 1:
            tree = PhraseTree(ROOT, (PhraseTree(self.tags[0], word=self.words[0]),))
            return PhraseParse([tree], [-np.inf], True, False, None, [0])
        places = [
            i + 1 for i in range(n - 1) if self.tags[i] in (",", ":", ".") or self.tags[i] == "CC"
        ]
        at = min(places or range(1, n), key=lambda i: abs(2 * i - n))
        parts: list[PhraseTree] = []
        heads: list[int] = []
        for start, end in ((0, at), (at, n)):
            some = _Sentence(self.parser, self.words[start:end], self.tags[start:end], self.use)
            found = some.parse(1, None, None, None)
            tree = found.trees[0]
            inner = tree.children[0]
            parts += inner.children if found.fallback and inner.label == "X" else tree.children
            top = heads.index(0) + 1 if heads else 0
            heads += [h + start if h else top for h in found.heads]
        joined = PhraseTree(ROOT, (PhraseTree("X", tuple(parts)),))
        return PhraseParse([joined], [-np.inf], True, False, None, heads)


def _written(grammar: Grammar, chart: Chart, step_of: Any, leaves: Leaves) -> Combine:
    """What of a derivation is written: labels without splits, and nothing about heads.

    Of phrases and words, a number for each; of what is on the way to a phrase, those of its parts.
    """
    item_of = np.repeat(np.arange(len(step_of)), np.diff(chart.item_ptr)).tolist()
    labels = [symbol.partition(SPLIT)[0] for symbol in grammar.symbols]
    numbers: dict[Hashable, int] = {}

    def parts(item: int, structure: Any) -> Any:
        return structure if step_of[item] else (structure,)

    def combine(step: int, left: Any, right: Any) -> Hashable:
        item = item_of[step]
        if step_of[item] == RIGHT:
            return (*parts(chart.left[step], left), right)
        if step_of[item] == LEFT:
            return (left, *parts(chart.right[step], right))
        if item == len(step_of) - 1:
            return left
        inner = chart.left[step]
        below = parts(inner, left) if inner else int(leaves.word[chart.head[item]])
        return numbers.setdefault((labels[chart.symbol[item]], below), len(numbers))

    return combine


def _derived(
    grammar: Grammar, chart: Chart, step_of: Any, steps: Any, sentence: _Sentence
) -> Phrase:
    """The phrase that a derivation stands for."""
    item_of = np.searchsorted(chart.item_ptr, steps, side="right") - 1
    step = dict(zip(item_of.tolist(), steps.tolist()))
    left, right, head = chart.left, chart.right, chart.head

    def phrase(item: int) -> Phrase:
        at, label = int(left[step[item]]), grammar.symbols[chart.symbol[item]]
        if at == 0:
            return Phrase(label, int(sentence.leaves.word[head[item]]), label)
        before, after = [], []
        while step_of[at] != 0:
            e = step[at]
            if step_of[at] == LEFT:
                before.append(int(left[e]))
                at = int(right[e])
            else:
                after.append(int(right[e]))
                at = int(left[e])
        inner = phrase(at)
        return Phrase(
            label, inner.word, inner.tag, inner, [phrase(i) for i in reversed(before)],
            [phrase(i) for i in reversed(after)],
        )  # fmt: skip

    return phrase(int(left[step[len(step_of) - 1]]))
