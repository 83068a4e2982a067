"""``python`` and ``bbparse`` that start at once: forks of one process that has imported everything.

The documentation starts some fifty of them, and each would import numba and load compiled code
again. ``python tests/forked.py FOLDER`` writes stand-ins for both into FOLDER, says so in one line,
and serves them until its standard input ends. A stand-in sends its arguments, environment, folder
and open files; a fork does the work with them and sends back its exit status. Networks that they
train are small, unless the environment has the variable `FULL_SIZE`.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import traceback
from pathlib import Path

import click

#: Variable of the environment; set for pages that print what trained models do.
FULL_SIZE = "BBPARSE_TEST_FULL_SIZE"

_STAND_IN = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = [{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]
socket.send_fds(server, [b" "], [0, 1, 2])
server.sendall(json.dumps(request).encode())
server.shutdown(socket.SHUT_WR)
sys.exit(int(server.recv(8) or b"70"))
"""


def main() -> None:
    """Serve the stand-ins of a folder."""
    folder = Path(sys.argv[1])
    sys.path.pop(0)  # the folder of this file, which is no place for users' modules
    address = str(folder / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        for name in ("python", "bbparse"):
            text = _STAND_IN.format(python=sys.executable, name=name, address=address)
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(0o755)
        _warm_up(folder)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([server, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            connection, _ = server.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                server.close()
                _answer(connection)
            connection.close()


def _warm_up(folder: Path) -> None:
    from bbparse.apps.cli.main import COMMANDS, cli

    for name in COMMANDS:
        cli.get_command(click.Context(cli), name)
    _train_small_networks()
    text = folder / "warm.txt"
    text.write_text("Time flies like an arrow.\n", encoding="utf-8")
    _exit_status("bbparse", ["parse", str(text), "--output", os.devnull])


def _train_small_networks() -> None:
    """Let taggers and parsers have small networks, and divide a treebank in two and not in four.

    These networks, and what is trained on the other parts, take most of the time.
    """
    from bbparse.models.configuration import Configuration
    from bbparse.text import TaggerSettings
    from tests import toy

    load = Configuration.load

    def small(name: str | Path) -> Configuration:
        config = load(name)
        if os.environ.get(FULL_SIZE):
            return config
        config = config.with_("factors", folds=2, fold_epochs=4)
        sizes = dict.fromkeys(("word", "width", "pairs", "shared", "parts", "naming"), 16)
        return config.with_(
            "network", epochs=min(config.network.epochs, 12), layers="r", batch=60, rate=0.01,
            **sizes,
        )  # fmt: skip

    Configuration.load = small

    def settings() -> TaggerSettings:
        return TaggerSettings() if os.environ.get(FULL_SIZE) else toy.TAGGER

    for name in ("text.tagger_training", "models.learning.train", "apps.cli.train"):
        importlib.import_module(f"bbparse.{name}").TaggerSettings = settings


def _answer(connection: socket.socket) -> None:
    """Do what a stand-in asks for, in its place, and leave the process."""
    status = 70
    try:
        _, files, _, _ = socket.recv_fds(connection, 1, 3)
        with connection.makefile("rb") as stream:
            name, arguments, folder, environment = json.load(stream)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        sys.stdin, sys.stdout, sys.stderr = (
            open(0, encoding="utf-8", closefd=False),
            open(1, "w", encoding="utf-8", closefd=False),
            open(2, "w", encoding="utf-8", closefd=False, buffering=1),
        )
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        status = _exit_status(name, arguments)
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        connection.sendall(str(status).encode())
        os._exit(status)


def _exit_status(name: str, arguments: list[str]) -> int:
    from bbparse.apps.cli.main import main as bbparse

    try:
        if name == "bbparse":
            sys.argv = [name, *arguments]
            bbparse()
        else:
            sys.argv = arguments
            sys.path.insert(0, os.getcwd())
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
