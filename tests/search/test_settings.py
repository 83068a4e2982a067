"""The choices of a search: what is accepted, what the paper chose, how mistakes are named."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError
from bbparse.search.settings import AS_PUBLISHED, DEFAULT, METHODS, ORDERS, SearchSettings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "newton"}, r"search\.method is 'newton', expected one of .*'paper', 'mixed'"),
        ({"method": "polyak"}, r"^search\.method 'polyak' is no longer there: use 'mixed', .*$"),
        ({"method": "max-marginal"}, r"^search\.method 'max-marginal' is no longer there: .*$"),
        ({"order": "random"}, r"search\.order is 'random', expected one of .*'best-first'"),
        ({"lower_start": -1}, r"search\.lower_start is -1, expected at least 0"),
        ({"root_calls": 0}, r"search\.root_calls is 0, expected at least 1"),
        ({"node_calls": 2.0}, r"search\.node_calls is 2\.0, expected a whole number"),
        ({"eliminate_every": True}, r"search\.eliminate_every is True, expected a whole number"),
        ({"close_k": "16"}, r"search\.close_k is '16', expected a whole number"),
        ({"precision": -1e-8}, r"search\.precision is -1e-08"),
        ({"precision": float("nan")}, r"search\.precision is nan"),
        ({"precision": "fine"}, r"search\.precision is 'fine'"),
    ],
)
def test_impossible_values_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SearchSettings(**change)
    with pytest.raises(ConfigError, match=message):
        DEFAULT.with_(**change)


def test_copies_with_changes() -> None:
    assert DEFAULT.with_(close_k=3).close_k == 3
    with pytest.raises(FrozenInstanceError):
        DEFAULT.close_k = 3  # type: ignore[misc]


def test_every_named_choice_is_accepted() -> None:
    for method in METHODS:
        for order in ORDERS:
            assert SearchSettings(method=method, order=order).method == method


def test_the_papers_choices() -> None:
    """QL13 §3.3, §3.4 and §4.4: projected subgradient, level by level, ε = 1e-8, a lower start."""
    s = AS_PUBLISHED
    assert (s.method, s.order, s.precision) == ("paper", "level", 1e-8)
    assert s.lower_start > 0
    # Neither arc elimination nor a list of the best trees is in the paper.
    assert (s.eliminate_every, s.close_k) == (0, 1)


def test_the_papers_configuration_searches_as_published() -> None:
    config = Configuration.load("paper")
    assert config.search == AS_PUBLISHED
    assert config.model.backbone == "carreras"
    assert config.pruner.k == 10
    assert config.learning.method == "perceptron"
