"""Plots of benchmarks; matplotlib, which draws them, comes with ``bbparse[plot]``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import ticker
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bbparse.apps.tuning import Setting, Suggestion

#: Colours that people with any kind of colour vision can distinguish (Okabe & Ito 2008).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def new_figure(columns: int, *, rows: int = 1, width: float = 4.6, height: float = 3.8) -> Any:
    """Return a figure and its axes, row by row; ``width`` and ``height`` of each are in inches."""
    figure = Figure(
        figsize=(width * columns, height * rows), layout="constrained"
    )
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
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


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as SVG; the same figure gives the same file."""
    with matplotlib.rc_context({"svg.hashsalt": "bbparse", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})


def by_length(
    setting: Setting, width: int = 5, min_sentences: int = 5
) -> NDArray[np.float64]:
    """Average over sentences whose lengths are in the same range of `width` words.

    Ranges with fewer than `min_sentences` sentences are merged with a neighbour. Returns, for
    each range, the mean length, DP calls and seconds, and the number of sentences:
    float64[ranges, 4].
    """
    rows = setting.per_sentence[np.argsort(setting.per_sentence[:, 0], kind="stable")]
    classes = (rows[:, 0] - 1) // width
    starts = [0]
    for i in range(1, len(rows)):
        if classes[i] != classes[i - 1] and i - starts[-1] >= min_sentences:
            starts.append(i)
    if len(rows) - starts[-1] < min_sentences and len(starts) > 1:
        starts.pop()
    parts = [part for part in np.split(rows, starts[1:]) if len(part)]
    means = [[*part.mean(axis=0), len(part)] for part in parts]
    return np.array(means, np.float64).reshape(-1, 4)


def plot_settings(
    settings: Sequence[Setting], path: Path, suggestion: Suggestion | None = None
) -> None:
    """Plot LAS against speed, and time and DP calls against sentence length.

    These are Figures 4 and 5 of QL13. Settings with a failure are left out; a suggestion is marked.
    """
    measured = [setting for setting in settings if not setting.failure]
    figure, (trade, times, calls) = new_figure(3)
    _draw_trade(trade, measured, suggestion)
    max_calls = [1.0]
    for setting, colour, marker in zip(measured, PALETTE * 9, _MARKERS * 9):
        rows = by_length(setting)
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
    ax: Any, settings: Sequence[Setting], suggestion: Suggestion | None
) -> None:
    for setting, colour, marker in zip(settings, PALETTE * 9, _MARKERS * 9):
        place = setting.words_per_second, 100.0 * setting.scores.las
        ax.plot(*place, color=colour, marker=marker, markersize=7)
        if suggestion is not None and suggestion.setting is setting:
            ax.annotate("suggested", place, (0, 10), textcoords="offset points", ha="center")
    ax.set_xscale("log")
    ax.margins(0.2)  # room for the text
    if settings:
        _plain_numbers(ax.xaxis)
    label(ax, "Accuracy against speed", "words a second", "LAS, %")
