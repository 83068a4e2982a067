"""A parser small enough to train in a test: few templates, few weights, few sentences."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from bbparse.configuration import Configuration
from bbparse.model import DEFAULT_MODEL, MODELS
from bbparse.model.file import load_tagger
from bbparse.model.model import Model
from bbparse.parsing.parser import Parser
from bbparse.tagging import Tagger, TaggerSettings, train_tagger
from bbparse.tagging.network import NetworkSettings
from bbparse.text import Cutter
from bbparse.treebank import Sentence, read_conllu

DATA = Path(__file__).parent / "data"
TRAIN = DATA / "small-train.conllu"
DEV = DATA / "small-dev.conllu"

#: How taggers are trained whose network need not be good.
TAGGER = TaggerSettings(
    network=NetworkSettings(word=8, width=16, layers=1, hidden=12, epochs=3, batch=4)
)

TOML = """
[model]
backbone = "grandsib"

[pruner]
k = 4
margin = 8.0
epochs = 4
folds = 2
rate = 0.2

[pruner.templates]
bits = 14
arc = ["h.{upos,lemma} m.{upos,lemma} @dirdist", "h.upos m-1.upos m.upos m+1.upos @dir"]

[templates]
bits = 15
arc = [
    "h.{upos,lemma} m.{upos,lemma} @dirdist",
    "h.upos m-1.upos m.upos m+1.upos @dir",
    "h.upos b.upos m.upos @dir",
]
sibling = ["h.upos s.upos m.upos @dir"]
grandsibling = ["g.upos h.upos s.upos m.upos @gdir"]

[factors]
families = ["siblings", "grandchildren"]
cutoff = 2

[learning]
method = "perceptron"
epochs = 2
cost = 0.0

[labels]
epochs = 2

[labels.templates]
bits = 12
arc = ["h.upos m.{upos,lemma} @dir"]
"""


def configuration() -> Configuration:
    """The configuration of `TOML`."""
    return Configuration.from_table(tomllib.loads(TOML))


def guided_configuration(**guide: Any) -> Configuration:
    """The same with a small guide, whose marks templates look at."""
    table = tomllib.loads(TOML)
    table["guide"] = {"epochs": 10, "rate": 0.02, "folds": 3, **guide}
    table["network"] = {"word": 8, "width": 16, "layers": 2, "shared": 12, "pairs": 8, "batch": 4}
    table["templates"]["arc"] += ["h.upos m.upos @odds @label"]
    table["templates"]["grandsibling"] += ["h.upos @glabel @slabel @label"]
    table["labels"]["templates"]["sibling"] = ["h.upos s.upos @slabel @label"]
    return Configuration.from_table(table)


@cache
def sentences() -> tuple[Sentence, ...]:
    """All training sentences."""
    return tuple(read_conllu(TRAIN, require_heads=True))


@cache
def dev_sentences() -> tuple[Sentence, ...]:
    """All dev sentences."""
    return tuple(read_conllu(DEV, require_heads=True))


def changed(
    parser: Parser,
    notes: dict[str, Any] | None = None,
    tagger: Tagger | None = None,
    **changes: Any,
) -> Parser:
    """A parser with other notes, with a tagger, or something else in its maker of problems."""
    old = parser.model
    maker = replace(old.maker, **changes)
    return Parser(
        Model(maker, old.labeller, tagger or old.tagger, notes or old.notes, old.cutter)
    )


@cache
def cutter() -> Cutter:
    """That of the English model."""
    _, found = load_tagger(MODELS.path(DEFAULT_MODEL))
    assert found is not None
    return found


@cache
def reader() -> Parser:
    """The parser with a tagger and a cutter, so that it reads text."""
    model = parser().model
    return Parser(replace(model, tagger=train_tagger(sentences(), TAGGER), cutter=cutter()))


@cache
def parser() -> Parser:
    """A parser trained on all training sentences; shared, as parsing changes nothing in it."""
    return Parser.train(sentences(), config=configuration())


def crossing_parser() -> Parser:
    """`parser`, had it been told that arcs may cross; it has seen few that do."""
    return changed(parser(), config=configuration().with_("model", projective=False))


def part_configuration() -> Configuration:
    """The guided one, with a small network that scores parts of trees."""
    table = guided_configuration(epochs=3).to_table()
    table["trees"] |= {**table["network"], "epochs": 3, "parts": 8}
    table["templates"]["sibling"] = []
    return Configuration.from_table(table)
