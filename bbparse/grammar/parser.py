"""`PhraseParser`: phrase-structure parsing by a grammar, a tagger and a dependency parser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from bbparse.core import Problem
from bbparse.grammar.chart import (
    FORBIDDEN,
    FREE,
    WHOLE,
    ChartGrammar,
    Leaves,
    PhraseChart,
    Retained,
    build_chart,
)
from bbparse.grammar.grammar import Grammar
from bbparse.grammar.oracles import ChartOracle
from bbparse.grammar.phrases import ROOT, Phrase, PhraseTree, from_phrase, sentence_of
from bbparse.grammar.prune import LEFT, possible_rules, prune
from bbparse.grammar.tagger import PhraseTagger, with_tags
from bbparse.grammar.words import Vocabulary
from bbparse.inference.agreement import Agreement, agree
from bbparse.inference.oracles.protocol import Oracle
from bbparse.inference.oracles.tree_oracles import ProjectiveTrees
from bbparse.parser.parser import Parser
from bbparse.runtime.arrays import Ints
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import ConfigError
from bbparse.runtime.options import OPTIONS, Range, check_number, check_options
from bbparse.text.tokenizer import Tokenizer

WITH = ("none", "tags", "arcs", "both")
#: Maximum number of words of a sentence that is not parsed in parts.
MAX_WORDS = 120
#: Items of trees at most this far below the best are retained.
MARGIN = 5.0


@dataclass(frozen=True)
class PhraseParse:
    """The best trees of a sentence, and how they were found."""

    trees: list[PhraseTree]  #: Best first.
    scores: list[float]  #: Scores of the grammar, plus those of tags if used.
    #: True if the sentence was parsed in parts, because its charts have no tree or a limit was hit.
    fallback: bool
    #: True if `trees` are the k best, or all that have the tags and arcs of the best one.
    complete: bool
    #: Result of `bbparse.agree` for grammar and dependency parser, if both were used.
    agreement: Agreement | None
    #: Head of each word in the best tree, by the head rules; 0 for the root.
    heads: list[int] = field(default_factory=list)


class PhraseParser:
    """A grammar, a tagger and a projective dependency parser trained on the same trees.

    The parser's scores of arcs, siblings and grandchildren are used; factors are not.
    """

    root_calls = 50  #: Maximum number of calls of `bbparse.agree` at its root.

    def __init__(
        self,
        vocabulary: Vocabulary,
        grammar: Grammar,
        tagger: PhraseTagger,
        tokenizer: Tokenizer,
        dependencies: Parser | None = None,
    ) -> None:
        self.vocabulary, self.grammar = vocabulary, grammar
        self.tagger, self.tokenizer, self.dependencies = tagger, tokenizer, dependencies
        pairs = self.grammar.pairs
        by_head = np.argsort(pairs.head, kind="stable").astype(np.int32)
        head_ptr = np.searchsorted(pairs.head[by_head], np.arange(len(pairs.root) + 1))
        self.chart_grammar = ChartGrammar(
            grammar.forms,
            grammar.kind,
            grammar.n_tags,
            pairs,
            possible_rules(pairs),
            grammar.table,
            tagger.joins,
            by_head,
            head_ptr.astype(np.int32),
        )

    def parse(
        self,
        words: Sequence[str],
        tags: Sequence[str] | None = None,
        *,
        use: str = "both",
        k: int = 1,
        heads: Sequence[int] | None = None,
        time_limit: float | None = None,
        node_limit: int | None = None,
    ) -> PhraseParse:
        """Parse a sentence.

        Parameters
        ----------
        words : sequence of str
            None of them is empty.
        tags : sequence of str, optional
            Tags of the words; predicted by default, and where the grammar does not know them.
        use : {"none", "tags", "arcs", "both"}
            Models to use beside the grammar: scores of tags are part of its chart; with scores of
            arcs, grammar and dependency parser must agree.
        k : int
            Number of distinct trees. All but the first have the tags and arcs of the best tree and
            are ranked by the grammar alone.
        heads : sequence of int, optional
            Required heads of words, 0 for the root (see `PhraseParse.heads`). Ignored if the charts
            have no such tree. Only with `use` none or tags.
        time_limit, node_limit : optional
            Limits of `bbparse.agree`. The time limit is for the whole sentence, but building a
            chart is not interrupted; the node limit is for each part of a sentence.

        Raises
        ------
        ConfigError
            If an argument is none of these, or `use` needs a dependency parser that is missing.
        """
        if isinstance(words, str) or not all(isinstance(x, str) and x for x in words):
            raise ConfigError(f"words are {words!r:.60}, expected a list of words, none empty")
        if use not in WITH:
            raise ConfigError(f"use is {use!r:.60}, expected {', '.join(WITH)}")
        check_number("k", k, OPTIONS["k_best"])
        check_options({"time_limit": time_limit, "node_limit": node_limit})
        if use in ("arcs", "both") and self.dependencies is None:
            raise ConfigError(f"use is {use!r}, and the model has no dependency parser")
        if tags is not None and len(tags) != len(words):
            raise ConfigError(f"tags: {len(tags)}, expected {len(words)}, one for each word")
        if heads is not None and (use in ("arcs", "both") or len(heads) != len(words)):
            raise ConfigError(
                f"heads: {len(heads)} with {use!r}, expected {len(words)} with 'none' or 'tags'"
            )
        for head in heads or ():
            check_number("a head", head, Range(0, maximum=len(words)))
        if not words:
            return PhraseParse([PhraseTree(ROOT)], [0.0], False, True, None)
        sentence = _Sentence(self, words, tags, use)
        return sentence.parse(k, heads, Deadline.after(time_limit), node_limit)


class _Sentence:
    """The parse of one sentence."""

    def __init__(
        self, parser: PhraseParser, words: Sequence[str], tags: Sequence[str] | None, use: str
    ) -> None:
        self.parser, self.words, self.use = parser, list(words), use
        known, symbols = parser.grammar.tag_number, parser.grammar.symbols
        self.leaves = parser.tagger.leaves(words)
        self.tags = [symbols[tag] for tag in self.leaves.tag[self.leaves.ptr[:-1]]]
        if tags is not None:
            self.tags = [a if a in known else b for a, b in zip(tags, self.tags)]
        if tags is not None or use in ("none", "arcs"):
            self.leaves = with_tags(self.leaves, np.array([known[t] for t in self.tags], np.int32))

    def parse(
        self, k: int, heads: Sequence[int] | None, deadline: Deadline, node_limit: int | None
    ) -> PhraseParse:
        """Parse; widen the margin, then drop required heads, until there is a tree."""
        if len(self.words) > MAX_WORDS:
            return self._in_parts(deadline, node_limit)
        problem = self._problem()
        wanted = [None] if heads is None else [heads, None]
        attempts = [(wider, fixed) for fixed in wanted for wider in (1.0, 2.0)]
        for wider, fixed in deadline.through(attempts):
            chart = self._chart(problem, fixed, wider)
            if chart is None:
                continue
            n_tags = len(self.leaves.word)
            arc_mod = problem.arc_mod if problem is not None else np.empty(0, np.int32)
            group = np.append(self.leaves.word, len(self.words) + arc_mod).astype(np.int32)
            grammar = ChartOracle(chart, group)
            agreement = None
            if problem is None:
                on = grammar.best(np.zeros(len(group))).on
            else:
                oracles: list[Oracle] = [grammar, ProjectiveTrees(problem)]
                names: list[Any] = [np.arange(len(group)), n_tags + np.arange(len(arc_mod))]
                agreement = agree(
                    oracles,
                    names,
                    root_calls=self.parser.root_calls,
                    time_limit=deadline.limit(),
                    node_limit=node_limit,
                )
                if not agreement.on:
                    continue
                on = agreement.on[0]
            grammar = grammar.restrict(on, ~on)
            derived = partial(_derived, self.parser.grammar, chart, self.leaves)
            read = partial(_written, derived, self.words)
            trees, complete = grammar.k_best(np.zeros(len(group)), k, read, deadline)
            scores, steps = zip(*trees.values())
            return PhraseParse(
                list(trees),
                list(scores),
                False,
                complete and (agreement is None or agreement.proved),
                agreement,
                derived(steps[0]).heads(),
            )
        return self._in_parts(deadline, node_limit)

    def _problem(self) -> Problem | None:
        if self.use not in ("arcs", "both") or self.parser.dependencies is None:
            return None
        return self.parser.dependencies.problem(sentence_of(self.words, self.tags))

    def _chart(
        self, problem: Problem | None, heads: Sequence[int] | None, wider: float
    ) -> PhraseChart | None:
        """Build the chart of the lexicalized grammar, pruned by the unlexicalized one."""
        p, n = self.parser, len(self.words)
        leaf = np.full((n, p.grammar.n_tags), -np.inf, np.float32)
        leaf[self.leaves.word, self.leaves.tag] = self.leaves.score
        best, kept, kept_pair = prune(leaf, p.grammar.pairs, wider * MARGIN)
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
        room = 1000 + 16 * int(np.count_nonzero(kept_pair))  # most have fewer steps
        return build_chart(self.leaves, p.chart_grammar, Retained(kept, kept_pair, arcs), room)

    def _in_parts(self, deadline: Deadline, node_limit: int | None) -> PhraseParse:
        """Parse both halves, split at punctuation or a conjunction if possible, and join them.

        After the deadline, words are joined one by one.
        """
        n = len(self.words)
        if n == 1 or deadline.is_over():
            leaves = tuple(PhraseTree(tag, word=word) for tag, word in zip(self.tags, self.words))
            tree = PhraseTree(ROOT, leaves if n == 1 else (PhraseTree("X", leaves),))
            return PhraseParse([tree], [-np.inf], True, False, None, [0] + [1] * (n - 1))
        borders = [i + 1 for i in range(n - 1) if self.tags[i] in (",", ":", ".", "CC")]
        border = min(borders or range(1, n), key=lambda i: abs(2 * i - n))
        parts: list[PhraseTree] = []
        heads: list[int] = []
        for start, end in ((0, border), (border, n)):
            part = _Sentence(self.parser, self.words[start:end], self.tags[start:end], self.use)
            if deadline.is_over():
                part_parse = part._in_parts(deadline, node_limit)
            else:
                part_parse = part.parse(1, None, deadline, node_limit)
            tree = part_parse.trees[0]
            inner = tree.children[0]
            was_joined = part_parse.fallback and inner.label == "X" and inner.children  # no tag X
            parts += inner.children if was_joined else tree.children
            top = heads.index(0) + 1 if heads else 0
            heads += [h + start if h else top for h in part_parse.heads]
        joined = PhraseTree(ROOT, (PhraseTree("X", tuple(parts)),))
        return PhraseParse([joined], [-np.inf], True, False, None, heads)


def _derived(grammar: Grammar, chart: PhraseChart, leaves: Leaves, steps: Ints) -> Phrase:
    """Return the phrase of a derivation."""
    item_of = np.searchsorted(chart.item_ptr, steps, side="right") - 1
    step = dict(zip(item_of.tolist(), steps.tolist()))
    left, right = chart.left, chart.right

    def phrase(item: int) -> Phrase:
        inner_item, label = int(left[step[item]]), grammar.symbols[chart.symbol[item]]
        if inner_item == 0:
            return Phrase(label, int(leaves.word[chart.head[item]]), label)
        before, after = [], []
        while chart.kind[inner_item] != WHOLE:
            e = step[inner_item]
            if chart.kind[inner_item] == LEFT:
                before.append(int(left[e]))
                inner_item = int(right[e])
            else:
                after.append(int(right[e]))
                inner_item = int(left[e])
        inner = phrase(inner_item)
        return Phrase(
            label,
            inner.word,
            inner.tag,
            inner,
            [phrase(i) for i in reversed(before)],
            [phrase(i) for i in reversed(after)],
        )

    return phrase(int(left[step[len(chart.kind) - 1]]))


def _written(derived: Callable[[Ints], Phrase], words: list[str], steps: Ints) -> PhraseTree:
    """Return the bracketed tree of a derivation, without heads and refinements."""
    return from_phrase(derived(steps), words)
