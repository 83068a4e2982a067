"""``bbparse enhance`` makes the graphs of trees; ``bbparse train-graphs`` adds them to a model."""

from __future__ import annotations

from collections.abc import Iterator

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, command, say
from bbparse.models.graph.training import train_enhancer
from bbparse.models.model_file import load_model, save_model
from bbparse.neural.ragged import batches
from bbparse.runtime.errors import TreebankError
from bbparse.runtime.progress import watched
from bbparse.treebank import Sentence, read_conllu, write_conllu
from bbparse.treebank.graph import format_deps, with_deps


@command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@options.model
@options.output
def enhance(source: str, model: str, factors: list[str], output: str) -> None:
    """Write the enhanced graph of each tree of INPUT into DEPS.

    INPUT is CoNLL-U with trees and tags. Whatever stood in DEPS goes, and empty nodes with it: no
    old edge stays beside a corrected tree. The model needs enhanced graphs; see 'bbparse model'.

    \b
    Examples:
      bbparse enhance trees.conllu -o graphs.conllu
      bbparse enhance trees.conllu --model my.model -o graphs.conllu
    """
    enhancer = load_model(model, factors).needed_enhancer()

    def enhanced() -> Iterator[Sentence]:
        for batch in batches(watched(read_conllu(source, require_heads=True), "enhanced")):
            graphs = enhancer([(sentence, sentence.heads, sentence.deprels) for sentence in batch])
            for sentence, graph in zip(batch, graphs):
                yield with_deps(sentence, [*map(format_deps, graph)])

    write_conllu(output, enhanced())


@command("train-graphs")
@click.argument("treebank", type=FILE, metavar="TRAIN")
@options.model
@options.new_model
def train_graphs(treebank: str, model: str, factors: list[str], output: str) -> None:
    """Learn the enhanced graphs of TRAIN, and add them to a model.

    TRAIN is CoNLL-U with trees, tags and DEPS. 'bbparse train' does the same by itself if TRAIN has
    DEPS that are more than a copy of the trees. Everything else in the model stays as it is.

    \b
    Example:
      bbparse train-graphs train.conllu --model en.model --output en-graphs.model
    """
    loaded = load_model(model, factors)
    loaded.enhancer = train_enhancer(watched(read_conllu(treebank, require_heads=True), "read"))
    if loaded.enhancer is None:
        raise TreebankError(
            f"{treebank}: found no graphs, expected DEPS that differ from the trees"
        )
    save_model(loaded, output)
    say(f"wrote {output}: {len(loaded.enhancer.templates)} paths of trees may end in an edge")
