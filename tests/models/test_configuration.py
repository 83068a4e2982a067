"""Configurations: networks and templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbparse.models.configuration import Configuration
from bbparse.models.templates import DEFAULT_BITS, KINDS, TemplateSet, expand
from bbparse.runtime.errors import ConfigError
from tests import toy

TEMPLATES: dict[str, Any] = {"bits": 8, "arc": ["h.upos m.upos"]}
PLAIN: dict[str, Any] = {"templates": TEMPLATES, "pruner": {"templates": TEMPLATES}}


@pytest.mark.parametrize(
    ("table", "changes", "message"),
    [
        *(
            ("network", {name: size}, f"network.{name} is {size}, expected a multiple of 16 up to")
            for name in ("word", "width", "biaffine_dim", "arc_mlp_dim", "part_dim", "label_dim")
            for size in (0, 8, 4112)
        ),
        ("network", {"layers": "rx"}, "network.layers is 'rx', expected at most 8 letters r and c"),
        ("network", {"epochs": -1}, "network.epochs is -1"),
        ("network", {"dropout": 1.0}, "network.dropout is 1.0, expected at least 0 and below 1"),
        ("network", {"attribute_dropout": 1.5}, "network.attribute_dropout is 1.5"),
        ("network", {"hidden": 8}, "unknown key 'hidden' in [network]; keys are epochs, "),
        ("factors", {"stage": "jackknife"}, "unknown key 'stage' in [factors]"),
        ("factors", {"folds": 1}, "factors.folds is 1, expected an integer of at least 2"),
        ("factors", {"cost": -1.0}, "factors.cost is -1.0, expected 0 or more"),
        ("learning", {"epochs": 0}, "learning.epochs is 0"),
        ("learning", {"rate": True}, "learning.rate is True, expected a number"),
        ("labels", {"epochs": -1}, "labels.epochs is -1"),
        ("labels", {"templates": {"bits": 12}}, "labels.templates has no template"),
        ("labels", {"templates": {"arc": ["h.nonsense"]}}, "labels.templates.arc, line 1"),
        ("model", {"backbone": "sibling"}, "network.epochs is 12, which needs the backbone"),
        ("model", {"solver": "price-and-cut"}, "network.epochs is 12, which needs the solver bb"),
        ("templates", TEMPLATES, "network.epochs is 12, which needs no templates"),
    ],
)
def test_configurations_that_cannot_be(table: str, changes: dict[str, Any], message: str) -> None:
    settings = toy.network_configuration().to_table()
    settings[table] = {**settings.get(table, {}), **changes}
    with pytest.raises(ConfigError) as error:
        Configuration.from_table(settings)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


def test_former_keys_are_read() -> None:
    settings = toy.network_configuration().to_table()
    del settings["network"]["biaffine_dim"], settings["network"]["label_dim"]
    settings["network"] |= {"pairs": 48, "naming": 80}
    network = Configuration.from_table(settings).network
    assert (network.biaffine_dim, network.label_dim) == (48, 80)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epochs = 2", "epoks = 2", "unknown key 'epoks' in [learning]; keys are method, epochs"),
        ("[learning]", "[teaching]", "unknown table [teaching]; there are model, pruner, "),
        ("cutoff = 2", 'cutoff = "2"', "factors.cutoff is '2', expected an integer"),
        ('"perceptron"', '"newton"', "learning.method is 'newton', expected one of adagrad, "),
        ('"grandsib"', '"third"', "model.backbone is 'third', expected one of first, sibling, "),
        ("k = 4", "k = -4", "pruner.k is -4, expected an integer of at least 0"),
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


def texts(kind: str, *lines: str) -> list[str]:
    return [str(template) for template in TemplateSet.from_table({kind: lines}).templates[kind]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("h.upos m.upos", ["h.upos m.upos"]),
        ("h.{a,b} m.{c,d}", ["h.a m.c", "h.a m.d", "h.b m.c", "h.b m.d"]),
        ("h{-1,+1}.a", ["h-1.a", "h+1.a"]),
        ("for * in a, b: h.* m.*", [" h.a m.a", " h.b m.b"]),
        ("for * in a,b: h.* m.{*,x}", [" h.a m.a", " h.a m.x", " h.b m.b", " h.b m.x"]),
        ("{h,m}.a {@dir,@dist}", ["h.a @dir", "h.a @dist", "m.a @dir", "m.a @dist"]),
        ("h.{a,b} +@dir", ["h.a ", "h.a @dir", "h.b ", "h.b @dir"]),
        ("h.a +@dir +@dist", ["h.a  ", "h.a  @dist", "h.a @dir ", "h.a @dir @dist"]),
    ],
)
def test_expand(line: str, expected: list[str]) -> None:
    assert expand(line) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("h.{a,b", "braces do not match"),
        ("h.*", "a star needs"),
        ("for * in a,b: h.upos", "a star needs"),
    ],
)
def test_expand_refuses(line: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        expand(line)


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_a_template_is_a_template(kind: str) -> None:
    for role in "hm":
        (template,) = texts(kind, f"{role}-3.form {role}.xpos {role}+2.suffix2 @dir @dist")
        assert texts(kind, template) == [template]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("x.upos", "arc", r"unknown role 'x' in 'x.upos'; roles are h, m, b$"),
        ("h.tagg", "arc", r"unknown attribute 'tagg' in 'h.tagg'; attributes are lower, lemma, .*"),
        ("h+4.upos", "arc", r"offset of 'h\+4.upos' is \+4, expected -3 to \+3"),
        ("h.upos @up", "arc", r"unknown atom @up, expected one of @dir, @dist, @dirdist, @nverb"),
        ("h.upos @gdir", "arc", r"unknown atom @gdir, expected one of"),
        ("h.upos @nverb", "grandchild", r"unknown atom @nverb, expected .*@gdir, @gdist$"),
        ("upos", "arc", r"'upos' is not an atom: expected role.attribute or @name"),
        ("b.upos @dir", "arc", r"names no word of the part, expected h, m"),
        ("", "arc", r"names no word"),
    ],
)
def test_templates_that_cannot_be(text: str, kind: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TemplateSet.from_table({kind: [text]})


def test_equal_templates_count_once() -> None:
    assert texts("arc", "h.upos m.upos", "m.upos h.upos", "h.upos h.upos m.upos +@dir") == [
        "h.upos m.upos",
        "h.upos m.upos @dir",
    ]
    assert texts("arc", "h.upos +@dir", "h.{upos,xpos}") == ["h.upos", "h.upos @dir", "h.xpos"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"arcs": []}, r"unknown key 'arcs' in \[templates\]; keys are arc, sibling, .*, bits"),
        ({"arc": "h.upos"}, r"templates.arc is 'h.upos', expected a list of strings"),
        ({"arc": [1]}, r"templates.arc is \[1\], expected a list of strings"),
        ({"arc": ["h.upos", "h.up"]}, r"templates.arc, line 2, 'h.up': unknown attribute"),
        ({"bits": 3}, r"templates.bits is 3, expected 4 to 28"),
        ({"bits": True}, r"templates.bits is True"),
    ],
)
def test_tables_with_mistakes(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TemplateSet.from_table(table)


def test_tables_survive_a_round_trip() -> None:
    table = {"bits": 9, "arc": ["h.{upos,xpos} m.upos +@dirdist"], "sibling": ["s.upos m.upos"]}
    templates = TemplateSet.from_table(table)
    assert templates.to_table() == table
    assert TemplateSet.from_table(templates.to_table()) == templates
    assert TemplateSet.from_table({}).bits == DEFAULT_BITS
