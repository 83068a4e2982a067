"""A parser small enough to train in a test: few templates, few weights, few sentences."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.models.configuration import Configuration
from bbparse.models.model import Model
from bbparse.models.model_file import load_tagger
from bbparse.neural.labelling import LabelSettings
from bbparse.parser.parser import Parser
from bbparse.text.tagger import Tagger
from bbparse.text.tagger_training import train_tagger
from bbparse.text.tokenizer import Tokenizer
from bbparse.treebank import Sentence, read_conllu
from bbparse.treebank.writing import with_columns

DATA = Path(__file__).parent / "data"
TRAIN = DATA / "small-train.conllu"
DEV = DATA / "small-dev.conllu"

#: How taggers are trained whose network need not be good.
NETWORK = LabelSettings(
    layers="r", word=16, width=16, hidden=48, epochs=60, batch=40, rate=0.02, cutoff=1, members=1
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


def network_configuration(**network: Any) -> Configuration:
    """One with a small network in place of templates."""
    table = tomllib.loads(TOML)
    sizes = dict.fromkeys(
        ("word", "width", "biaffine_dim", "arc_mlp_dim", "part_dim", "label_dim"), 16
    )
    small = {"epochs": 12, "rate": 0.01, "layers": "rc", "batch": 60, "dropout": 0.1, **sizes}
    table["network"] = {**small, **network}
    table["factors"] |= {"folds": 2, "fold_epochs": 4}
    for name in ("templates", "labels"):
        del table[name]
    table["pruner"] = {"k": 4, "margin": 8.0}
    return Configuration.from_table(table)


@cache
def sentences() -> tuple[Sentence, ...]:
    """All training sentences."""
    return tuple(read_conllu(TRAIN, require_heads=True))


@cache
def dev_sentences() -> tuple[Sentence, ...]:
    """All dev sentences."""
    return tuple(read_conllu(DEV, require_heads=True))


def bare(sentence: Sentence) -> Sentence:
    """A sentence without tags and lemmas."""
    empty = ["_"] * sentence.n_words
    return with_columns(sentence, lemmas=empty, upos=empty, xpos=empty, feats=empty)


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
        Model(maker, old.labeller, tagger or old.tagger, notes or old.notes, old.tokenizer)
    )


@cache
def tokenizer() -> Tokenizer:
    """That of the English model."""
    _, found = load_tagger(MODELS.path(DEFAULT_MODEL))
    assert found is not None
    return found


@cache
def tagger() -> Tagger:
    """Trained on all training sentences; shared, as nothing in it changes."""
    return train_tagger(sentences(), NETWORK)


@cache
def reader() -> Parser:
    """The parser with a tagger and a tokenizer, so that it reads text."""
    return Parser(replace(parser().model, tagger=tagger(), tokenizer=tokenizer()))


@cache
def parser() -> Parser:
    """A parser trained on all training sentences; shared, as parsing changes nothing in it."""
    return Parser.train(sentences(), config=configuration())


def crossing_parser() -> Parser:
    """`parser`, had it been told that arcs may cross; it has seen few that do."""
    return changed(parser(), config=configuration().with_("model", projective=False))


@cache
def network_parser() -> Parser:
    """A parser with a small network, trained on all training sentences."""
    return Parser.train(sentences(), config=network_configuration())
