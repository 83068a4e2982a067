"""What `bbparse train` takes from outside: word vectors, or an encoder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from bbparse.cli.files import FILE
from bbparse.outside import Outside, fit_encoder, read_vectors
from bbparse.outside.vectors import FIRST_WORDS
from bbparse.treebank import Sentence


class Source(NamedTuple):
    """Where vectors come from."""

    vectors: str | None = None
    first: int | None = None
    encoder: str | None = None
    folder: str | None = None
    license: str | None = None

    def reader(
        self, passing: Path
    ) -> Callable[[Sequence[Sentence], Sequence[Sentence]], Outside] | None:
        """What `bbparse.learning.train.train` takes; ``passing`` is for states that are not kept.

        Raises
        ------
        UsageError
            If both are given, or settings of what is not given.
        """
        if self.vectors is not None and self.encoder is not None:
            raise click.UsageError("--vectors and --encoder exclude each other")
        if self.vectors is None and self.first is not None:
            raise click.UsageError("--first-words is for --vectors")
        if self.encoder is None and self.folder is not None:
            raise click.UsageError("--states is for --encoder")
        if self.vectors is None and self.encoder is None:
            if self.license is not None:
                raise click.UsageError("--vectors-license is for --vectors and --encoder")
            return None

        def read(sentences: Sequence[Sentence], dev: Sequence[Sentence]) -> Outside:
            if self.encoder is not None:
                folder = self.folder or passing
                return fit_encoder(
                    self.encoder, sentences, dev, folder=folder, license=self.license
                )
            assert self.vectors is not None
            first = FIRST_WORDS if self.first is None else self.first
            found = read_vectors(
                self.vectors, sentences, dev, first=first, license=self.license
            )
            click.echo(
                f"{found.note['words']} of {found.note['of']} vectors kept, which"
                f" {100 * found.share(sentences):.1f} % of the training words have", err=True,
            )  # fmt: skip
            return found

        return read


def outside(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options; the command gets them as a `Source` ``outside``."""

    @wraps(command)
    def call(
        vectors: str | None,
        first_words: int | None,
        encoder: str | None,
        states: str | None,
        vectors_license: str | None,
        **others: Any,
    ) -> Any:
        source = Source(vectors, first_words, encoder, states, vectors_license)
        return command(outside=source, **others)

    for option in (
        click.option(
            "--vectors-license", metavar="TEXT", help="Of vectors or encoder, for the card."
        ),
        click.option(
            "--states", type=FILE, metavar="FOLDER",
            help="Where to keep what --encoder makes of sentences for further trainings; otherwise"
            " beside MODEL, until training is done.",
        ),
        click.option(
            "--encoder", metavar="NAME|FOLDER",
            help="Encoder of Hugging Face transformers whose states the guide takes, too; the"
            " model needs it for parsing.",
        ),
        click.option(
            "--first-words", type=click.IntRange(0), metavar="N",
            help="Keep the first N vectors of --vectors, besides those of the treebank's words."
            f"  [default: {FIRST_WORDS}]",
        ),
        click.option(
            "--vectors", type=FILE, metavar="FILE",
            help="Word vectors that the guide takes, too: word2vec's text format, fastText's .vec,"
            " or GloVe's, packed with .gz or .xz or not.",
        ),
    ):  # fmt: skip
        call = option(call)
    return call


def forget(passing: Path) -> None:
    """Remove states that were only kept for one training."""
    shutil.rmtree(passing, ignore_errors=True)
