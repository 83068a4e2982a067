"""``bbparse model``: what a model was learned from, how, and what it reaches.

``bbparse bundle`` and ``bbparse calibrate`` make new models of models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from bbparse.cli import options
from bbparse.cli.common import FILE, FileOrName, aligned
from bbparse.cli.results import table
from bbparse.cli.sources import load_parser, tell_unused
from bbparse.errors import ModelError
from bbparse.model import DEFAULT_MODEL, MODELS
from bbparse.model.file import load_model, load_tagger, save_model
from bbparse.model.model import card
from bbparse.parsing.confidence import FEWEST
from bbparse.treebank import read_conllu


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


@click.command()
@click.argument("parser", type=FILE, metavar="PARSER")
@click.argument("tagger", type=FILE, metavar="TAGGER")
@options.new_model
@options.factors
def bundle(parser: str, tagger: str, output: str) -> None:
    """Put TAGGER into the model PARSER, so that it parses words without tags, and running text.

    TAGGER is a tagger or another model; what the model had before is replaced.

    \b
    Example:
      bbparse bundle en.model en.tagger --output en-text.model
    """
    both = load_model(parser, options.given_factors())
    tell_unused(both.maker.families)
    both.tagger, cutter = load_tagger(tagger)
    both.cutter = cutter or both.cutter
    save_model(both, output)
    click.echo(f"wrote {output}", err=True)


@click.command()
@click.argument("treebank", type=FILE, metavar="DEV")
@options.model
@options.new_model
@click.option(
    "--tags", type=click.Choice(["given", "own"]), default="given", show_default=True,
    help="Parse with the tags that DEV has, or with those of the model's tagger.",
)  # fmt: skip
def calibrate(treebank: str, model: str, output: str, tags: str) -> None:
    """Learn from DEV, gold trees that the model was not trained on, how often its arcs are right.

    'bbparse parse --confidence' needs it; 'bbparse train' does it with its dev treebank. Chances
    are those of input with tags of such quality. Trees stay what they are.

    \b
    Example:
      bbparse calibrate dev.conllu --model en.model --output en-sure.model
    """
    parser = load_parser(model)
    gold = read_conllu(treebank, require_heads=True)
    if tags == "own":
        if parser.tagger is None:
            raise ModelError("the model has no tagger, expected one for --tags own")
        gold = map(parser.tagger, gold)
    right = parser.calibrate(gold)
    parser.save(output)
    click.echo(f"wrote {output}: {right.mean():.2%} of {len(right):,} arcs are right", err=True)
    if len(right) < FEWEST:
        click.echo(
            f"warning: chances that are learned from so few arcs say little, expected {FEWEST:,} or"
            " more",
            err=True,
        )
