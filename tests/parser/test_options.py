"""What is asked of a parse: the same names and defaults wherever it is asked."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from bbparse.apps.cli.parse import parse
from bbparse.apps.corpus.files import FileOptions
from bbparse.parser.parse import ParseOptions
from bbparse.runtime.errors import ProblemError

ASKED = {field.name: field.default for field in fields(ParseOptions)}


def test_the_command_line_has_the_options() -> None:
    given = {param.name for param in parse.params}
    names = [field.name for field in fields(FileOptions)]
    assert set(names) <= given
    context = parse.make_context("parse", [])
    assert {name: context.params[name] for name in ASKED} == ASKED


def test_the_service_has_the_options() -> None:
    schema = pytest.importorskip("bbparse.apps.serve.schema")
    given = schema.Options.model_fields
    assert {name: given[name].default for name in ASKED} == ASKED


def test_spacy_has_the_options() -> None:
    pytest.importorskip("spacy")
    from spacy.language import Language

    import bbparse.parser.spacy_component  # noqa: F401

    config = Language.get_factory_meta("bbparse").default_config
    assert {name: ASKED[name] for name in config if name != "model"} == {
        name: value for name, value in config.items() if name != "model"
    }


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"k_best": 0}, "k_best is 0, expected at least 1"),
        ({"prune": -1}, "prune is -1, expected at least 0"),
        ({"confidence": 1}, "confidence is of type int, expected True or False"),
        ({"keep_heads": "yes"}, "keep_heads is of type str, expected True or False"),
    ],
)
def test_values_that_cannot_be(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        ParseOptions(**wrong)
