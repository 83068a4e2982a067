"""``bbparse parse``: the best trees of every sentence of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
from tqdm import tqdm

from bbparse.parser import Parser
from bbparse.problem import Solution
from bbparse.treebank import Sentence, format_sentence, open_output, read_conllu


class PruneParameter(click.ParamType):
    """A number of candidate heads, or ``none``."""

    name = "prune"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """0 for none."""
        if isinstance(value, int):
            return value
        if value == "none":
            return 0
        try:
            k = int(str(value))
        except ValueError:
            k = 0
        if k < 1:
            self.fail(f"{value!r} is neither 'none' nor a whole number of at least 1", param, ctx)
        return k


@click.command()
@click.argument("source", metavar="[INPUT|-]", default="-")
@click.option("--model", required=True, metavar="FILE", help="Model to parse with.")
@click.option("--output", default="-", metavar="FILE", help="Default: the standard output.")
@click.option(
    "--k-best", type=click.IntRange(1), default=1, metavar="K",
    help="Write the K best trees of each sentence, best first.",
)  # fmt: skip
@click.option(
    "--prune", type=PruneParameter(), metavar="K|none",
    help="Candidate heads of a word, instead of the model's.",
)  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=1, metavar="T")
@click.option(
    "--time-limit", type=click.FloatRange(0.0, min_open=True), metavar="SECONDS",
    help="For the search of one sentence; the best trees found so far are written then.",
)  # fmt: skip
@click.option(
    "--node-limit", type=click.IntRange(1), default=200, show_default=True, metavar="N",
    help="Search nodes for one sentence, as --time-limit, but the same on every machine.",
)  # fmt: skip
def parse(
    source: str,
    model: str,
    output: str,
    k_best: int,
    prune: int | None,
    threads: int,
    time_limit: float | None,
    node_limit: int,
) -> None:
    """Parse CoNLL-U or CoNLL-X; only HEAD and DEPREL change.

    With K > 1 each tree is written with its rank, its score, an upper bound on the score of any
    tree of that rank, and whether it is proved to be the tree of its rank. With one tree a comment
    is added only where the search was cut short.

    \b
    Examples:
      bbparse parse in.conllu --model en.model --output out.conllu
      bbparse parse in.conllu --model en.model --k-best 3
    """
    loaded = Parser.load(model)
    sentences = read_conllu(source)
    results = loaded.parse_all(
        sentences, threads=threads, k_best=k_best, prune=prune, time_limit=time_limit,
        node_limit=node_limit,
    )  # fmt: skip
    silent = not sys.stderr.isatty() or (output == "-" and sys.stdout.isatty())
    with open_output(output) as stream:
        previous: tuple[Sentence, Solution] | None = None
        for item in tqdm(results, unit=" sentences", delay=2, disable=silent):
            if previous is not None:
                stream.writelines(_blocks(loaded, *previous, k_best, final=False))
            previous = item
        if previous is not None:
            stream.writelines(_blocks(loaded, *previous, k_best, final=True))


def _blocks(
    parser: Parser, sentence: Sentence, solution: Solution, k_best: int, *, final: bool
) -> Iterator[str]:
    """A sentence once for each of its trees."""
    count = len(solution)
    for k in range(count):
        comments = []
        proved = bool(solution.proved[k])
        if k_best > 1:
            comments.append(f"tree = {k + 1} of {count}")
        if k_best > 1 or not proved:
            comments.append(f"score = {solution.scores[k]:.6f}")
            comments.append(f"upper_bound = {solution.upper_bounds[k]:.6f}")
            comments.append(f"proved = {'yes' if proved else 'no'}")
        yield format_sentence(
            sentence, solution.heads[k, 1:].tolist(), parser.labels(sentence, solution.heads[k]),
            comments=comments, first=k == 0, last=final and k == count - 1,
        )  # fmt: skip
