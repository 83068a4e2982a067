"""``bbparse train-phrases``: learn a phrase-structure parser from bracketed trees."""

from __future__ import annotations

import click

from bbparse.cli.common import FILE, FileOrName
from bbparse.configuration import CONFIGURATIONS
from bbparse.phrases.evaluation import compare_trees
from bbparse.phrases.model import save_phrases
from bbparse.phrases.training import read_treebank
from bbparse.phrases.training import train_phrases as learn
from bbparse.storage.output import check_output


@click.command("train-phrases")
@click.argument("treebank", type=FILE, metavar="TRAIN")
@click.option("--dev", type=FILE, metavar="FILE", help="Trees to report the accuracy on.")
@click.option("--model", required=True, type=FILE, metavar="FILE", help="Where to write the model.")
@click.option(
    "--config", default="phrases", show_default=True, type=FileOrName(CONFIGURATIONS.names),
    metavar="NAME|FILE|none", help="Configuration of the dependency parser; none: without one.",
)  # fmt: skip
@click.option(
    "--conllu", type=FILE, metavar="FILE",
    help="The sentences of TRAIN with their words and XPOS, which must be those of the trees.",
)  # fmt: skip
def train_phrases(
    treebank: str, dev: str | None, model: str, config: str, conllu: str | None
) -> None:
    """Learn a grammar, a tagger and a dependency parser from the bracketed trees of TRAIN.

    Traces (-NONE-), functional tags and empty phrases are left out; heads are found by Collins'
    rules.

    \b
    Example:
      bbparse train-phrases train.ptb --dev dev.ptb --model phrases.model
    """
    check_output(model)
    trees = read_treebank(treebank, conllu)
    dev_trees = read_treebank(dev) if dev is not None else []
    parser = learn(
        trees, dev_trees, None if config == "none" else config,
        report=lambda line: click.echo(line, err=True),
    )  # fmt: skip
    save_phrases(parser, model)
    click.echo(f"wrote {model}", err=True)
    use = "none" if config == "none" else "both"
    if dev_trees:
        parsed = [(tree, parser.parse(tree.words, use=use).trees[0]) for tree in dev_trees]
        scores = compare_trees(parsed)
        click.echo(
            f"dev: F1 {100 * scores.f1:.2f}, exact {100 * scores.exact / scores.sentences:.2f},"
            f" tags {100 * scores.tags / max(1, scores.words):.2f}",
            err=True,
        )
