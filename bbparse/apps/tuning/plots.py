"""Plots of tuning and benchmarks; matplotlib, which draws them, comes with ``bbparse[plot]``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bbparse.apps.tuning.measure import Setting, Suggestion
from bbparse.runtime.errors import BBParseError, OutputError
from bbparse.runtime.output import open_binary_output

#: Colours that people with any kind of colour vision can distinguish (Okabe & Ito 2008).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: File name extensions of the formats.
ENDINGS = (".svg", ".png", ".pdf")


def check_plot(path: str | os.PathLike[str]) -> None:
    """Refuse a plot that could not be drawn, before the work and not after it."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise OutputError(f"{target}: expected a file that ends in {', '.join(ENDINGS)}")
    _matplotlib()


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
        import matplotlib.ticker
    except ImportError:
        raise BBParseError(
            "plots need matplotlib, which is not installed: pip install '.[plot]' in the checkout"
        ) from None
    return matplotlib


def new_figure(columns: int, *, width: float = 4.6, height: float = 3.8) -> Any:
    """Return a figure and its axes in a row, each so many inches wide and high."""
    figure = _matplotlib().figure.Figure(figsize=(width * columns, height), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False).ravel().tolist()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, axes


def label(ax: Any, title: str, x: str, y: str) -> None:
    """Set the title and the labels of the axes."""
    ax.set_title(title, fontsize=11.5, fontweight="bold", loc="left", pad=10)
    ax.set(xlabel=x, ylabel=y)


def _plain_numbers(axis: Any) -> None:
    """Put a few ticks such as 0.1, 20 and 5,000 on a logarithmic axis."""
    ticker = _matplotlib().ticker
    low, high = sorted(axis.get_view_interval())
    # up to three decades leave room for ticks at 2 and 5
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 1000.0 * low else (1,)))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter("{x:,.10g}")


def legend_below(figure: Any, ax: Any) -> None:
    """Draw one legend for the whole figure, below it, with the entries of ``ax``."""
    handles, names = ax.get_legend_handles_labels()
    inches = 0.5 + 0.09 * max(map(len, names), default=0)  # width of the widest entry
    columns = max(1, min(len(names), int(figure.get_figwidth() / inches)))
    figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False)


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure; the same figure gives the same SVG file."""
    ending = Path(path).suffix.lower()
    date = {".svg": "Date", ".pdf": "CreationDate"}.get(ending)
    metadata = {date: None} if date else None
    with (
        _matplotlib().rc_context({"svg.hashsalt": "bbparse", "svg.fonttype": "none"}),
        open_binary_output(path) as file,
    ):
        figure.savefig(file, dpi=160, metadata=metadata, format=ending[1:])


def plot_settings(
    settings: Sequence[Setting],
    path: str | os.PathLike[str],
    *,
    measure: str = "las",
    suggestion: Suggestion | None = None,
) -> None:
    """Plot accuracy against speed, and time and DP calls against length (Figures 4, 5 of QL13)."""
    measured = [setting for setting in settings if not setting.failure]
    figure, (trade, times, calls) = new_figure(3)
    _draw_trade(trade, measured, measure, suggestion)
    max_calls = [1.0]
    for setting, colour, marker in zip(measured, PALETTE * 9, _MARKERS * 9):
        rows = setting.by_length()
        max_calls.append(float(rows[:, 1].max(initial=1.0)))
        name = "no pruning" if setting.prune == 0 else f"k = {setting.prune}"
        style = {"color": colour, "marker": marker, "markersize": 4.5, "label": name}
        times.plot(rows[:, 0], 1000.0 * rows[:, 2], **style)
        calls.plot(rows[:, 0], rows[:, 1], **style)
    times.set_yscale("log")
    _plain_numbers(times.yaxis)
    if max(max_calls) > 8.0 * min(max_calls[1:], default=1.0):  # as without pruning
        calls.set_yscale("log")
        _plain_numbers(calls.yaxis)
    else:
        calls.set_ylim(bottom=0.0)
    label(times, "Time by sentence length", "words in the sentence", "milliseconds a sentence")
    label(calls, "DP calls by sentence length", "words in the sentence", "DP calls per sentence")
    if measured:
        legend_below(figure, calls)
    save_figure(figure, path)


def _draw_trade(
    ax: Any, settings: Sequence[Setting], measure: str, suggestion: Suggestion | None
) -> None:
    for setting, colour, marker in zip(settings, PALETTE * 9, _MARKERS * 9):
        place = setting.words_per_second, 100.0 * float(getattr(setting.scores, measure))
        ax.plot(*place, color=colour, marker=marker, markersize=7)
        if suggestion is not None and suggestion.setting is setting:
            ax.annotate("suggested", place, (0, 10), textcoords="offset points", ha="center")
    ax.set_xscale("log")
    ax.margins(0.2)  # room for the text
    if settings:
        _plain_numbers(ax.xaxis)
    label(ax, "Accuracy against speed", "words a second", f"{measure.upper()}, %")
