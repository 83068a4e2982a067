"""Options that several commands share: the model, pruning, limits.

Each is a decorator, as in click.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from bbparse.apps.cli.common import Decorator, OutputFile, RealRange, option
from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.runtime.options import OPTIONS
from bbparse.text.segmentation import SPLITS, split_of_name

#: Default limit of search nodes for one sentence.
NODE_LIMIT = 200


def prune_number(text: str) -> int:
    """Return a number of candidate heads; 0 for ``none``."""
    with suppress(ValueError):
        if text == "none" or int(text) >= 1:
            return 0 if text == "none" else int(text)
    raise click.BadParameter(f"{text!r} is neither 'none' nor an integer of at least 1")


def _names(context: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    return [name for name in value.split(",") if name]


factors = option(
    "--factors",
    "Allow the code of these factor families to run, if the model uses families that"
    " no installed package provides.",
    metavar="MODULE:CLASS,…",
    default="",
    show_default=False,
    callback=_names,
)


def model(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--model`` and ``--factors``."""
    text = "Model: a file, or the name of one that comes with bbparse."
    return option("--model", text, MODELS, DEFAULT_MODEL)(factors(command))


def _split(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    is_text = context.params.pop("text", False)
    return value or ("text" if is_text else None)


def text(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--text`` and ``--split``, passed as `split`: None if neither is given."""
    is_text = option(
        "--text",
        "Read INPUT as running text, as files named .txt always are.",
        is_flag=True,
        is_eager=True,
    )
    how = option(
        "--split",
        "How to segment running text. text: the model finds sentences and words; lines:"
        " one sentence per line; words: the same, with words separated by blanks.  [default: text]",
        SPLITS,
        callback=_split,
    )
    return is_text(how(command))


prune = option(
    "--prune",
    "Candidate heads per word. Default: the model's number.",
    prune_number,
    metavar="K|none",
)

valid = option(
    "--valid",
    "Validity rules for the trees: none, ud (Universal Dependencies), or ud together"
    " with those of a plug-in or TOML file. Default: ud if the model was trained on UD relations.",
    metavar="none|ud|NAME|FILE",
)

rules = option(
    "--valid",
    "Rules of Universal Dependencies, parallel coordination, a plug-in, or a TOML file.",
    default="ud",
    metavar="ud|parallel|NAME|FILE",
)


spans = option(
    "--spans",
    "Keep the words between brackets in this MISC item, such as Entity=(1-person and"
    " Entity=1), in one subtree. With a WEIGHT, each further head outside costs that much instead.",
    metavar="KEY[:WEIGHT]",
)

edges = option(
    "--edges",
    "Find trees whose enhanced graphs have the edges in this MISC item: Edge=4:nsubj at a word for"
    " --edges Edge.",
    metavar="KEY",
)


def _treebank(given: dict[str, Any]) -> object:
    """Return the input if the output is the same treebank with other columns."""
    sources = given.get("sources") or (given.get("source"),)
    is_text = given.get("split") or any(map(split_of_name, sources))
    return () if is_text or given.get("format_name", "conllu") != "conllu" else sources


output = option(
    "--output -o",
    "Output file. Default: standard output.",
    OutputFile(_treebank),
    "-",
    show_default=False,
)

new_model = option(
    "--output -o",
    "Where to write the model.",
    OutputFile(lambda given: (given.get("parser") or given["model"],), streams=False),
    required=True,
)

host = option("--host", "Address to listen on.", default="127.0.0.1")

epochs = option("--epochs", "Passes over TRAIN.", click.IntRange(1))
seed = option("--seed", "Random seed.", click.IntRange(0), metavar="S")


def port(default: int) -> Decorator:
    """Return the option ``--port PORT``."""
    return option(
        "--port",
        "Port to listen on; 0: any free port.",
        click.IntRange(0, 65535),
        default,
        metavar=None,
    )


def ranged(name: str) -> click.ParamType:
    """Return the type of a number whose range is in `OPTIONS`."""
    minimum, whole, _, maximum = OPTIONS[name]
    if not whole:
        return RealRange(minimum, min_open=True)
    return click.IntRange(minimum, None if maximum == math.inf else int(maximum))


def number(name: str, text: str, default: float | None = None) -> Decorator:
    """Return the option of a number whose range is in `OPTIONS`."""
    metavar = {"k_best": "K", "time_limit": "SECONDS"}.get(name, "N")
    names, shown = f"--{name.replace('_', '-')}", default not in (None, 1)
    return option(names, text, ranged(name), default, metavar=metavar, show_default=shown)


members = number(
    "members", "Average only N of the model's networks, which is faster. Default: all."
)
time_limit = number("time_limit", "Time limit per sentence. Default: about ten seconds' work.")


def limits(seconds: float | None = None, nodes: int | None = NODE_LIMIT) -> Decorator:
    """Return the options ``--time-limit`` and ``--node-limit``, with these defaults."""
    text = "Time limit of each search, which then returns its best trees so far."
    time = number("time_limit", text, seconds)
    text = "Limit of each search in nodes, the same on every machine; 1: no branching."
    count = number("node_limit", text, nodes)
    return lambda command: time(count(command))
