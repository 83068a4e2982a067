"""What the command line does with errors, whatever the command."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from bbparse import __version__
from bbparse.cli import main as main_module
from bbparse.errors import TreebankError
from tests import toy

ROOT = Path(__file__).parent.parent.parent
TELL_OF_COMPILING = main_module._tell_of_compiling.__wrapped__  # other tests have it silent


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as stop:
        main_module.main(arguments)
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Replace all commands by one, `fail`, that raises what it is given."""

    def install(error: BaseException) -> None:
        @click.command()
        def fail() -> None:
            raise error

        monkeypatch.setitem(sys.modules, "bbparse.cli.fail", SimpleNamespace(fail=fail))
        monkeypatch.setattr(main_module, "COMMANDS", {"fail": "Fails."})

    return install


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert __version__ in capsys.readouterr().out
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    for name, line in main_module.COMMANDS.items():
        assert name in text
        assert line.split()[0] in text


def test_every_command_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for name in main_module.COMMANDS:
        assert run([name, "--help"]) == 0
        text = capsys.readouterr().out
        assert f"Usage: bbparse {name}" in text
        _, _, examples = text.partition("\n  Example")
        assert f"    bbparse {name}" in examples, name


def complete(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> list[str]:
    """What bash offers after a line, whose last word is not finished."""
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    monkeypatch.setenv(main_module.COMPLETE, "bash_complete")
    assert run([]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.splitlines()


def test_completion(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for shell in ("bash", "zsh", "fish"):
        monkeypatch.setenv(main_module.COMPLETE, f"{shell}_source")
        assert run([]) == 0
        assert f"{shell}_complete" in capsys.readouterr().out
    assert complete(monkeypatch, capsys, "bbparse ev") == ["plain,evaluate"]
    assert len(complete(monkeypatch, capsys, "bbparse ")) == len(main_module.COMMANDS)
    assert "plain,--debug" in complete(monkeypatch, capsys, "bbparse --")
    assert complete(monkeypatch, capsys, "bbparse evaluate --aga") == ["plain,--against"]
    assert complete(monkeypatch, capsys, "bbparse evaluate a b --by dis") == ["plain,distance"]
    assert complete(monkeypatch, capsys, "bbparse parse --model en") == ["plain,english"]
    assert complete(monkeypatch, capsys, "bbparse train t --config u") == ["plain,universal"]
    assert complete(monkeypatch, capsys, "bbparse parze --m") == [""]
    for line in ("parse in", "parse --model m", "solve p", "verify p s", "train t --dev d",
                 "tune d", "tag t", "explain e", "evaluate g p --against a"):  # fmt: skip
        word = line.split()[-1]
        assert complete(monkeypatch, capsys, f"bbparse {line}") == [f"file,{word}"], line


def test_exit_statuses_are_documented(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert run(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for name, value in vars(main_module).items():
        if name.startswith("EXIT_"):
            assert f"| {value} |" in page
            assert f" {value} " in text


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (TreebankError("a.conllu, line 3:\n  bad"), 2, "bbparse: error: a.conllu, line 3: bad\n"),
        (
            KeyError("x"),
            70,
            "bbparse: internal error: KeyError: 'x' (use --debug to see where)\n",
        ),
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
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    message: str,
) -> None:
    # Standard output is that of the test run; it must not be closed.
    monkeypatch.setattr(main_module, "_silence_stdout", lambda: None)
    failing(error)
    assert run(["fail"]) == code
    captured = capsys.readouterr()
    assert captured.err == message
    assert captured.out == ""


@pytest.mark.parametrize("arguments", [["--debug", "fail"], ["fail", "--debug"]])
@pytest.mark.parametrize(("error", "code"), [(TreebankError("bad"), 2), (KeyError("x"), 70)])
def test_debug_shows_tracebacks(
    failing: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    error: BaseException,
    code: int,
) -> None:
    failing(error)
    assert run(arguments) == code
    text = capsys.readouterr().err
    assert "Traceback" in text
    assert text.splitlines()[-1].startswith("bbparse: ")


def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["parze"]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert "no command 'parze'; there are: " in text
    assert "evaluate" in text
    assert run(["evaluate", "--odd"]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert "--odd" in text
    assert "(see bbparse evaluate --help)" in text


def test_without_arguments_it_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_help_does_not_wait_for_numba() -> None:
    code = (
        "import sys, bbparse.cli.main as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit: pass\n"
        "import bbparse, bbparse.cli.evaluate, bbparse.treebank\n"
        "print(sorted({'numba', 'numpy', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_that_end_it_leave_nothing_behind(name: str, tmp_path: Path) -> None:
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


def test_compiling_is_told_with_a_terminal_or_without(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr("bbparse.cli.main._complain", told.append)
    watchers: list[Callable[[int, float], None]] = []
    monkeypatch.setattr("bbparse.treebank.progress.watch_compiling", watchers.append)
    TELL_OF_COMPILING()
    for done, seconds in ((0, 0.0), (1, 3.0), (5, 12.0), (6, 15.0), (9, 24.0)):
        watchers[0](done, seconds)
    assert told[0].startswith("compiling for this machine, once")
    assert told[1:] == ["compiling: 5 functions in 12 s", "compiling: 9 functions in 24 s"]
