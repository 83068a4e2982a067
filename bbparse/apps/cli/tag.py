"""``bbparse tag`` and ``train-tagger``: tag all words of a file, and train a tagger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, OutputFile, command, option, say
from bbparse.apps.cli.embeddings import embedding_loader, embedding_options
from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.models.model_file import load_tagger, save_tagger
from bbparse.text import TaggerSettings, accuracy, train_tokenizer
from bbparse.text import train_tagger as learn
from bbparse.text.tagger_training import jackknife
from bbparse.treebank import read_conllu, write_conllu
from bbparse.treebank.progress import watched


@command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@option("--model", f"A tagger, or a model with a tagger in it.  [default: {DEFAULT_MODEL}]", MODELS)
@options.output
@option(
    "--jackknife folds", "Tag each of K parts of INPUT by a tagger trained on the other parts;"
    " needs no model.", click.IntRange(2), metavar="K",
)
def tag(source: str, model: str | None, output: str, folds: int | None) -> None:
    """Tag CoNLL-U or CoNLL-X: predict LEMMA, UPOS, XPOS and FEATS.

    --jackknife tags a training treebank by taggers that have not seen the sentence, for a parser
    that is to be trained on predicted tags.

    \b
    Examples:
      bbparse tag in.conllu -o tagged.conllu
      bbparse tag in.conllu --model my.tagger -o tagged.conllu
      bbparse tag train.conllu --jackknife 10 -o train-tagged.conllu
    """
    if folds is not None:
        if model is not None:
            raise click.UsageError("--jackknife trains its own taggers: omit --model")
        sentences = list(read_conllu(source))
        write_conllu(output, jackknife(sentences, folds, report=say))
        return
    tagger, _ = load_tagger(MODELS.path(model or DEFAULT_MODEL))
    write_conllu(output, tagger.tag(watched(read_conllu(source), "tagged")))


@command("train-tagger")
@click.argument("treebank", type=FILE, metavar="TRAIN")
@option("--dev", "Treebank to report the accuracy on.", FILE)
@option("--model", "Where to write the tagger.", OutputFile(), required=True)
@options.epochs
@options.seed
@embedding_options
def train_tagger(
    treebank: str, dev: str | None, model: str, epochs: int | None, seed: int | None, **vectors: Any
) -> None:
    """Train a tagger (UPOS, XPOS, FEATS, lemmas) and a tokenizer on TRAIN.

    TRAIN and the dev treebank are CoNLL-U or CoNLL-X files. The tagger leaves columns empty that
    are empty in TRAIN.

    \b
    Example:
      bbparse train-tagger train.conllu --dev dev.conllu --model en.tagger
    """
    target = Path(model)
    settings = TaggerSettings()
    if seed is not None:
        settings = replace(settings, seed=seed)
    if epochs is not None:
        settings = settings.with_epochs(epochs)
    with embedding_loader(vectors, target) as load:
        sentences = list(read_conllu(treebank))
        dev_sentences = list(read_conllu(dev)) if dev is not None else []
        embeddings = None if load is None else load(sentences, dev_sentences)
        tagger = learn(sentences, settings, embeddings=embeddings)
        if dev_sentences:
            scores = accuracy(tagger, dev_sentences)
            tagger.notes["dev"] = {name: round(share, 6) for name, share in scores.items()}
            shown = ", ".join(f"{name} {100 * share:.2f}" for name, share in scores.items())
            say(f"dev: {shown}")
        save_tagger(target, tagger, train_tokenizer(sentences))
    say(f"wrote {target}")
