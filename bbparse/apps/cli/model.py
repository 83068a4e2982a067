"""``bbparse model`` shows the training data, settings and accuracy of a model.

``bbparse bundle`` and ``bbparse calibrate`` make new models from existing ones; ``bbparse factors``
lists factor families.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, aligned, command, flag, option, say
from bbparse.models import DEFAULT_MODEL
from bbparse.models.factors.registry import available
from bbparse.models.model import Model, card
from bbparse.models.model_file import installed, load_model, load_tagger, save_model
from bbparse.parser.confidence import FEWEST
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import FactorError, ModelError, one_line
from bbparse.text import sentences_of_text
from bbparse.text.raw import plain_text
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.alignment import evaluate_text

_SHOWN = {
    "sentences": "sentences",
    "tokens": "tokens",
    "words": "words",
    "upos": "UPOS",
    "xpos": "XPOS",
    "ufeats": "FEATS",
    "lemmas": "lemmas",
    "uas": "UAS",
    "las": "LAS",
    "mlas": "MLAS",
}
#: Key of a card's row, the part of the treebank that the parser gets → its title.
_TITLES = {"its words and tags": "gold tags", "its words": "gold words", "its text": "from text"}

#: Rows of F1 in percent: input → measure → value.
Results = dict[str, dict[str, float]]


def results(model: Model, dev: Sequence[Sentence]) -> Results:
    """Measure F1 in percent on a treebank with trees, by the official scorer's measures."""
    parser = Parser(model)
    scores_of: Results = {}

    def add(title: str, sentences: Iterable[Sentence]) -> None:
        parsed = [
            replace(
                parse.sentence,
                heads=list(parse.trees[0].heads),
                deprels=list(parse.trees[0].labels) or ["_"] * parse.sentence.n_words,
            )
            for parse in parser.parse_all(sentences)
        ]
        scores = evaluate_text(dev, parsed)
        scores_of[title] = {name: round(100 * scores[name].f1, 2) for name in _SHOWN}

    whole, words, text = _TITLES
    add(whole, dev)
    if model.tagger is not None:
        add(words, model.tagger.tag(dev))
    if model.tokenizer is not None and model.takes_words:
        add(text, parser.tag(sentences_of_text(plain_text(dev), model.tokenizer)))
    return scores_of


def table(found: Results) -> str:
    """Format results as a table."""
    rows = [["dev, %", *_SHOWN.values()]]
    rows += [
        [title, *(f"{found[key][name]:.2f}" for name in _SHOWN)]
        for key, title in _TITLES.items()
        if key in found
    ]
    return aligned(rows, left=[0])


@command()
@click.argument("name", type=FILE, metavar="[NAME|FILE]", default=DEFAULT_MODEL)
@options.factors
@flag("--json as_json", "Print the whole card as one JSON object.")
@flag("--list as_list", "List the installed models: name, language, size, training data, licence.")
def model(name: str, factors: list[str], as_json: bool, as_list: bool) -> None:
    """Show the card of a model: languages, treebank, licence, sizes, settings, accuracy.

    \b
    Examples:
      bbparse model
      bbparse model hu.model --json
      bbparse model --list
    """
    if as_list:
        found = installed()
        text = json.dumps(found, indent=2, ensure_ascii=False) if as_json else _listing(found)
        click.echo(text)
        return
    entries = card(load_model(name, factors))
    if as_json:
        click.echo(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    click.echo(aligned([[title, value] for title, value in _rows(entries)], left=[0, 1]))
    if entries.get("results"):
        click.echo(f"\n{table(entries['results'])}")


def _listing(found: dict[str, dict[str, Any]]) -> str:
    """Format installed models as a table."""
    rows = []
    for name, entry in found.items():
        words = (entry.get("train") or {}).get("words", 0)
        size = f"{os.path.getsize(entry['file']) / 1e6:.1f} MB"
        shown = [entry.get(key) or "-" for key in ("language", "license", "name")]
        rows.append([name, shown[0], size, f"{words:,} words", *shown[1:]])
    return aligned(rows, left=[0, 1, 4, 5])


def _rows(entries: dict[str, Any]) -> list[tuple[str, str]]:
    def size(part: str) -> str:
        counts = entries.get(part) or {}
        return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "-"

    config, raw = entries["configuration"], entries.get("raw_text")
    silver = []
    if raw is not None:
        silver = [("raw text", f"{raw['words']:,} words, parsed by {raw['teacher']}")]
    more = entries.get("embeddings")
    embeddings = [] if more is None else [(more["kind"], ", ".join(_source(more)))]
    return [
        ("treebank", entries.get("name") or "-"),
        ("language", entries.get("language") or ", ".join(entries.get("languages", ())) or "-"),
        ("licence", entries.get("license") or "-"),
        ("trained on", size("train")),
        *silver,
        ("dev", size("dev")),
        ("takes", ", ".join(entries["takes"])),
        ("trees", "projective" if entries["projective"] else "crossing arcs allowed"),
        ("labels", str(len(entries["labels"]))),
        ("tags", str(entries["tags"])),
        *embeddings,
        ("enhanced graphs", ", ".join(entries["enhanced"]) or "none"),
        ("factors", ", ".join(entries["factors"]) or "none"),
        ("candidate heads", str(config["pruner"]["k"])),
        ("seed", str(entries["seed"])),
        ("bbparse", entries.get("bbparse") or "-"),
    ]


def _source(note: dict[str, Any]) -> Iterator[str]:
    """Yield the known facts about pretrained vectors or an encoder."""
    yield note["name"]
    if note.get("revision"):
        yield f"revision {note['revision']}"
    if "words" in note:
        yield f"{note['words']:,} of {note['of']:,} words"
    yield f"{note['dimension']} dimensions"
    yield note["license"] or "licence not given"
    yield f"hash {note['hash']}"


@command()
@click.argument("parser", type=FILE, metavar="PARSER")
@click.argument("tagger", type=FILE, metavar="TAGGER")
@options.new_model
@options.factors
def bundle(parser: str, tagger: str, output: str, factors: list[str]) -> None:
    """Package TAGGER into the model PARSER, so that it parses running text.

    TAGGER is a tagger or another model. Its tagger and tokenizer replace those of PARSER.

    \b
    Example:
      bbparse bundle en.model en.tagger --output en-text.model
    """
    loaded = load_model(parser, factors)
    loaded.tagger, tokenizer = load_tagger(tagger)
    loaded.tokenizer = tokenizer or loaded.tokenizer
    save_model(loaded, output)
    say(f"wrote {output}")


@command()
@click.argument("treebank", type=FILE, metavar="DEV")
@options.model
@options.new_model
@option(
    "--tags",
    "Parse with the tags of DEV, or with those of the model's tagger.",
    ["given", "own"],
    "given",
)
def calibrate(treebank: str, model: str, factors: list[str], output: str, tags: str) -> None:
    """Calibrate a model's confidence on DEV, gold trees that it was not trained on.

    'bbparse parse --confidence' needs a calibrated model; 'bbparse train --dev' calibrates it. The
    probabilities hold for input with tags of the same quality. Trees do not change.

    \b
    Example:
      bbparse calibrate dev.conllu --model en.model --output en-sure.model
    """
    parser = Parser.load(model, factors)
    gold = read_conllu(treebank, require_heads=True)
    if tags == "own":
        if parser.model.tagger is None:
            raise ModelError("the model has no tagger, expected one for --tags own")
        gold = parser.model.tagger.tag(gold)
    right = parser.calibrate(gold)
    parser.save(output)
    say(f"wrote {output}: {right.mean():.2%} of {len(right):,} arcs are right")
    if len(right) < FEWEST:
        say(f"warning: {len(right):,} arcs are few to calibrate on, expected {FEWEST:,} or more")


@command()
def factors() -> None:
    """List the installed factor families: name, description and package.

    'bbparse train --factors' takes these names. A family that cannot be loaded is listed with the
    reason.

    \b
    Example:
      bbparse factors
    """
    entries = available()
    if not entries:
        click.echo("no factor families are installed")
        return
    rows = []
    for name, entry in entries.items():
        try:
            summary = entry.load().summary
        except FactorError as error:
            summary = f"cannot be loaded: {one_line(error)}"
        rows.append((name, summary, entry.package))
    click.echo(aligned(rows, left=[0, 1, 2]))
