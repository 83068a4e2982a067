"""Configure Sphinx: `make docs` builds the pages into build/docs.

The build generates lists from the code: the help of all commands replaces the text between
``<!-- commands -->`` and ``<!-- end -->``, the tables of settings that between
``<!-- settings -->`` and ``<!-- end -->``. In the Python reference, docstrings replace paragraphs
of object names. The sidebar has the links of the front page.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import click

import bbparse
from bbparse.apps.cli.main import COMMANDS, cli
from bbparse.inference.search.settings import SearchSettings
from bbparse.models import configuration as records

project = "bbparse"
author = "The bbparse authors"
copyright = author
release = version = bbparse.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch"]  # the pages are built where it is not installed
autodoc_typehints = "none"  # the docstrings give types, with shapes and dtypes
autodoc_default_options = {"members": True}

# Attributes such as n_words exist in several classes; their mentions are left unlinked.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "bbparse"
html_copy_source = False
exclude_patterns = ["build"]

#: Records of a configuration's tables, in the order of the page.
TABLES = (
    records.ModelConfig,
    records.PrunerConfig,
    records.NetworkConfig,
    records.FactorConfig,
    records.LearningConfig,
    records.LabelConfig,
)


def commands() -> str:
    """Return the help of all commands."""
    parent = click.Context(cli, info_name="bbparse", terminal_width=100, max_content_width=100)
    parts = []
    for name in COMMANDS:
        command = cli.get_command(parent, name)  # type: ignore[attr-defined]
        text = command.get_help(click.Context(command, parent=parent, info_name=name))
        parts.append(f"### {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def settings() -> str:
    """Return a table for each table of a configuration: keys, defaults, values, meaning."""
    parts = []
    for record in TABLES:
        rows = [
            f"| {', '.join(f'`{o.name}`' for o in options)}"
            f" | {', '.join(_value(o.default) for o in options)}"
            f" | {'; '.join(dict.fromkeys(map(_allowed, options)))} | {text} |"
            for text, options in _described(record)
        ]
        parts.append(_table(record.table, record.__doc__, ["", "default", "value", ""], rows))
    search = inspect.getdoc(SearchSettings) or ""
    attributes = search.partition("----------\n")[2].partition("\n\nRaises")[0]
    rows = [
        f"| `{names.replace(', ', '`, `')}` |"
        f" {', '.join(_value(getattr(SearchSettings(), name)) for name in names.split(', '))} |"
        f" {_marked(text)} |"
        for names, text in re.findall(r"^(\S.*?) : .*\n((?:    .*\n?)+)", attributes, re.MULTILINE)
    ]
    parts.append(_table("search", "Settings of branch and bound.", ["", "default", ""], rows))
    return "\n".join(parts)


def _table(name: str, says: str | None, head: list[str], rows: list[str]) -> str:
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|", *rows]
    return f"### [{name}]\n\n{_marked(says or '')}\n\n" + "\n".join(lines) + "\n"


def _described(record: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the text of each ``#:`` comment of a record with the fields below it."""
    option_of = {option.name: option for option in fields(record)}
    text: list[str] = []
    group: list[Any] = []
    for line in [*map(str.strip, inspect.getsource(record).splitlines()), "#:"]:
        name = line.partition(":")[0]
        if line.startswith("#:"):
            if group:
                yield _marked(" ".join(text)), group
                text, group = [], []
            text.append(line[2:].strip())
        elif name in option_of:
            group.append(option_of[name])


def _allowed(option: Any) -> str:
    expected: str = option.metadata.get("expected", "true or false")
    shorter = {"an integer of at least": "integer ≥", "a number above": ">"}
    for long, short in shorter.items():
        expected = expected.replace(long, short)
    return expected


def _value(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return f"`{default}`" if isinstance(default, str) else str(default) if default != () else "none"


def _marked(text: str) -> str:
    """Return a docstring's text as Markdown on one line."""
    return " ".join(re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text.replace("``", "`")).split())


def filled(text: str) -> str:
    """Return a page with its lists in place."""
    for name, made in (("commands", commands), ("settings", settings)):
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        if mark:
            text = f"{before}{made()}{rest.partition('<!-- end -->')[2]}"
    return text


def reference(text: str) -> str:
    """Return a page with docstrings in place of paragraphs of names between backticks."""

    def documented(names: re.Match[str]) -> str:
        directives = "\n".join(_directive(name, text) for name in re.findall(r"[\w.]+", names[0]))
        return f"```{{eval-rst}}\n{directives}\n```\n"

    return re.sub(r"^(?:`[\w.]+`,?\s)+", documented, text, flags=re.MULTILINE)


def _directive(name: str, page: str) -> str:
    """Return autodoc's directive for an object, without members that are listed elsewhere."""
    module, _, last = name.rpartition(".")
    try:
        described = getattr(importlib.import_module(module), last, None)
    except ImportError:  # PyTorch is not installed
        return f".. auto{'class' if last[0].isupper() else 'function'}:: {name}"
    if described is None or inspect.ismodule(described):
        return f".. automodule:: {name}" + "\n   :no-members:" * (f"`{name}." in page)
    if not inspect.isclass(described):
        return f".. autofunction:: {name}"
    lines = [f".. autoclass:: {name}"]
    lists = re.findall(r"^(\w[\w, ]*) : ", inspect.getdoc(described) or "", re.MULTILINE)
    if members := [*lists, *getattr(described, "_fields", ())]:
        lines.append(f"   :exclude-members: {', '.join(members)}")
    if inspect.getdoc(vars(described).get("__call__")):
        lines.append("   :special-members: __call__")
    return "\n".join(lines)


def contents(text: str) -> str:
    """Return the front page with its links as contents at the side, by section or column."""
    sections: dict[str, list[str]] = {"Start": re.findall(r"\*\*.*\]\((\w+)\.md\)", text)}
    for section, body in re.findall(r"^## (.*)\n([^#]*)", text, re.MULTILINE):
        rows = [row.split("|")[1:-1] for row in body.splitlines() if row.startswith("|")]
        columns = zip(*rows[:1], *rows[2:]) if rows else [("", body)]
        for column in columns:
            pages = re.findall(r"\]\((\w+/[\w-]+)\.md\)", " ".join(column))
            caption = f"{section}: {column[0].strip().lower()}" if rows else section
            sections[caption] = pages
    return text + "".join(
        f'\n```{{toctree}}\n:hidden:\n:caption: "{caption}"\n\n' + "\n".join(pages) + "\n```\n"
        for caption, pages in sections.items()
    )


def setup(app: Any) -> None:
    """Have Sphinx fill pages when it reads them."""
    made = {"reference/python": reference, "index": contents}

    def fill(app: Any, name: str, source: list[str]) -> None:
        source[0] = made.get(name, filled)(source[0])

    app.connect("source-read", fill)
