"""Configurations: mistakes in files, what networks are refused with, and what is no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbparse.configuration import Configuration
from bbparse.errors import ConfigError
from tests import toy

TEMPLATES: dict[str, Any] = {"bits": 8, "arc": ["h.upos m.upos"]}
PLAIN: dict[str, Any] = {"templates": TEMPLATES, "pruner": {"templates": TEMPLATES}}


@pytest.mark.parametrize(
    ("table", "changes", "message"),
    [
        *(("network", {name: size}, f"network.{name} is {size}, expected a multiple of 16 up to")
          for name in ("word", "width", "pairs", "shared", "parts", "naming")
          for size in (0, 8, 4112)),
        ("network", {"layers": "rx"}, "network.layers is 'rx', expected at most 8 letters r and c"),
        ("network", {"layers": "r" * 9}, "network.layers is 'rrrrrrrrr'"),
        ("network", {"layers": 2}, "network.layers is 2, expected a string"),
        ("network", {"epochs": -1}, "network.epochs is -1"),
        ("network", {"words": 0}, "network.words is 0"),
        ("network", {"rate": 0.0}, "network.rate is 0.0"),
        ("network", {"dropout": 1.0}, "network.dropout is 1.0, expected at least 0 and below 1"),
        ("network", {"word_dropout": -0.1}, "network.word_dropout is -0.1"),
        ("network", {"attribute_dropout": 1.5}, "network.attribute_dropout is 1.5"),
        ("network", {"batch": 0}, "network.batch is 0"),
        ("network", {"cutoff": 0}, "network.cutoff is 0"),
        ("network", {"hidden": 8}, "unknown key 'hidden' in [network]; keys are epochs, "),
        ("factors", {"stage": "jackknife"}, "unknown key 'stage' in [factors]"),
        ("factors", {"fold_restarts": 2}, "unknown key 'fold_restarts' in [factors]"),
        ("factors", {"folds": 1}, "factors.folds is 1, expected a whole number of at least 2"),
        ("factors", {"fold_epochs": 0}, "factors.fold_epochs is 0"),
        ("factors", {"epochs": 0}, "factors.epochs is 0"),
        ("factors", {"rivals": 0}, "factors.rivals is 0"),
        ("factors", {"cost": -1.0}, "factors.cost is -1.0, expected 0 or more"),
        ("learning", {"keep": 0.0}, "learning.keep is 0"),
        ("learning", {"epochs": 0}, "learning.epochs is 0"),
        ("learning", {"restarts": 0}, "learning.restarts is 0"),
        ("learning", {"start": 0.0}, "learning.start is 0.0"),
        ("labels", {"epochs": -1}, "labels.epochs is -1"),
        ("labels", {"rate": 0.0}, "labels.rate is 0.0"),
        ("labels", {"folds": 2}, "unknown key 'folds' in [labels]"),
        ("labels", {"templates": {"bits": 12}}, "labels.templates has no template"),
        ("labels", {"templates": {"arc": ["h.nonsense"]}}, "labels.templates.arc, line 1"),
        ("guide", {"epochs": 2}, "[guide] no longer exists: one [network] scores arcs, parts and"),
        ("trees", {}, "[trees] no longer exists: one [network] scores arcs, parts and labels"),
        ("model", {"backbone": "sibling"}, "network.epochs is 12, it needs the backbone grandsib"),
        ("model", {"solver": "price-and-cut"}, "network.epochs is 12, it needs the solver bb"),
        ("templates", TEMPLATES, "network.epochs is 12, it needs no templates"),
        ("pruner", {"templates": TEMPLATES}, "network.epochs is 12, it needs no templates"),
    ],
)  # fmt: skip
def test_configurations_that_cannot_be(
    table: str, changes: dict[str, Any], message: str
) -> None:
    settings = toy.network_configuration().to_table()
    settings[table] = {**settings.get(table, {}), **changes}
    with pytest.raises(ConfigError) as error:
        Configuration.from_table(settings)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epochs = 2", "epoks = 2", "unknown key 'epoks' in [learning]; keys are method, epochs"),
        ("[learning]", "[teaching]", "unknown table [teaching]; there are model, pruner, "),
        ("cutoff = 2", 'cutoff = "2"', "factors.cutoff is '2', expected a whole number"),
        ('"perceptron"', '"newton"', "learning.method is 'newton', expected one of adagrad, "),
        ('"grandsib"', '"third"', "model.backbone is 'third', expected one of first, sibling, "),
        ("k = 4", "k = -4", "pruner.k is -4, expected a whole number of at least 0"),
        ("[learning]", "[search]\nrooot_calls = 3\n[learning]", "rooot_calls"),
        ("[model]", "[model", "not TOML: "),
    ],
)
def test_mistakes_in_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(toy.TOML.replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        Configuration.load(path)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("atom", ["@odds", "@label", "@slabel", "@glabel"])
def test_atoms_of_a_guide_are_no_more(atom: str) -> None:
    wrong = {**TEMPLATES, "grandsibling": [f"g.upos h.upos s.upos m.upos {atom}"]}
    with pytest.raises(ConfigError, match=f"unknown atom {atom}"):
        Configuration.from_table({**PLAIN, "templates": wrong})


def test_templates_or_a_network_score() -> None:
    assert Configuration.from_table(PLAIN).network.epochs == 0
    assert not Configuration.from_table({"network": {"epochs": 3}}).templates.lines
    for missing in ("templates", "pruner"):
        some = {name: table for name, table in PLAIN.items() if name != missing}
        with pytest.raises(ConfigError, match=rf"there is no table \[{missing}"):
            Configuration.from_table(some)
