"""Options that several commands share: the model, pruning, limits.

Each is a decorator, as in click.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

import click

from bbparse.cli.common import FILE, FileOrName, RealRange
from bbparse.model import DEFAULT_MODEL, MODELS
from bbparse.options import OPTIONS
from bbparse.text.segmentation import SPLITS, Split

#: Default limit of search nodes for one sentence.
NODE_LIMIT = 200

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def prune_number(text: str) -> int:
    """Return a number of candidate heads; 0 for ``none``."""
    with suppress(ValueError):
        if text == "none" or int(text) >= 1:
            return 0 if text == "none" else int(text)
    raise click.BadParameter(f"{text!r} is neither 'none' nor a whole number of at least 1")


model = click.option(
    "--model", default=DEFAULT_MODEL, show_default=True, type=FileOrName(MODELS.names),
    metavar="NAME|FILE",
    help="Model: a file, or the name of one that comes with bbparse.",
)  # fmt: skip

_FACTORS = "bbparse.factors"


def _note_factors(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    context.meta[_FACTORS] = [name for name in (value or "").split(",") if name]


def text(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--text`` and ``--split``, passed as `split`: None if neither is given."""

    @wraps(command)
    def with_split(*, text: bool, split: Split | None, **given: Any) -> Any:
        return command(split=split or ("text" if text else None), **given)

    flag = click.option(
        "--text", is_flag=True,
        help="INPUT is running text. Files named .txt are read as text anyway.",
    )
    how = click.option(
        "--split", type=click.Choice(SPLITS),
        help="Segmentation of running text: text: the model finds sentences and words; lines: one"
        " sentence per line; words: the same, with words separated by blanks.  [default: text]",
    )  # fmt: skip
    return flag(how(with_split))


factors = click.option(
    "--factors", metavar="MODULE:CLASS,…", callback=_note_factors, expose_value=False,
    help="Factor families of the model that no installed package offers: allows their code to run.",
)  # fmt: skip


def given_factors() -> list[str]:
    """Return the names of ``--factors``: code that the user allows to run to load a model."""
    return list(click.get_current_context().meta.get(_FACTORS, ()))


prune = click.option(
    "--prune", type=prune_number, metavar="K|none",
    help="Candidate heads per word. Default: the model's number.",
)  # fmt: skip

valid = click.option(
    "--valid", metavar="none|ud|NAME|FILE",
    help="Validity rules for the trees: none, ud (Universal Dependencies), or ud and those of a"
    " plug-in or TOML file. Default: ud if the model was trained on UD relations.",
)  # fmt: skip

rules = click.option(
    "--valid", default="ud", show_default=True, metavar="ud|NAME|FILE",
    help="Rules of Universal Dependencies, of a plug-in, or of a TOML file.",
)  # fmt: skip

output = click.option(
    "--output", "-o", default="-", type=FILE, metavar="FILE",
    help="Output file. Default: standard output.",
)

new_model = click.option(
    "--output", "-o", required=True, type=FILE, metavar="FILE", help="Where to write the model."
)

host = click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")

epochs = click.option("--epochs", type=click.IntRange(1), metavar="N", help="Passes over TRAIN.")
seed = click.option("--seed", type=click.IntRange(0), metavar="S", help="Random seed.")


def port(default: int) -> Decorator:
    """Return the option ``--port PORT``."""
    return click.option(
        "--port", type=click.IntRange(0, 65535), default=default, show_default=True,
        help="Port to listen on; 0: any free port.",
    )  # fmt: skip


_METAVARS = {"k_best": "K", "time_limit": "SECONDS"}


def ranged(name: str) -> click.ParamType:
    """Return the type of a number whose range is in `OPTIONS`."""
    least, whole, _, most = OPTIONS[name]
    if not whole:
        return RealRange(least, min_open=True)
    return click.IntRange(least, None if most == math.inf else int(most))


def number(name: str, text: str, default: float | None = None) -> Decorator:
    """Return the option of a number whose range is in `OPTIONS`."""
    return click.option(
        f"--{name.replace('_', '-')}", type=ranged(name), metavar=_METAVARS.get(name, "N"),
        default=default, show_default=default not in (None, 1), help=text,
    )  # fmt: skip


members = number(
    "members", "Average only N of the model's networks, which is faster. Default: all."
)
