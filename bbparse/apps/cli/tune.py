"""``bbparse tune``: choose the number of candidate heads per word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import FILE, OutputFile, RealRange, aligned, command, option
from bbparse.apps.tuning.measure import Setting, Suggestion, measure_settings, suggest
from bbparse.apps.tuning.plots import check_plot, plot_settings
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import counted
from bbparse.treebank import read_conllu


def prune_numbers(text: str) -> list[int]:
    """Return numbers of candidate heads, separated by commas; 0 for ``none``."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise click.BadParameter("expected numbers of candidate heads, separated by commas")
    return list(dict.fromkeys(map(options.prune_number, names)))


@command()
@click.argument("dev", type=FILE, metavar="DEV")
@options.model
@option(
    "--prune prunes",
    "Numbers of candidate heads to try; none: no pruning.",
    prune_numbers,
    "3,5,10,20,none",
    metavar="K,K…",
)
@option(
    "--max-loss",
    "Maximum loss of the suggested setting, in percentage points.",
    RealRange(0.0),
    0.1,
    metavar="POINTS",
)
@option(
    "--plot",
    "Plot accuracy and speed to a .svg, .png or .pdf file (needs bbparse[plot]).",
    OutputFile(),
)
@option("--passes", "Number of speed measurements; the median is reported.", click.IntRange(1), 3)
@options.limits(10.0)
def tune(
    dev: str,
    model: str,
    factors: list[str],
    prunes: list[int],
    max_loss: float,
    plot: str | None,
    **limits: Any,
) -> None:
    """Choose the number of candidate heads per word on DEV, a treebank with trees.

    Parsing considers only the likeliest heads of each word ('bbparse parse --prune'). Fewer heads
    are faster, until the right one is no longer among them. For each number, the table has UAS and
    LAS, words per second, calls of the dynamic program per sentence, and the fraction of sentences
    with a proved tree. The last line suggests the fastest number that loses at most --max-loss
    points of LAS (of UAS for a model without labels) against the most accurate one.

    \b
    Examples:
      bbparse tune dev.conllu --model en.model
      bbparse tune dev.conllu --model en.model --prune 2,3,4,5,6,8,10 --max-loss 0.2
      bbparse tune dev.conllu --model en.model --plot tuning.svg
    """
    if plot is not None:
        check_plot(plot)
    parser = Parser.load(model, factors)
    measure = "las" if parser.model.labeller is not None else "uas"
    treebank = list(read_conllu(dev, require_heads=True))
    settings = measure_settings(parser, treebank, prunes, **limits)
    suggestion = suggest(settings, max_loss / 100.0, measure)
    words = sum(sentence.n_words for sentence in treebank)
    click.echo(f"{counted(len(treebank), 'sentence')}, {counted(words, 'word')}\n")
    click.echo(_table(settings))
    click.echo(f"\n{_advice(suggestion, measure, max_loss)}")
    if plot is not None:
        plot_settings(settings, Path(plot), measure=measure, suggestion=suggestion)
        click.echo(f"wrote {plot}")


def _table(settings: list[Setting]) -> str:
    """Format the settings as Table 3 of QL13."""
    rows = [["prune", "UAS", "LAS", "words/s", "DP calls", "proved, %"]]
    rows += [
        [
            s.name,
            f"{100 * s.scores.uas:.2f}",
            f"{100 * s.scores.las:.2f}",
            f"{s.words_per_second:,.0f}",
            f"{s.figures['dp_calls']:.2f}",
            f"{100 * s.figures['proved']:.2f}",
        ]
        for s in settings
        if not s.failure
    ]
    if not settings[0].labelled:
        rows = [row[:2] + row[3:] for row in rows]
    failed = [f"{s.name}: not possible: {s.failure}" for s in settings if s.failure]
    return "\n".join([aligned(rows), *failed])


def _advice(found: Suggestion | None, measure: str, max_loss: float) -> str:
    """Describe the suggested setting, with its loss and its speed."""
    if found is None:
        return "nothing to suggest"
    setting, best, loss, name = found.setting, found.best, found.loss, measure.upper()
    text = f"suggested: --prune {setting.name}"
    if setting is best:
        return f"{text}, the most accurate and the fastest within {max_loss:g} points of {name}"
    interval = "no interval: too few sentences"
    if loss.low == loss.low:
        interval = f"95 % interval {100 * loss.low:+.2f} to {100 * loss.high:+.2f}"
    return (
        f"{text}: {setting.words_per_second / best.words_per_second:.1f} times as fast as"
        f" {best.name}, the most accurate, for {100 * loss.difference:.2f} points of {name}"
        f" ({interval})"
    )
