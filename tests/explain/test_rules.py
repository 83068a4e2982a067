"""What keeping rules costs."""

from __future__ import annotations

from bbparse.explain import explain, page
from bbparse.explain.explanation import rule_costs
from bbparse.validity.rules import Rules
from tests import toy


def test_costs_of_rules() -> None:
    parser, ud, seen = toy.parser(), Rules.load("ud").binding, 0
    for sentence in toy.dev_sentences():
        (best,) = parser.parse(sentence, valid="none")
        costs = rule_costs(parser, sentence, best)
        (valid,) = parser.parse(sentence)
        if not costs:
            assert valid == best
            continue
        assert all(cost.cost >= -1e-9 for cost in costs)
        assert costs[-1].cost >= max(cost.cost for cost in costs) - 1e-9
        assert abs(best.score - valid.score - costs[-1].cost) < 1e-9
        assert {cost.name for cost in costs if cost.faults} <= {rule.name for rule in ud.rules}
        if not seen:
            text = page(explain(parser, sentence))
            assert "Not a valid tree" in text and costs[0].name in text
            assert "Not a valid tree" not in page(explain(parser, sentence, valid="none"))
            assert not rule_costs(parser, sentence, best, "none")
            one = Rules(rule for rule in ud.rules if rule.name == costs[0].name)
            (alone, *_) = rule_costs(parser, sentence, best, one)
            assert (alone.name, alone.faults, alone.cost) == costs[0][:3]
        seen += 1
    assert seen
