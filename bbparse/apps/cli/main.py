"""The command ``bbparse``: a table of commands, and the handling of errors.

Commands are imported when they are run, so ``bbparse --help`` does not wait for numba.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

import click

from bbparse import __version__
from bbparse.apps.cli.common import Described
from bbparse.runtime.errors import BBParseError, one_line
from bbparse.runtime.signals import wait_if_ending

#: Names, and lines of --help. A command is in the file of its name, or the one in `FILES`.
COMMANDS = {
    "parse": "Parse treebanks or running text.",
    "explain": "Explain on an HTML page why a tree is the best.",
    "evaluate": "Compare predicted trees with gold trees.",
    "check": "Check the trees of a file against validity rules.",
    "repair": "Make trees valid with the fewest changes.",
    "combine": "Combine parses of the same words by voting.",
    "enhance": "Add the enhanced graphs of trees.",
    "rules": "List validity rules, each with an example.",
    "tune": "Choose how much to prune: accuracy against speed.",
    "train": "Train a model on a treebank.",
    "train-tagger": "Train a tagger on a treebank.",
    "train-encoder": "Tune an encoder to a treebank.",
    "train-graphs": "Add enhanced graphs to a model.",
    "train-phrases": "Train a phrase-structure parser on bracketed trees.",
    "phrases": "Parse into phrase structure.",
    "tag": "Predict tags, features and lemmas.",
    "bundle": "Package a tagger into a parser's model.",
    "calibrate": "Calibrate a model's confidence on gold trees.",
    "model": "Show a model's card: data, settings, accuracy.",
    "factors": "List the installed factor families.",
    "serve": "Run a parsing service over HTTP.",
    "annotate": "Annotate a treebank in the browser.",
    "solve": "Solve a decoding problem in a file.",
    "verify": "Check the proof of a solution.",
}

FILES = {
    "rules": "check",
    "bundle": "model",
    "calibrate": "model",
    "factors": "model",
    "train_graphs": "enhance",
    "train_phrases": "phrases",
    "train_tagger": "train",
    "verify": "solve",
}

EXIT_USER_ERROR = 2
EXIT_INTERNAL_ERROR = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

_EXIT_STATUS = (
    "Exit status: 0 success; 1 no proof (solve --proof, verify) or invalid trees (check, repair,"
    " combine); 2 error in the command line or a file; 70 internal error; 130 interrupted; 141 the"
    " reader closed the output; 129, 143 ended by SIGHUP, SIGTERM."
)

# Disk full, over quota, file too large, output closed: errors of the system or the user, not of
# the program.
_NOT_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)


class LazyGroup(Described, click.Group):
    """A group that knows its commands by name and imports one only when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f"bbparse.apps.cli.{FILES.get(name, name)}")
        command: click.Command = getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EXIT_STATUS
)
@click.version_option(__version__, "--version", prog_name="bbparse")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Exact dependency parsing: scores in, provably best trees out.

    \b
    Examples:
      echo "Time flies like an arrow." | bbparse parse --text --format tree
      bbparse explain "Time flies like an arrow." -o why.html
      bbparse parse in.conllu --output out.conllu
      bbparse train train.conllu --dev dev.conllu --model my.model
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line of the arguments, or of the process, and exit with its status."""
    sys.exit(status(arguments))


def status(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # Removed by hand: it may stand anywhere, and an error may come before click reads it.
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        return _run(arguments)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        where = getattr(error, "ctx", None)
        hint = f" (see {where.command_path} --help)" if where else ""
        _complain(f"error: {one_line(error.format_message())}{hint}")
        return error.exit_code
    except BBParseError as error:
        if debug:
            traceback.print_exc()
        _complain(f"error: {one_line(error)}")
        return EXIT_USER_ERROR
    except BrokenPipeError:
        return EXIT_BROKEN_PIPE  # the reader (`head`, a pager) is gone
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NOT_OURS:
            _complain(f"error: the output cannot be written: {error.strerror}")
            return EXIT_USER_ERROR
        if debug:
            traceback.print_exc()
        hint = "" if debug else " (use --debug to see where)"
        _complain(f"internal error: {type(error).__name__}: {one_line(error)}{hint}")
        return EXIT_INTERNAL_ERROR
    finally:
        _settle_stdout()


def _run(arguments: list[str]) -> int:
    """Run the command line and return the status that it asks for; output is written by then."""
    code = 0
    try:
        # cli.main would turn errors into exit statuses of its own.
        with cli.make_context("bbparse", arguments) as context:
            cli.invoke(context)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


def _complain(message: str) -> None:
    """Print an error, unless the end of the process has caused it."""
    wait_if_ending()
    try:
        click.echo(f"bbparse: {message}", err=True)
    except OSError:
        pass


def _settle_stdout() -> None:
    """Drop what the standard output does not take: Python would complain once more on closing."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
