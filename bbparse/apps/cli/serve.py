"""``bbparse serve``: parse over HTTP."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bbparse.apps.cli import options
from bbparse.apps.cli.common import RealRange, command, needing_serve, option, tell
from bbparse.models import DEFAULT_MODEL, MODELS
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import ModelError


@command()
@option(
    "--model models",
    "A model, and its name for clients; may be repeated. The first model is the"
    " default of requests.",
    MODELS,
    (DEFAULT_MODEL,),
    metavar="[NAME=]NAME|FILE",
    multiple=True,
)
@options.factors
@options.host
@options.port(8080)
@option("--workers", "Parallel processes.  [default: one per processor]", click.IntRange(1))
@option(
    "--queue",
    "Maximum number of waiting requests; further ones get status 429 (try again later).",
    click.IntRange(1),
    128,
)
@option(
    "--deadline",
    "Time limit per request; an interrupted search returns the best trees so far.",
    RealRange(0, min_open=True),
    60.0,
    metavar="SECONDS",
)
@option(
    "--max-size", "Maximum size of a request.", RealRange(0, 1e6, min_open=True), 4.0, metavar="MB"
)
@option("--max-words", "Maximum length of a sentence.", click.IntRange(1), 1000)
def serve(
    models: tuple[str, ...],
    factors: list[str],
    host: str,
    port: int,
    workers: int | None,
    max_size: float,
    **limits: Any,
) -> None:
    """Run a parsing service over HTTP until SIGTERM or Ctrl-C.

    /process and /models answer like UDPipe's REST service. /v1/parse takes text, CoNLL-U or JSON,
    with the parsing options of 'bbparse parse' and constraints; /openapi.json describes it. / is a
    page to try the parser.

    \b
    Examples:
      bbparse serve
      bbparse serve --model english --model hu=hungarian.model --port 9000 --workers 8
      curl -H 'Content-Type: text/plain' -d 'Time flies.' http://127.0.0.1:8080/v1/parse
      curl -F 'data=Time flies.' -F tokenizer= -F parser= http://127.0.0.1:8080/process
    """
    with needing_serve():
        from bbparse.apps.serve.http import Settings
        from bbparse.apps.serve.http import serve as run
    paths: dict[str, Path] = {}
    for text in models:
        name, path = _named(text)
        if paths.setdefault(name, path) != path:
            raise ModelError(
                f"two models are named {name}, {paths[name]} and {path}: give one another name, as"
                f" other={path}"
            )

    def load() -> Mapping[str, Parser]:
        return {name: Parser.load(path, factors) for name, path in paths.items()}

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    settings = Settings(workers or usable or 1, max_bytes=int(max_size * (1 << 20)), **limits)
    run(load, host, port, settings, tell)


def _named(text: str) -> tuple[str, Path]:
    """Return a model's name for clients, and its file, from ``NAME=FILE`` or a file."""
    name, equals, rest = text.partition("=")
    if equals and name and not Path(text).exists():
        return name, MODELS.path(rest).resolve()
    path = MODELS.path(text).resolve()
    return path.stem, path
