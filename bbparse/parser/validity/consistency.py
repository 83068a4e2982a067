"""One analysis for the same words in the same context, at the least cost.

Each variation (`bbparse.treebank.variation`) gets one of its analyses, and its sentences are
repaired so that they have it. Variations that share sentences are decided together by branch and
bound: what sentences cost under some choices bounds what they cost under more. If other words vary
in the repaired sentences, they are added, and all is decided again, so that the last choice is the
cheapest of all that leave no variation. The cost is, in this order, the number of faults, the
weights of heads and labels that are not kept, the number of changed words, and the scores or
lengths of new arcs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from bbparse.parser.validity.repair import Repair, RepairOptions, Wanted, repair
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence
from bbparse.treebank.variation import Analysis, variations

#: Repairs that the search for the analyses of one group of variations may take.
MAX_REPAIRS = 400
#: Times that all is decided.
_MAX_ROUNDS = 30

_Cost: TypeAlias = tuple[float, ...]
#: By the index of a sentence, analyses of its sequences of words.
_Choice: TypeAlias = Mapping[int, Wanted]
_FREE: _Cost = (0.0, 0.0, 0.0, 0.0)


class Nucleus(NamedTuple):
    """Words that vary: the places by sentence, first and last word; the analyses."""

    places: list[tuple[int, int, int]]
    analyses: list[Analysis]


class Consistency:
    """Repairs of sentences that have one analysis of each sequence of words in a context.

    ``nuclei`` are the words that varied; ``proved`` is True if no choice of analyses costs less.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        rules: Rules,
        weights: Sequence[Sequence[float] | None] | None = None,
        options: RepairOptions | None = None,
    ) -> None:
        self._given = sentences, rules, weights, options or RepairOptions()
        self._known: dict[tuple[int, frozenset[object]], Repair] = {}
        self.nuclei: list[Nucleus] = []
        trees = list(sentences)
        for _ in range(_MAX_ROUNDS):
            new = self._varying(trees)
            self.nuclei += new
            self.proved, choice = True, dict[int, Wanted]()
            for group in watched(self._groups(), "variations", " groups"):
                choice.update(self._cheapest(group))
            numbers = watched(range(len(sentences)), "repaired")
            self.repairs = [self._repair(i, choice.get(i, {})) for i in numbers]
            if not new:
                return
            pairs = zip(sentences, self.repairs)
            trees = [replace(s, heads=r.heads, deprels=r.labels) for s, r in pairs]
        self.proved = False

    def _varying(self, trees: Sequence[Sentence]) -> list[Nucleus]:
        """Return what varies in trees of the sentences and is not known yet."""
        index = {id(tree): i for i, tree in enumerate(trees)}
        known = {place for nucleus in self.nuclei for place in nucleus.places}
        found = []
        for variation in variations(trees):
            places = [(index[id(x.sentence)], x.first, x.last) for x in variation.occurrences]
            if known.isdisjoint(places):
                given = [Analysis.of(self._given[0][i], *ends) for i, *ends in places]
                seen = [analysis for analysis, _ in variation.counts()]
                found.append(Nucleus(places, [*dict.fromkeys([*seen, *given])]))
        return found

    def _groups(self) -> list[list[Nucleus]]:
        """Join nuclei that share sentences."""
        groups: list[tuple[set[int], list[Nucleus]]] = []
        for nucleus in self.nuclei:
            indices, joined = {place[0] for place in nucleus.places}, [nucleus]
            for group in [group for group in groups if group[0] & indices]:
                groups.remove(group)
                indices, joined = indices | group[0], group[1] + joined
            groups.append((indices, joined))
        return [joined for _, joined in groups]

    def _repair(self, index: int, wanted: Wanted) -> Repair:
        sentences, rules, weights, options = self._given
        key = index, frozenset(wanted.items())
        if key not in self._known:
            own = None if weights is None else weights[index]
            self._known[key] = repair(sentences[index], rules, own, options, wanted)
        return self._known[key]

    def _cost(self, choice: _Choice) -> _Cost:
        repairs = [self._repair(*item) for item in choice.items()]
        return tuple(map(sum, zip(_FREE, *(each.cost for each in repairs))))

    def _cheapest(self, group: Sequence[Nucleus]) -> _Choice:
        """Choose an analysis for each nucleus of a group."""
        best: tuple[_Cost, _Choice] = ((math.inf,), {})
        limit = len(self._known) + MAX_REPAIRS
        stack: list[tuple[int, _Cost, _Choice]] = [(0, _FREE, {})]
        while stack:
            depth, cost, choice = stack.pop()
            if cost >= best[0]:
                continue
            if depth == len(group):
                best = cost, choice
                continue
            if len(self._known) > limit and best[1]:
                self.proved = False
                break
            options = []
            for analysis in group[depth].analyses:
                wider = {i: dict(wanted) for i, wanted in choice.items()}
                for i, first, last in group[depth].places:
                    wider.setdefault(i, {})[first, last] = analysis
                options.append((depth + 1, self._cost(wider), wider))
            stack += sorted(options, key=lambda option: option[1], reverse=True)
        self.proved &= all(self._repair(*item).proved for item in best[1].items())
        return best[1]
