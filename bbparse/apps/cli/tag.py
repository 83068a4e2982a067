"""``bbparse tag``: tag all words of a file."""

from __future__ import annotations

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, command, option, say
from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.models.model_file import load_tagger
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
