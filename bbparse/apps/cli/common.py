"""Parameters and output of commands: options, files whose names shells complete, tables.

Readers and writers of files report errors themselves.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import click

from bbparse.runtime.errors import BBParseError, OutputError, ServiceError, TreebankError
from bbparse.runtime.output import check_output, identity, is_free
from bbparse.runtime.progress import progress_bars
from bbparse.runtime.shipped import Shipped

FILE = click.Path(readable=False, allow_dash=True)


class OutputFile(click.Path):
    """A file that a command writes, and no other file of the command.

    If `replaces`, given all parameters, returns the name of one input only, it may replace that.
    Without `streams`, it is no device, no pipe and not the standard output.
    """

    def __init__(
        self, replaces: Callable[[dict[str, Any]], object] = lambda _: (), *, streams: bool = True
    ) -> None:
        super().__init__(readable=False, allow_dash=True)
        self.replaces, self.streams = replaces, streams

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name, which is not empty."""
        if value == "":
            self.fail("the name is empty, expected a file", param, ctx)
        return super().convert(value, param, ctx)


class OutputFolder(click.ParamType):
    """A folder that a command makes: it is not there yet, or empty."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the folder."""
        folder = Path(value)
        free = is_free(folder)
        if not free or value in ("", "-"):
            found = "is no folder" if free else "exists"
            self.fail(f"{value!r} {found}, expected the name of a new folder", param, ctx)
        return folder


class Described(click.Command):
    """A command that is described by its docstring, also if PYTHONOPTIMIZE=2 has dropped it."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if self.help is None and self.callback is not None:
            with suppress(OSError):  # there is no source
                (node,) = ast.parse(inspect.getsource(self.callback)).body
                self.help = ast.get_docstring(node)  # type: ignore[arg-type]


class Command(Described):
    """A command that refuses to overwrite its own files before it reads anything."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with progress bars unless its output is on the same terminal."""
        for (output, target, written), (other, name, found) in permutations(self._files(ctx), 2):
            kind = output.type
            if name == target == "-" and not {type(kind), type(other.type)} & {OutputFile}:
                raise TreebankError("standard input: can be only one of the files")
            if output is other or not isinstance(kind, OutputFile) or found != written:
                continue
            if "-" in (name, target) or kind.replaces(ctx.params) != (name,):
                title = other.make_metavar(ctx).strip("[]…").split("|")[0]
                title = other.opts[0] if isinstance(other, click.Option) else title
                text = f"is given as {title}, and {output.opts[0]} would overwrite it"
                raise OutputError(f"{name}: {text}")
        for parameter, name, _ in self._files(ctx):
            if isinstance(parameter.type, OutputFile):
                check_output(name, streams=parameter.type.streams)
        is_shown = ctx.params.get("output") == "-" and sys.stdout is not None
        with progress_bars(sys.stderr.isatty() and not (is_shown and sys.stdout.isatty())):
            return super().invoke(ctx)

    def _files(self, ctx: click.Context) -> Iterator[tuple[click.Parameter, str, object]]:
        """Yield all file arguments with their identities."""
        for parameter in self.params:
            kind, value = parameter.type, ctx.params.get(parameter.name or "") or ()
            if isinstance(kind, click.Path) or "FILE" in (parameter.metavar or ""):
                for name in (value,) if isinstance(value, str) else value:
                    path = name
                    if isinstance(kind, FileOrName):
                        with suppress(BBParseError):  # reported where it is loaded
                            path = kind.shipped.path(name)
                    yield parameter, name, identity(path, int(isinstance(kind, OutputFile)))


command = partial(click.command, cls=Command)


class RealRange(click.FloatRange):
    """A number within a range; nan, which is in no range, is refused."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class FileOrName(click.Path):
    """A file, or the name of something that comes with the package."""

    def __init__(self, shipped: Shipped) -> None:
        super().__init__(readable=False)
        self.shipped = shipped


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

#: Metavariables of types, for options that name none.
_METAVARS: dict[type, str] = {click.Path: "FILE", click.IntRange: "N"}


def option(names: str, text: str, kind: Any = None, default: Any = None, **more: Any) -> Decorator:
    """Return an option; `kind` is a type, a list of choices, or files of the package."""
    shown = {"metavar": _METAVARS.get(type(kind)), "show_default": default is not None}
    if isinstance(kind, Shipped):
        kind, shown["metavar"] = FileOrName(kind), "NAME|FILE"
    elif isinstance(kind, list | tuple):
        kind = click.Choice(kind)
    shown |= {} if default is None else {"default": default}
    return click.option(*names.split(), type=kind, help=text, **shown | more)


def flag(names: str, text: str) -> Decorator:
    """Return a flag."""
    return click.option(*names.split(), is_flag=True, help=text)


def say(line: str) -> None:
    """Write a line about the work to standard error."""
    click.echo(line, err=True)


def tell(line: str) -> None:
    """Write a line to standard error, with the name of the program."""
    say(f"bbparse: {line}")


@contextmanager
def needing_serve() -> Iterator[None]:
    """Import the packages of the service; `ServiceError` if one is not installed."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("bbparse"):
            raise
        raise ServiceError(
            f"{error.name} is not installed: pip install '.[serve]' in the checkout"
        ) from None


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Align the cells of rows in columns, to the right except for the columns `left`."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    )
