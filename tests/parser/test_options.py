"""What is asked of a parse: the same names and defaults wherever it is asked."""

from __future__ import annotations

from dataclasses import fields

import pytest

from bbparse.apps.cli.parse import parse
from bbparse.apps.corpus.files import FileOptions
from bbparse.parser.parse import ParseOptions

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

    import bbparse.adapters.spacy_component  # noqa: F401

    config = Language.get_factory_meta("bbparse").default_config
    assert {name: ASKED[name] for name in config if name != "model"} == {
        name: value for name, value in config.items() if name != "model"
    }
