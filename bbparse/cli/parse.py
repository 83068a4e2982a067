"""``bbparse parse``: the best trees of every sentence of a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import click
from tqdm import tqdm

from bbparse.cli import options
from bbparse.cli.files import FILE
from bbparse.cli.sources import read_sentences
from bbparse.compiling import load_compiled
from bbparse.given_heads import fill_in_all, with_given_labels
from bbparse.parser import Parser
from bbparse.problem import Solution
from bbparse.show.formats import FORMATS, Style, Writer
from bbparse.show.text import wants_ascii, wants_colour
from bbparse.treebank import Sentence, open_output


@click.command()
@click.argument("source", type=FILE, metavar="[INPUT|-]", default="-")
@options.model
@click.option(
    "--text", is_flag=True, help="INPUT is running text, as is that of files named .txt."
)
@options.output
@click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), default="conllu",
    show_default=True, help="CoNLL-U, JSON lines, or trees drawn for reading.",
)  # fmt: skip
@options.k_best(1, "Write the K best trees of each sentence, best first.")
@click.option(
    "--keep-heads", is_flag=True,
    help="Fill in heads that are _ only, around those that INPUT has.",
)  # fmt: skip
@options.prune
@options.threads
@options.time_limit(
    "For the search of one sentence; the best trees found so far are written then."
)
@options.node_limit(
    "Search nodes for one sentence, as --time-limit, but the same on every machine."
)
@click.option(
    "--color/--no-color", "colour", default=None,
    help="Colours in drawn trees; by default where the terminal has them and NO_COLOR is not set.",
)  # fmt: skip
@click.option(
    "--ascii", "ascii_only", is_flag=True,
    help="Draw trees in ASCII, as is done where the terminal has no box characters.",
)  # fmt: skip
def parse(
    source: str,
    model: str,
    text: bool,
    output: str,
    format_name: str,
    k_best: int,
    keep_heads: bool,
    prune: int | None,
    threads: int,
    time_limit: float | None,
    node_limit: int,
    colour: bool | None,
    ascii_only: bool,
) -> None:
    """Parse CoNLL-U, CoNLL-X or running text.

    Of words with tags only HEAD and DEPREL change. Words without tags, and those of running text
    (--text, or a file named .txt), are tagged first, by the tagger in the model; see 'bbparse
    bundle'. Text is cut into sentences and words as English treebanks are.

    With K > 1 each tree is written with its rank, its score, an upper bound on the score of any
    tree of that rank, and whether it is proved to be the tree of its rank. With one tree a comment
    is added only where the search was cut short.

    With --keep-heads, words that have a HEAD keep it, and their DEPREL if they have one: the trees
    are the best of those with these arcs.

    \b
    Examples:
      echo "Time flies." | bbparse parse --text --format tree
      bbparse parse in.conllu --output out.conllu
      bbparse parse in.conllu --model en.model --k-best 3
      bbparse parse in.conllu --model en.model --format tree | less -R
      bbparse parse in.conllu --model en.model --format jsonl --output out.jsonl
    """
    loaded = load_compiled(model)
    sentences = map(loaded.tagged, read_sentences(source, text))
    limits = {"prune": prune, "time_limit": time_limit, "node_limit": node_limit}
    results = (
        fill_in_all(loaded, sentences, k_best=k_best, **limits)
        if keep_heads
        else loaded.parse_all(sentences, threads=threads, k_best=k_best, **limits)
    )
    silent = not sys.stderr.isatty() or (output == "-" and sys.stdout.isatty())
    write = _writer(loaded, FORMATS[format_name], keep_heads)
    style = _style(output, k_best, colour, ascii_only)
    followed = replace(style, last=False)
    with open_output(output) as stream:
        previous: tuple[Sentence, Solution] | None = None
        for item in tqdm(results, unit=" sentences", delay=2, disable=silent):
            if previous is not None:
                stream.write(write(*previous, followed))
            previous = item
        if previous is not None:
            stream.write(write(*previous, style))


def _style(output: str, k_best: int, colour: bool | None, ascii_only: bool) -> Style:
    if output == "-":
        colour = wants_colour() if colour is None else colour
        ascii_only = ascii_only or wants_ascii()
    return Style(k_best, colour=bool(colour), ascii_only=ascii_only)


def _writer(
    parser: Parser, write: Writer, keep_heads: bool
) -> Callable[[Sentence, Solution, Style], str]:
    def written(sentence: Sentence, solution: Solution, style: Style) -> str:
        trees = parser.scored_trees(sentence, solution)
        if keep_heads:
            trees = with_given_labels(sentence, trees)
        return write(sentence, trees, solution.status, style)

    return written
