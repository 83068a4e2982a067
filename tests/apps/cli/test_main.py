"""What the command line does with errors, whatever the command."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from bbparse import __version__
from bbparse.apps.cli import main as main_module
from bbparse.apps.cli.main import cli
from bbparse.runtime.errors import TreebankError
from tests import toy
from tests.apps.cli.conftest import Run

ROOT = Path(__file__).parents[3]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Replace all commands by one, `fail`, that raises what it is given."""

    def install(error: BaseException) -> None:
        @click.command()
        def fail() -> None:
            raise error

        monkeypatch.setitem(sys.modules, "bbparse.apps.cli.fail", SimpleNamespace(fail=fail))
        monkeypatch.setattr(main_module, "COMMANDS", {"fail": "Fails."})

    return install


def test_version_and_help(run: Run) -> None:
    done = run("--version")
    assert done.code == 0 and __version__ in done.out
    done = run("--help")
    assert done.code == 0
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    for name, value in vars(main_module).items():
        if name.startswith("EXIT_"):
            assert f"| {value} |" in page and f" {value} " in " ".join(done.out.split())
    for name, line in main_module.COMMANDS.items():
        assert name in done.out and line.split()[0] in done.out
        text = run(name, "--help").out
        assert f"Usage: bbparse {name}" in text
        _, _, examples = text.partition("\n  Example")
        assert f"    bbparse {name}" in examples, name


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (TreebankError("a.conllu, line 3:\n  bad"), 2, "bbparse: error: a.conllu, line 3: bad\n"),
        (KeyError("x"), 70, "bbparse: internal error: KeyError: 'x' (use --debug to see where)\n"),
        (KeyboardInterrupt(), 130, "bbparse: interrupted\n"),
        (BrokenPipeError(), 141, ""),
        (
            OSError(28, "No space left on device"),
            2,
            "bbparse: error: the output cannot be written: No space left on device\n",
        ),
    ],
)
def test_errors_in_commands(
    failing: Callable[[BaseException], None],
    run: Run,
    error: BaseException,
    code: int,
    message: str,
) -> None:
    failing(error)
    done = run("fail")
    assert (done.code, done.out, done.err) == (code, "", message)


@pytest.mark.parametrize("arguments", [["--debug", "fail"], ["fail", "--debug"]])
@pytest.mark.parametrize(("error", "code"), [(TreebankError("bad"), 2), (KeyError("x"), 70)])
def test_debug_shows_tracebacks(
    failing: Callable[[BaseException], None],
    run: Run,
    arguments: list[str],
    error: BaseException,
    code: int,
) -> None:
    failing(error)
    done = run(*arguments)
    assert done.code == code and "Traceback" in done.err
    assert done.err.splitlines()[-1].startswith("bbparse: ")


def test_wrong_usage_is_one_line(run: Run) -> None:
    complaint = run("parze").complaint()
    assert "No such command 'parze'" in complaint and "(see bbparse --help)" in complaint
    complaint = run("evaluate", "--odd").complaint()
    assert "--odd" in complaint and "(see bbparse evaluate --help)" in complaint
    done = run()
    assert done.code == 2 and "Commands:" in done.err


def test_help_without_docstrings() -> None:
    for command, line in (
        ([], "Exact dependency parsing"),
        (["check"], "Check the trees of INPUT"),
    ):
        shown = [sys.executable, "-OO", "-m", "bbparse", *command, "--help"]
        done = subprocess.run(shown, capture_output=True, text=True, check=True)
        assert line in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("command", [f"evaluate '{toy.DEV}' '{toy.DEV}'", "rules", "--help", "tag"])
def test_output_that_is_closed_is_an_error(command: str) -> None:
    command = f"exec '{sys.executable}' -m bbparse {command} <'{toy.DEV}' >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("bbparse: error: ") and "output" in line and "Bad file" in line


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_standard_error_may_be_closed(tmp_path: Path) -> None:
    """Nothing fails, and no file of the command gets its descriptor."""
    for path, code in ((toy.DEV, 0), (tmp_path / "none", 2)):
        command = f"exec '{sys.executable}' -m bbparse evaluate '{toy.DEV}' '{path}' 2>&-"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, "UAS" in done.stdout) == (code, code == 0)


def test_help_does_not_wait_for_numba() -> None:
    code = (
        "import sys, bbparse.apps.cli.main as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit: pass\n"
        "import bbparse, bbparse.apps.cli.evaluate, bbparse.treebank\n"
        "print(sorted({'numba', 'numpy', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_a_signal_that_ends_it_leaves_nothing_behind(tmp_path: Path) -> None:
    name = "SIGTERM"
    out = tmp_path / "out.conllu"
    treebank = toy.DEV.read_bytes()
    command = [sys.executable, "-m", "bbparse", "tag", "-", "-o", str(out)]
    before = signal.signal(signal.Signals[name], signal.SIG_DFL)  # nohup has it ignored
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    signal.signal(signal.Signals[name], before)
    with process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(treebank[: treebank.index(b"\n\n") + 2])
        process.stdin.flush()
        while not list(tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.Signals[name])
        assert process.wait(60) == 128 + signal.Signals[name]
        process.stdin.close()
        assert process.stderr.read().decode().endswith(f"bbparse: ended by {name}\n")
    assert not list(tmp_path.iterdir())


def numbers() -> Iterator[Any]:
    """Options that take numbers, each with values that are out of its range."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        for option in command.params:
            kind = option.type
            wrong = ["x", "", "nan", "-1"]
            if isinstance(kind, click.IntRange | click.FloatRange):
                wrong += ["1.5", "inf"] if isinstance(kind, click.IntRange) else []
                if kind.min is not None:
                    wrong.append(str(kind.min if kind.min_open else kind.min - 1))
                if kind.max is not None:
                    wrong.append(str(kind.max if kind.max_open else kind.max + 1))
            elif kind.name not in ("prune_number", "prune_numbers"):
                what = f"{name} {option.opts[0]}: numbers without a range"
                assert not isinstance(kind, type(click.INT) | type(click.FLOAT)), what
                continue
            yield name, option.opts[0], wrong


def test_out_of_range_is_refused(run: Run) -> None:
    for name, option, wrong in numbers():
        for value in wrong:
            complaint = run(name, option, value).complaint()
            assert option in complaint, f"{name} {value!r}: {complaint}"
