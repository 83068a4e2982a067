"""``bbparse model``: what a model was learned from, how, and what it reaches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from bbparse.cli import options
from bbparse.cli.files import FileOrName
from bbparse.cli.results import table
from bbparse.cli.tables import aligned
from bbparse.model import DEFAULT_MODEL, MODELS
from bbparse.model.file import load_model
from bbparse.model.model import card


@click.command()
@click.argument(
    "name", type=FileOrName(MODELS.names), metavar="[NAME|FILE]", default=DEFAULT_MODEL
)
@options.factors
@click.option("--json", "as_json", is_flag=True, help="All of the card, as one JSON object.")
def model(name: str, as_json: bool) -> None:
    """Show the card of a model: languages, treebank, licence, sizes, settings, results.

    \b
    Examples:
      bbparse model
      bbparse model hu.model --json
    """
    found = card(load_model(name, options.given_factors()))
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    click.echo(aligned([[title, value] for title, value in _rows(found)], left=[0, 1]))
    if found.get("results"):
        click.echo(f"\n{table(found['results'])}")


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    def size(part: str) -> str:
        counts = found.get(part) or {}
        return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "-"

    config = found["configuration"]
    more = found.get("outside")
    outside = [] if more is None else [(more["kind"], ", ".join(_source(more)))]
    return [
        ("treebank", found.get("name") or "-"),
        ("language", found.get("language") or "-"),
        ("scripts", ", ".join(found.get("scripts", ())) or "-"),
        ("licence", found.get("license") or "-"),
        ("trained on", size("train")),
        ("dev", size("dev")),
        ("takes", ", ".join(found["takes"])),
        ("trees", "projective" if found["projective"] else "crossing arcs allowed"),
        ("labels", str(len(found["labels"]))),
        ("tags", str(found["tags"])),
        *outside,
        ("factors", ", ".join(found["factors"]) or "none"),
        ("candidate heads", str(config["pruner"]["k"])),
        ("seed", str(found["seed"])),
        ("bbparse", found.get("bbparse") or "-"),
    ]


def _source(note: dict[str, Any]) -> Iterator[str]:
    """What is known of vectors from outside, or of an encoder."""
    yield note["name"]
    if note.get("revision"):
        yield f"revision {note['revision']}"
    if "words" in note:
        yield f"{note['words']:,} of {note['of']:,} words"
    yield f"{note['dimension']} dimensions"
    yield note["license"] or "licence not given"
    yield f"hash {note['hash']}"
