"""Options for pretrained input of networks: word vectors, or an encoder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from bbparse.apps.cli.common import FILE, option, say
from bbparse.neural.embeddings import Embeddings, WordVectors, fit_encoder, read_vectors
from bbparse.neural.embeddings.vectors import FIRST_WORDS
from bbparse.treebank import Sentence

#: Makes embeddings for training and development sentences.
Loader = Callable[[Sequence[Sentence], Sequence[Sentence]], Embeddings]

_OPTIONS = (
    option(
        "--vectors", "Pretrained word vectors: word2vec's text format, fastText's .vec or GloVe's,"
        " compressed with .gz or .xz or not.", FILE,
    ),
    option(
        "--first-words", "Keep the first N vectors of --vectors and those of the treebank's words."
        f"  [default: {FIRST_WORDS}]", click.IntRange(0),
    ),
    option(
        "--encoder", "Contextual encoder. The model holds one of the BERT family (BERT, MiniLM, e5)"
        " from a FOLDER with its model.safetensors; with others, training and parsing need PyTorch"
        " and transformers.", metavar="NAME|FOLDER",
    ),
    option(
        "--encoder-layers", "Use the first N layers of --encoder.  [default: all]",
        click.IntRange(1),
    ),
    option(
        "--pieces", "Keep the N most frequent pieces of --encoder, and single characters."
        "  [default: all]", click.IntRange(1),
    ),
    option(
        "--states", "Cache for the states of --encoder, to share between runs. Default: beside the"
        " model, until training is done.", FILE, metavar="FOLDER",
    ),
    option(
        "--vectors-license", "Licence of the vectors or the encoder, for the card.", metavar="TEXT"
    ),
)


def embedding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options of this module to a command."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


@contextmanager
def embedding_loader(options: dict[str, Any], target: Path) -> Iterator[Loader | None]:
    """Yield the argument `embeddings` of `bbparse.models.learning.train.train`.

    The options of this module are removed from ``options``. Without ``--states``, states of an
    encoder are cached beside ``target`` until the block ends well. Raises `UsageError` if both
    kinds of embeddings are given, or settings of a kind that is not.
    """
    names = ("vectors", "first_words", "encoder", "states", "vectors_license")
    vectors, first, encoder, states, license = (options.pop(name) for name in names)
    layers, pieces = options.pop("encoder_layers"), options.pop("pieces")
    if vectors is not None and encoder is not None:
        raise click.UsageError("--vectors and --encoder exclude each other")
    for name, value, needed in (
        ("--first-words is for --vectors", first, vectors),
        ("--states is for --encoder", states, encoder),
        ("--encoder-layers is for --encoder", layers, encoder),
        ("--pieces is for --encoder", pieces, encoder),
        ("--vectors-license is for --vectors and --encoder", license, vectors or encoder),
    ):
        if value is not None and needed is None:
            raise click.UsageError(name)
    cache = target.with_name(target.name + ".states")
    if encoder is not None:
        yield partial(
            fit_encoder, encoder, folder=states or cache, license=license, layers=layers,
            pieces=pieces,
        )
    elif vectors is not None:
        count = FIRST_WORDS if first is None else first
        yield partial(_read_vectors, vectors, count, license)
    else:
        yield None
    if states is None:
        shutil.rmtree(cache, ignore_errors=True)


def _read_vectors(
    path: str, first: int, license: str | None, sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
) -> WordVectors:
    """Read word vectors, and report how many words have one."""
    vectors = read_vectors(path, sentences, dev, first=first, license=license)
    say(
        f"{vectors.note['words']} of {vectors.note['of']} vectors kept, which"
        f" {100 * vectors.coverage(sentences):.1f} % of the training words have"
    )
    return vectors
