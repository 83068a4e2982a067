"""The first process of the service: loads the models and keeps the other processes running."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from bbparse.apps.serve import http
from bbparse.apps.serve.settings import Settings
from bbparse.apps.serve.work import warm_up, work
from bbparse.parser.parser import Parser
from bbparse.runtime.errors import BBParseError, ServiceError
from bbparse.runtime.interrupts import in_main_thread
from bbparse.runtime.output import temporary_folder
from bbparse.runtime.pool import WorkerLost
from bbparse.runtime.processes import Child

#: Returns the models by name; called again to reload them.
Load = Callable[[], Mapping[str, Parser]]

#: Seconds: a worker that lives for less is not replaced at once.
_MIN_LIFE = 1.0


def serve(
    load: Load, host: str, port: int, settings: Settings, tell: Callable[[str], None]
) -> None:
    """Answer requests until SIGTERM or SIGINT; SIGHUP reloads the models.

    The first model that `load` returns is the default. Port 0 stands for any free port. `tell` is
    called with lines for the person who started the service. `ServiceError` if it cannot listen
    there, or the system has no sockets between processes.
    """
    if not hasattr(socket, "AF_UNIX") or not hasattr(os, "fork"):
        raise ServiceError("bbparse serve needs Linux or macOS")
    with listening(host, port) as listener, temporary_folder() as folder:
        service = _Service(load, str(Path(folder) / "queue"), settings, tell)
        in_main_thread(partial(service.run, listener, url_of(listener, host)))


def url_of(listener: socket.socket, host: str) -> str:
    """Return the address of a service that listens on a host."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises `ServiceError` if it cannot."""
    where = f"{host}, port {port}"
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        family, kind, protocol, _, address = info
    except (OSError, UnicodeError):
        raise ServiceError(f"{host}: there is no such address") from None
    # naming the protocol makes asyncio send without delay
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1)  # now: bind alone succeeds twice
    except OSError as error:
        listener.close()
        raise ServiceError(f"{where}: {(error.strerror or str(error)).lower()}") from None
    return listener


class _Service:
    def __init__(
        self, load: Load, address: str, settings: Settings, tell: Callable[[str], None]
    ) -> None:
        self.load, self.address, self.settings, self.tell = load, address, settings, tell
        self.parsers = self._loaded()
        self.generation = 1
        self.killed: set[int | None] = set()  # process ids of workers killed after the deadline
        self.workers: dict[Child, tuple[int, float]] = {}  # generation, start time
        self.control, self._theirs = socket.socketpair()

    def _loaded(self) -> Mapping[str, Parser]:
        """Load the models, limit the number of parts of a sentence, and compile."""
        parsers = self.load()
        for parser in parsers.values():
            parser.maker = replace(parser.maker, max_parts=self.settings.max_parts)
        warm_up(parsers)
        return parsers

    def run(self, listener: socket.socket, url: str) -> None:
        """Run until the process that speaks HTTP ends."""
        child = Child(
            http.run, listener, self._theirs, self.address, self.settings, ours=[self.control]
        )
        speaker = child.process
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
                ends = [worker.process.sentinel for worker in self.workers]
                ready = connection.wait([self.control, signals, speaker.sentinel, *ends])
                words = self.control.recv(4096).split() if self.control in ready else []
                self.killed |= {int(w[7:]) for w in words if w.startswith(b"killed-")}
                numbers = signals.recv(64) if signals in ready else b""
                if b"listening" in words:
                    self._start_workers()
                if b"ready" in words:
                    self.tell(f"serving {', '.join(self.parsers)} on {url}")
                if b"reload" in words or signal.SIGHUP in numbers:
                    self._reload()
                if signal.SIGTERM in numbers or signal.SIGINT in numbers:
                    if stopping and signal.SIGINT in numbers:
                        speaker.kill()  # the second Ctrl-C
                    speaker.terminate()  # it completes the answers that it has begun
                    stopping = True
                self._replace()
            speaker.join()
        finally:
            signal.set_wakeup_fd(before_fd)
            for number, handler in before.items():
                signal.signal(number, handler)
            for process in [child, *self.workers]:
                process.end()
        if not stopping:
            raise RuntimeError(f"the process that speaks HTTP ended with {speaker.exitcode}")

    def _start_workers(self) -> None:
        """Send the steps of each model as a line of JSON, and start workers for them."""
        table = {
            name: [*["tokenizer"] * (p.tokenizer is not None), *["tagger"] * (p.tagger is not None),
                   "parser"]
            for name, p in self.parsers.items()
        }  # fmt: skip
        self.control.sendall(json.dumps(table).encode() + b"\n")
        for _ in range(self.settings.workers):
            self._start_worker()

    def _start_worker(self) -> None:
        worker = Child(work, self.parsers, self.address, self.generation, ours=[self.control])
        self.workers[worker] = self.generation, time.monotonic()

    def _replace(self) -> None:
        """Start a new worker for each that has died."""
        for worker, (generation, started) in list(self.workers.items()):
            process = worker.process
            if process.is_alive():
                continue
            worker.end()
            del self.workers[worker]
            if process.exitcode:
                self.tell(f"worker {process.pid} {self._end_of(process)}: there is a new one")
            if generation == self.generation:
                if time.monotonic() - started < _MIN_LIFE:
                    time.sleep(_MIN_LIFE)
                self._start_worker()

    def _end_of(self, process: BaseProcess) -> str:
        """Describe the end of a worker that has died."""
        if process.pid in self.killed:
            self.killed.remove(process.pid)
            seconds = self.settings.grace + self.settings.patience
            return f"was killed, as its request did not end {seconds:g} s after its deadline"
        return str(WorkerLost(process.exitcode or 0))

    def _reload(self) -> None:
        """Reload the models and start new workers, which replace the old ones."""
        try:
            self.parsers = self._loaded()
        except BBParseError as error:
            self.tell(f"the models stay as they were: {error}")
            return
        self.generation += 1
        self._start_workers()
        self.tell(f"loaded {', '.join(self.parsers)} anew")
