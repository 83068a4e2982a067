"""Rules of valid trees that the best tree breaks, and what keeping each of them costs."""

from __future__ import annotations

from typing import Any, NamedTuple

from bbparse.parsing.parser import Parser
from bbparse.parsing.valid import rules_for
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import ScoredTree
from bbparse.validity.check import RuledSentence
from bbparse.validity.rules import Rules


class RuleCost(NamedTuple):
    """What keeping a rule costs."""

    name: str  #: Of the rule; "all rules" for all together.
    faults: tuple[str, ...]  #: Where the best tree breaks it, in words.
    cost: float  #: How much less the best tree that keeps it scores.
    tree: ScoredTree  #: That tree; it may break other rules.


def rule_costs(
    parser: Parser, sentence: Sentence, best: ScoredTree, **limits: Any
) -> list[RuleCost]:
    """Of each rule that the model's trees keep and the best tree breaks, and of all of them.

    `best` is the best tree, whatever rules say; limits are `prune`, `time_limit` and `node_limit`
    of `Parser.parse`.
    """
    rules = rules_for(None, parser.labeller)
    if rules is None:
        return []
    texts: dict[str, list[str]] = {}
    ruled = RuledSentence(rules, sentence)
    for fault in ruled.faults(best.heads, best.labels):
        text = fault.text(sentence, best.heads, best.labels)
        texts.setdefault(fault.name, []).append(text.partition(": ")[2])

    def cost(name: str, kept: Rules) -> RuleCost:
        (tree, *_) = parser.parse(sentence, valid=kept, **limits)
        return RuleCost(name, tuple(texts.get(name, ())), best.score - tree.score, tree)

    costs = [cost(name, Rules(r for r in rules.rules if r.name == name)) for name in texts]
    if len(costs) > 1 or (costs and ruled.faults(costs[0].tree.heads, costs[0].tree.labels)):
        costs.append(cost("all rules", rules))
    return costs
