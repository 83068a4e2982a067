"""The first process of the service: has the models, and keeps the other processes going."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from bbparse.errors import BBParseError, ServiceError
from bbparse.parsing.parser import Parser
from bbparse.serve import http
from bbparse.serve.settings import Settings
from bbparse.serve.work import warm_up, work
from bbparse.storage.interrupts import in_main_thread
from bbparse.storage.output import temporary_folder

#: Gives the models by name; called again when they are to be loaded anew.
Load = Callable[[], Mapping[str, Parser]]

#: A worker that lives for less long is not replaced at once.
_TOO_SHORT = 1.0


def serve(
    load: Load, host: str, port: int, settings: Settings, tell: Callable[[str], None]
) -> None:
    """Answer requests until SIGTERM or SIGINT comes; SIGHUP loads the models anew.

    The first model is the default; port 0 is any that is free; `tell` is given lines for whoever
    started the service. `ServiceError` if it cannot listen there, or the system has no sockets
    between processes; and what loading a model raises.
    """
    if not hasattr(socket, "AF_UNIX") or not hasattr(os, "fork"):
        raise ServiceError("bbparse serve needs Linux or macOS")
    with _listener(host, port) as listener:
        parsers = _loaded(load, settings)
        in_main_thread(partial(_serve, listener, host, load, parsers, settings, tell))


def _serve(
    listener: socket.socket,
    host: str,
    load: Load,
    parsers: Mapping[str, Parser],
    settings: Settings,
    tell: Callable[[str], None],
) -> None:
    with temporary_folder() as folder:
        service = _Service(load, parsers, str(Path(folder) / "queue"), settings, tell)
        shown = f"[{host}]" if ":" in host else host
        service.run(listener, f"http://{shown}:{listener.getsockname()[1]}")


def _loaded(load: Load, settings: Settings) -> Mapping[str, Parser]:
    """The models, ready for sentences of no more parts than are allowed."""
    parsers = load()
    for parser in parsers.values():
        parser.maker = replace(parser.maker, max_parts=settings.max_parts)
    warm_up(parsers)
    return parsers


def _listener(host: str, port: int) -> socket.socket:
    where = f"{host}, port {port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        family, kind, protocol, _, address = found
    except (OSError, UnicodeError):
        raise ServiceError(f"{host}: there is no such address") from None
    listener = socket.socket(family, kind, protocol)  # by which it is sent without delay
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1)  # two may be bound where none listens yet
    except OSError as error:
        listener.close()
        raise ServiceError(f"{where}: {(error.strerror or str(error)).lower()}") from None
    return listener


class _Service:
    def __init__(
        self,
        load: Load,
        parsers: Mapping[str, Parser],
        address: str,
        settings: Settings,
        tell: Callable[[str], None],
    ) -> None:
        self.load, self.parsers, self.settings, self.tell = load, parsers, settings, tell
        self.address = address
        self.generation = 1
        self.killed: set[int | None] = set()  # workers that do not end what they are to do
        self.workers: dict[BaseProcess, tuple[int, float]] = {}  # generation, when it was started
        self.context: Any = get_context("fork" if sys.platform == "linux" else "spawn")
        self.control, self._theirs = socket.socketpair()

    def run(self, listener: socket.socket, place: str) -> None:
        """Until the process that speaks HTTP ends."""
        arguments = (listener, self._theirs, self.address, self.settings, [self.control])
        speaker = self.context.Process(target=http.run, args=arguments)
        speaker.start()
        listener.close()
        self._theirs.close()
        signals, waker = socket.socketpair()
        waker.setblocking(False)
        handled = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, lambda *_: None) for number in handled}
        before_fd = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        stopping = False
        try:
            while speaker.is_alive():
                ends = [process.sentinel for process in self.workers]
                ready = connection.wait([self.control, signals, speaker.sentinel, *ends])
                words = self.control.recv(4096).split() if self.control in ready else []
                self.killed |= {int(w[7:]) for w in words if w.startswith(b"killed-")}
                numbers = signals.recv(64) if signals in ready else b""
                if b"listening" in words:
                    self._hire()
                if b"ready" in words:
                    self.tell(f"serving {', '.join(self.parsers)} on {place}")
                if b"reload" in words or signal.SIGHUP in numbers:
                    self._reload()
                if signal.SIGTERM in numbers or signal.SIGINT in numbers:
                    if stopping and signal.SIGINT in numbers:
                        speaker.kill()  # asked a second time
                    speaker.terminate()  # which answers what it has begun with
                    stopping = True
                self._replace()
            speaker.join()
        finally:
            signal.set_wakeup_fd(before_fd)
            for number, handler in before.items():
                signal.signal(number, handler)
            for process in [speaker, *self.workers]:
                process.kill()
                process.join()
        if not stopping:
            raise RuntimeError(f"the process that speaks HTTP ended with {speaker.exitcode}")

    def _hire(self) -> None:
        """Tell what each model can do, as a line of JSON, and have workers for them."""
        table = {
            name: [*["tokenizer"] * (p.cutter is not None), *["tagger"] * (p.tagger is not None),
                   "parser"]
            for name, p in self.parsers.items()
        }  # fmt: skip
        self.control.sendall(json.dumps(table).encode() + b"\n")
        for _ in range(self.settings.workers):
            self._start_one()

    def _start_one(self) -> None:
        gc.freeze()  # the fork's garbage collector would write to all objects, and so copy them
        process = self.context.Process(
            target=work, args=(self.parsers, self.address, self.generation, [self.control])
        )
        process.start()
        self.workers[process] = self.generation, time.monotonic()
        gc.unfreeze()

    def _replace(self) -> None:
        """Have a new worker for each that has died."""
        for process, (generation, started) in list(self.workers.items()):
            if process.is_alive():
                continue
            process.join()
            del self.workers[process]
            if process.exitcode:
                self.tell(f"worker {process.pid} {self._end_of(process)}: there is a new one")
            if generation == self.generation:
                if time.monotonic() - started < _TOO_SHORT:
                    time.sleep(_TOO_SHORT)
                self._start_one()

    def _end_of(self, process: BaseProcess) -> str:
        """What became of a worker that has died, in words."""
        if process.pid in self.killed:
            self.killed.remove(process.pid)
            late = self.settings.grace + self.settings.patience
            return f"was killed, as its request did not end {late:g} s after its deadline"
        code = process.exitcode or 0
        if code >= 0:
            return f"ended with {code}"
        try:
            return f"died of {signal.Signals(-code).name}"
        except ValueError:
            return f"died of signal {-code}"

    def _reload(self) -> None:
        """Load the models anew, and have new workers, for which the old ones make place."""
        try:
            parsers = _loaded(self.load, self.settings)
        except BBParseError as error:
            self.tell(f"the models stay as they were: {error}")
            return
        self.parsers = parsers
        self.generation += 1
        self._hire()
        self.tell(f"loaded {', '.join(parsers)} anew")
